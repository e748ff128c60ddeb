package record

import (
	"cmp"
	"crypto/rand"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/faultlog"
	"ptyctl/term"
)

const (
	sealBytes = 128 << 10 // all of it is one write: two of half the size cost a twentieth more
	sealEvery = 5 * time.Second
	syncEvery = time.Second

	// gather is how long the writer waits for more to write at once.
	gather = 50 * time.Millisecond

	// linger is how long the recording of a session that has ended waits for the events of calls that are under way.
	linger = time.Second
)

// Options configure a Recorder. All fields may be zero.
type Options struct {
	Session  string // record only this session; empty: all events are of one
	Version  string // of the program
	MaxBytes int64  // of the recording: then output is left out, and only markers follow; 0: 64 MiB
	Queue    int    // bytes that may wait to be written; 0: 4 MiB

	// Command returns the form in which the line of a command may be kept. Nil: without text that looks like a
	// secret.
	Command func(line string) string

	// Sealed gets each seal, once it is written. It must not block for long.
	Sealed func(Seal)

	// Failed is called with the error when the recording cannot be written, and once with nil when it can be again.
	// It must not block.
	Failed func(error)

	Logger *slog.Logger // nil: errors go to slog.Default

	// Of a Dir:
	ended  func() // the recording is complete
	others bool   // it is of calls without a session
}

// A Recorder records one session. It is a term.Observer. All its methods may be called by any number of goroutines.
type Recorder struct {
	o       Options
	queue   *queue
	started time.Time
	stop    chan struct{}
	once    sync.Once
	done    chan struct{} // closed by the writer, when all is written
	err     error         // set before done is closed

	dropped atomic.Int64 // bytes of output that are not in the recording
	written atomic.Int64
}

// New starts to record to w. A w with a method Sync is forced to disk at seals, and one with Truncate is cut where a
// write has failed in the middle of a line. Close must be called.
func New(w io.Writer, o Options) *Recorder {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Queue = cmp.Or(o.Queue, 4<<20)
	if o.Command == nil {
		o.Command = scrubbed
	}
	o.Logger = faultlog.Or(o.Logger)
	r := &Recorder{
		o: o, queue: newQueue(o.Queue), started: time.Now(),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	wr := newWriter(r, w)
	go wr.run() // Close waits for it
	return r
}

// Observe implements term.Observer.
func (r *Recorder) Observe(e term.Event) {
	if r.o.Session != "" && e.Session != r.o.Session {
		return
	}
	switch e.Verb {
	case term.VerbOutput:
		r.output(e.Data)
		return
	case term.VerbRead, term.VerbHeartbeat:
		return
	}
	kept := e // e itself would be on the heap for output, too: a twentieth of the cost of a flood
	kept.Data = nil
	r.queue.put(time.Since(r.started), &kept, nil)
}

// output is Observe for output of the terminal.
func (r *Recorder) output(p []byte) { r.queue.put(time.Since(r.started), nil, p) }

// ObserveExec implements term.ExecObserver.
func (r *Recorder) ObserveExec(e term.Event) {
	if r.o.Session != "" && e.Session != r.o.Session {
		return
	}
	data := e.Data
	r.queue.put(time.Since(r.started), &term.Event{Verb: e.Verb, Exec: e.Exec, Detail: e.Detail}, data)
}

// Close writes the queued events and the last seal. It returns the error that has ended the recording, if any.
func (r *Recorder) Close() error {
	r.finish()
	<-r.done
	return r.err
}

// finish is Close without waiting.
func (r *Recorder) finish() {
	r.once.Do(func() {
		r.queue.close()
		close(r.stop)
	})
}

// Done is closed when the recording is complete: after Close, or a moment after the session has ended.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Dropped returns how many bytes of output are missing in the recording, each marked in it.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Written returns the size of the recording so far, before encryption.
func (r *Recorder) Written() int64 { return r.written.Load() }

// newID returns a random id.
func newID() string { return "rec-" + strings.ToLower(rand.Text()[:16]) }
