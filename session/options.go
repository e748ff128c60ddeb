package session

import (
	"log/slog"
	"time"

	"ptyctl/term"
)

// Options configure a session. The zero value works.
type Options struct {
	ID             string        // empty: a fresh one
	BufferBytes    int           // output kept for readers; 0: 2 MiB
	BufferLines    int           // also at most so many lines, best effort; 0: no such limit
	ExecBytes      int           // output kept per stream of an exec; 0: 1 MiB
	Retention      time.Duration // how long the output of a finished exec stays readable; 0: 5 min
	WriteTimeout   time.Duration // how long a write may be stuck; 0: 10 s
	IdleTimeout    time.Duration // close after so long without a byte in either direction and without an exec; 0: never
	MaxAge         time.Duration // close when the session was there for so long, whatever it does; 0: never
	PromptTimeout  time.Duration // how long a question waits for its answer; 0: 110 s
	Expect         Expect
	PTY            term.PTY
	Protocol, Host string     // for Info
	User           string     // as whom the caller logs in; empty: the default
	Opener         term.Actor // for Info
	Device         string     // the device if the session is its console: all but reading takes a lock; empty: no console
	Locks          *LockTable
	AllowTakeOver  bool            // a task may take the lock from the one that holds it; see TakeOver
	Gate           term.Gate       // nil allows everything
	Journal        term.Journal    // nil keeps none
	Observers      []term.Observer // told of everything, after the fact
	Logger         *slog.Logger    // nil: silent
	RecordTxEvents bool            // remember that something was typed, never what; see TxEvents
	FarFiles       FarFiles        // nil: files of the far side are not offered

	managed managed
}

// managed are the options that only a Manager sets.
type managed struct {
	limits  limits        // the manager's
	dir     string        // where a local session was started, as the caller named it
	program bool          // a command beside the terminal is a program, started with its arguments and without a shell
	stays   bool          // readable until a caller closes it, if it ends by itself
	life    time.Duration // see OpenRequest.Life
}

// withDefaults returns o with every zero field replaced by its documented default.
func (o Options) withDefaults() Options {
	setDefault(&o.BufferBytes, 2<<20)
	setDefault(&o.ExecBytes, 1<<20)
	setDefault(&o.Retention, 5*time.Minute)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.PromptTimeout, 110*time.Second)
	if o.ID == "" {
		o.ID = NewID("session")
	}
	if o.Locks == nil {
		o.Locks = new(LockTable)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.PTY = o.PTY.OrDefault()
	return o
}

// setDefault sets *field to value if it has the zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
