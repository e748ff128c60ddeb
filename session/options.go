package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/buffer"
	"ptyctl/internal/faultlog"
	"ptyctl/session/forward"
	"ptyctl/session/known"
	"ptyctl/session/lane"
	"ptyctl/term"
	"ptyctl/vt"
)

// Options configure a session. The zero value works.
type Options struct {
	ID             string        // empty: a fresh one
	BufferBytes    int           // output kept for readers; 0: 2 MiB
	BufferLines    int           // also at most so many lines, best effort; 0: no such limit
	ExecBytes      int           // output kept per stream of an exec; 0: 1 MiB
	Retention      time.Duration // how long the output of a finished exec stays readable; 0: 5 min
	WriteTimeout   time.Duration // how long a write may be stuck; 0: 10 s
	QuietLine      time.Duration // after which an unfinished line may wait for input, whatever it looks like; 0: 5 s
	IdleTimeout    time.Duration // close after so long without a byte in either direction and without an exec; 0: never
	MaxAge         time.Duration // close when the session was there for so long, whatever it does; 0: never
	PromptTimeout  time.Duration // how long a question waits for its answer; 0: 110 s
	Expect         Expect
	PTY            term.PTY
	Origin         Origin // where it leads, and who opened it; the zero value: not known
	Locks          *LockTable
	AllowTakeOver  bool             // a task may take the lock from another that holds it; see TakeOver
	Gate           term.Gate        // nil allows everything
	Journal        term.Journal     // nil keeps none
	Observers      []term.Observer  // get an event of each action and all output, afterwards
	Logger         *slog.Logger     // nil: errors go to slog.Default
	RecordTxEvents bool             // remember that something was typed, never the text; see TxEvents
	Secrets        term.Secrets     // of the operator, for WriteOptions.Secret; nil: no secrets
	FarFiles       FarFiles         // nil: files of the far side are not offered
	Forward        *forward.Options // nil: connections are not forwarded

	managed managed
}

// An Origin says where a session leads, and who opened it. Only Device and Auto change how a session behaves; the
// other fields are for the Gate, records and Info.
type Origin struct {
	Protocol string
	Host     string
	User     string     // as whom the caller logs in; empty: the default
	Device   string     // the device if the session is its console (see the package); empty: a normal session
	Opener   term.Actor // the caller who opened the session

	// Auto says that it was opened for a command that named its host. A call that looks at a command's output keeps such
	// a session from being idle.
	Auto bool
}

// managed are the options that only a Manager sets.
//
// They are not exported because they mean nothing outside of a Manager.
type managed struct {
	limits  limits        // the manager's
	dir     string        // where a local session was started, as the caller named it
	program bool          // a command beside the terminal is a program, started with its arguments and without a shell
	stays   bool          // readable until a caller closes it, if it ends by itself
	life    time.Duration // see OpenRequest.Life
	again   *term.Target  // see kept
	never   string        //
	known   *known.View   // the secrets that it must not show
}

// withDefaults returns o with every zero field replaced by its documented default.
func (o Options) withDefaults() Options {
	o.BufferBytes = cmp.Or(o.BufferBytes, 2<<20)
	o.ExecBytes = cmp.Or(o.ExecBytes, 1<<20)
	o.Retention = cmp.Or(o.Retention, 5*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.QuietLine = cmp.Or(o.QuietLine, lane.DefaultQuietLine)
	o.PromptTimeout = cmp.Or(o.PromptTimeout, 110*time.Second)
	if o.ID == "" {
		o.ID = NewID("session")
	}
	if o.Locks == nil {
		o.Locks = new(LockTable)
	}
	o.Logger = faultlog.Or(o.Logger)
	o.PTY = o.PTY.OrDefault()
	return o
}

// limits are shared by the sessions of a Manager. The zero value limits nothing.
type limits struct {
	memory *buffer.Pool // of the output kept
	reads  *semaphore   // reads that wait
}

// noMemory is the error if output needs more memory than all sessions together may have.
func (l limits) noMemory(op, session string) error {
	return &term.Error{
		Op: op, Session: session, Kind: term.LimitExceeded,
		Msg:    "the output kept for all sessions has reached the limit",
		Advice: "close sessions that are no longer needed, or wait until ended ones are forgotten",
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitOutput, Value: l.memory.Limit()}},
	}
}

