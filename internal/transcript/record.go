package transcript

import (
	"net"
	"slices"
	"sync"
)

// A Recorder is a net.Conn that remembers what passes over it.
type Recorder struct {
	net.Conn

	mu sync.Mutex // guards the following
	t  Transcript
}

// Record returns a net.Conn over conn that remembers.
func Record(conn net.Conn) *Recorder { return &Recorder{Conn: conn} }

// Comment adds a line of text for people.
func (r *Recorder) Comment(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Comments = append(r.t.Comments, text)
}

// Set notes a setting of the client.
func (r *Recorder) Set(words ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Settings = append(r.t.Settings, words)
}

// Did notes what the user does next.
func (r *Recorder) Did(words ...string) { r.add(Event{Dir: '!', Did: words}) }

// Got notes data that the user got.
func (r *Recorder) Got(data []byte) { r.add(Event{Dir: '=', Data: slices.Clone(data)}) }

// Read implements net.Conn.
func (r *Recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		r.add(Event{Dir: '<', Data: slices.Clone(p[:n])})
	}
	return n, err
}

// Write implements net.Conn. It notes the bytes first, so that they stand before the answer to them.
func (r *Recorder) Write(p []byte) (int, error) {
	if len(p) > 0 {
		r.add(Event{Dir: '>', Data: slices.Clone(p)})
	}
	return r.Conn.Write(p)
}

func (r *Recorder) add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Events = append(r.t.Events, e)
}

// Bytes returns the recording so far, as Parse reads it.
func (r *Recorder) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.t.Bytes()
}
