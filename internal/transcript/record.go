package transcript

import (
	"net"
	"slices"
	"sync"
)

// A Recorder is a net.Conn that records its data.
type Recorder struct {
	net.Conn

	mu sync.Mutex // guards the following
	t  Transcript
}

// Record returns a Recorder over conn.
func Record(conn net.Conn) *Recorder { return &Recorder{Conn: conn} }

// Comment adds a comment.
func (r *Recorder) Comment(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Comments = append(r.t.Comments, text)
}

// Set records a setting of the client.
func (r *Recorder) Set(words ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Settings = append(r.t.Settings, words)
}

// Did records the user's next action.
func (r *Recorder) Did(words ...string) { r.add(Event{Dir: '!', Did: words}) }

// Got records data for the user.
func (r *Recorder) Got(data []byte) { r.add(Event{Dir: '=', Data: slices.Clone(data)}) }

// Read implements net.Conn.
func (r *Recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		r.add(Event{Dir: '<', Data: slices.Clone(p[:n])})
	}
	return n, err
}

// Write implements net.Conn. It records the bytes first, so that they come before the
// answer.
func (r *Recorder) Write(p []byte) (int, error) {
	if len(p) > 0 {
		r.add(Event{Dir: '>', Data: slices.Clone(p)})
	}
	return r.Conn.Write(p)
}

// add records an event.
func (r *Recorder) add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Events = append(r.t.Events, e)
}

// Bytes returns the recording so far in the form for Parse.
func (r *Recorder) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.t.Bytes()
}