// noMemoryToCopy is the error of a copy that needs n bytes of the memory for output.
func (l limits) noMemoryToCopy(n int) error {
	return &term.Error{
		Op: "copy", Kind: term.LimitExceeded,
		Msg: fmt.Sprintf(
			"a copy takes %d bytes of the memory that copies share with the output of all sessions, and so many are not left", n,
		),
		Advice: "wait until other copies have ended, or close sessions that are no longer needed",
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitOutput, Value: l.memory.Limit()}},
	}
}

// TooManyReads returns the error for a Chunk with the Reason ReasonLimit: Config.MaxReads reads were waiting already.
func (s *Session) TooManyReads() error {
	reached := term.LimitReached{Limit: term.LimitWaitingReads}
	if t := s.o.managed.limits.reads; t != nil {
		reached.Value = t.limit
	}
	return &term.Error{
		Op: "read", Session: s.id, Kind: term.LimitExceeded,
		Msg:    "as many reads wait as may, so this one did not",
		Advice: "read without waiting, or again later from the same cursor",
		Facts:  term.Facts{reached},
	}
}

// A semaphore lets so many in at a time. A nil *semaphore lets everyone in.
//
// It counts with one atomic and never blocks: a read over the limit returns at once, with ReasonLimit.
type semaphore struct {
	limit  int64
	inside atomic.Int64
}

// enter reports whether there was room; if so, leave must follow.
func (t *semaphore) enter() bool {
	if t == nil {
		return true
	}
	if t.inside.Add(1) > t.limit {
		t.inside.Add(-1)
		return false
	}
	return true
}

// leave gives back the room that enter took.
func (t *semaphore) leave() {
	if t != nil {
		t.inside.Add(-1)
	}
}

// Expect are patterns for a terminal's output. All are optional, and none is needed for correctness.
type Expect struct {
	Prompt *regexp.Regexp   // ready for the next command
	Pagers []*regexp.Regexp // a pager waits for a key
	Errors []*regexp.Regexp // the output speaks of a failure

	Class    Class     // of the far side, for a command in the terminal that names none; empty: found out
	Profile  string    // the name of the profile that the others come from, for the record
	AutoPage *AutoPage // nil: no pager is ever answered
}

// An AutoPage lets a command in the terminal turn the pages of a pager.
type AutoPage = lane.AutoPage

// patterns are those of a session.
//
// They are copied out: a command goes on with the patterns with which it began.
type patterns struct {
	mu sync.Mutex // guards the following
	e  Expect
}

// Expect returns the session's patterns.
func (s *Session) Expect() Expect {
	s.expect.mu.Lock()
	defer s.expect.mu.Unlock()
	return s.expect.e
}

// SetExpect replaces the patterns that e sets, and keeps the others.
func (s *Session) SetExpect(ctx context.Context, e Expect) (err error) {
	d := s.auth.Begin(ctx, term.VerbExpect, term.Event{Detail: e.Profile})
	defer func() { d.End(err) }()
	if s.State().Ended() {
		return s.life.alive("expect")
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	s.expect.mu.Lock()
	s.expect.e = s.expect.e.with(e)
	s.expect.mu.Unlock()
	return nil
}

// with returns e, overridden by the fields that o sets. An empty, non-nil list clears.
func (e Expect) with(o Expect) Expect {
	if o.Prompt != nil {
		e.Prompt = o.Prompt
	}
	if o.Pagers != nil {
		e.Pagers = o.Pagers
	}
	if o.Errors != nil {
		e.Errors = o.Errors
	}
	if o.Class != "" {
		e.Class = o.Class
	}
	if o.Profile != "" {
		e.Profile = o.Profile
	}
	if o.AutoPage != nil {
		e.AutoPage = o.AutoPage
	}
	return e
}

// maxHints and maxHint bound the result of hints.
const (
	maxHints = 5
	maxHint  = 200
)

// hints returns the text that the error patterns match in the outputs: a few matches, each of bounded length.
func (e Expect) hints(outputs ...[]byte) []string {
	var found []string
	for _, out := range outputs {
		for _, re := range e.Errors {
			for _, m := range re.FindAll(out, maxHints) {
				if len(found) == maxHints {
					return found
				}
				if len(m) > maxHint {
					m = m[:maxHint]
					m = m[:len(m)-vt.PartialRune(m)]
				}
				found = append(found, string(m))
			}
		}
	}
	return found
}
