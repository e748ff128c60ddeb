package session

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/buffer"
	"ptyctl/session/lane"
	"ptyctl/session/prompt"
	"ptyctl/session/redact"
	"ptyctl/session/shell"
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
	IdleTimeout    time.Duration // close after so long without a byte in either direction and without an exec; 0: never
	MaxAge         time.Duration // close when the session was there for so long, whatever it does; 0: never
	PromptTimeout  time.Duration // how long a question waits for its answer; 0: 110 s
	Expect         Expect
	PTY            term.PTY
	Protocol, Host string     // for Info
	User           string     // as whom the caller logs in; empty: the default
	Opener         term.Actor // for Info
	Device         string     // whose console the session is: it takes a lock to do anything but read; empty: a normal session
	Locks          *LockTable
	AllowTakeOver  bool            // a task may take the lock from the one that holds it; see TakeOver
	Gate           term.Gate       // nil allows everything
	Journal        term.Journal    // nil keeps none
	Observers      []term.Observer // told of everything, after the fact
	Logger         *slog.Logger    // nil: silent
	RecordTxEvents bool            // remember that something was typed, never what; see TxEvents
	FarFiles       FarFiles        // nil: files of the far side are not offered

	limits  limits        // the manager's
	dir     string        // where a local session was started, as the caller named it
	program bool          // a command beside the terminal is a program that is started with its words as they are, by no shell
	stays   bool          // readable until a caller closes it, if it ends by itself
	life    time.Duration // see OpenRequest.Life
}

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

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// A Session is one terminal. Its methods may be called by any number of goroutines.
type Session struct {
	// Set once, before the session is shared.
	id      string
	o       Options
	buf     *buffer.Buffer
	locks   *LockTable
	desk    desk
	log     *slog.Logger
	created time.Time
	ctx     context.Context // ends with the session; its cause is the reason
	cancel  context.CancelCauseFunc
	ended   chan struct{}  // closed by finish
	onEnd   func(*Session) // the manager's, or nil; called with s.mu held
	onClose func(*Session) // the manager's, or nil; called when a caller closes it after it has ended
	expiry  *time.Timer    // forgets it once it has ended; guarded by Manager.mu
	release func()         // gives the console's device back; nil: nothing was taken
	life    *lifetime
	redact  *redact.Stream // expects the echo of every secret before it is written
	writing chan struct{}  // holds one token: whoever has it may write to the transport
	far     farFiles
	lane    *lane.Lane
	prompts *prompt.History // what was typed and shown, as far as it tells prompts from other lines
	wg      sync.WaitGroup  // every goroutine of this session

	count counters

	mu         sync.Mutex // guards the following
	state      State
	changed    chan struct{} // closed and replaced when state or pending changes
	end        End
	transport  term.Transport
	describer  term.Describer   // nil: there is nothing to tell
	about      term.Description // as it told when the session opened
	execer     term.Execer
	signaler   term.Signaler
	subsystems term.Subsystemer // set before the state is Open, and not changed
	pending    *question
	lineTyped  int        // bytes typed since the last line end
	tracker    vt.Tracker // what the output has switched on
	expect     Expect
	pty        term.PTY
	resized    int64           // Info.Resized
	runs       map[string]*run // execs that have something left to fetch
	runOrder   []string        // their ids, oldest first
	sealed     bool            // Close waits: no goroutine may be added
	txEvents   []TxEvent       // what was last typed
	lost       []*lostLock     // the holders whose lock was taken over, and who have not got it again; oldest first
	visit      *lostLock       // the operator has taken over; nil: he has not, or the others know

	hangOnce sync.Once
}

// counters are what Info reports. Times are Unix nanoseconds, 0 for never.
type counters struct {
	rx, tx, dropped atomic.Int64
	lastRx, lastTx  atomic.Int64
	execs, readers  atomic.Int64
	execRx          atomic.Int64 // bytes from commands beside the terminal
	drained         atomic.Int64
	running         atomic.Int64 // execs, and actions on files, that have not ended
}

// New makes an open session out of a connected transport, which it owns from then on.
func New(t term.Transport, o Options) *Session {
	s := newSession(o, nil)
	s.attach(t)
	return s
}

// newSession makes a session in state Connecting. onEnd is called once, when it has ended.
func newSession(o Options, onEnd func(*Session)) *Session {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Session{
		id: o.ID, o: o, locks: o.Locks, log: o.Logger, created: time.Now(),
		desk: desk{
			session:   o.ID,
			protocol:  o.Protocol,
			host:      o.Host,
			user:      o.User,
			gate:      o.Gate,
			journal:   o.Journal,
			observers: o.Observers,
			log:       o.Logger,
		},
		buf: buffer.New(buffer.Options{MaxBytes: o.BufferBytes, MaxLines: o.BufferLines, Pool: o.limits.memory}),
		ctx: ctx, cancel: cancel, ended: make(chan struct{}), onEnd: onEnd,
		writing: make(chan struct{}, 1),
		state:   Connecting, changed: make(chan struct{}),
		expect: o.Expect, pty: o.PTY, runs: make(map[string]*run), prompts: prompt.NewHistory(),
	}
	s.lane = lane.New(s.id, laneTerminal{s}, s.buf, s.prompts)
	s.far = farFiles{s: s, turn: make(chan struct{}, 1)}
	s.life = newLifetime(s, o)
	s.redact = redact.New(s.accept, func(keep func()) bool { return s.spawn("redact", keep) })
	s.life.start()
	return s
}

// ID returns the session's name.
func (s *Session) ID() string { return s.id }

// connect runs dial and, if it succeeds, opens the session. It is the session's first goroutine.
func (s *Session) connect(dial term.Dialer, t term.Target) {
	tr, err := dial(s.ctx, t, s, s.approve(t))
	if err != nil {
		s.fail(err)
		return
	}
	s.attach(tr)
}

// attach gives the session its transport and starts the pump.
func (s *Session) attach(t term.Transport) {
	owned := false // by the session, which closes it when it ends
	defer func() {
		if !owned { // a fault of t's
			_ = t.Close()
		}
	}()
	describer, _ := t.(term.Describer)
	var about term.Description
	if describer != nil {
		about = describer.Describe()
	}
	s.mu.Lock()
	owned = true
	if s.state.Ended() || s.ctx.Err() != nil {
		s.mu.Unlock()
		_ = t.Close()
		s.finish(Closed, End{Reason: context.Cause(s.ctx).Error()})
		return
	}
	s.transport = t
	s.execer, _ = t.(term.Execer)
	s.signaler, _ = t.(term.Signaler)
	s.subsystems, _ = t.(term.Subsystemer)
	s.describer, s.about = describer, about
	s.prompts.SetLogin(shell.OfProcess(about.Process))
	from := s.state
	s.setState(Open)
	s.mu.Unlock()

	s.life.touch()
	s.observe(
		term.Event{
			Verb:     term.VerbState,
			State:    string(Open),
			From:     string(from),
			Detail:   strings.Join(about.Warnings, "; "),
			Duration: time.Since(s.created),
		},
	)
	s.log.Info("session open", "session", s.id, "protocol", s.o.Protocol, "host", s.o.Host)
	if !s.spawn("pump", func() { s.pump(t) }) {
		_ = t.Close()
	}
}

// CloseOptions say how to close.
type CloseOptions struct {
	Force bool // give the far side no time
}

// The time Close gives the far side before it lets go of the session all the same.
const (
	politeClose = 5 * time.Second
	forcedClose = 900 * time.Millisecond
)

// Close ends the session and waits for its goroutines. It reports whether the session had ended before.
// It never fails: what does not end in time is abandoned, and the session is over for every caller.
func (s *Session) Close(ctx context.Context, o CloseOptions) (already bool) {
	actor, by := term.ActorFrom(ctx), "the caller"
	if h := holderOf(actor); h.Attached() {
		by = h.String()
	} else if h.Task != "" {
		by = "task " + h.Task
	}
	var how string
	if o.Force {
		how = "force"
	}
	d := s.begin(ctx, term.VerbClose, term.Event{Detail: how})
	d.permitted = true // by MayClose, or because nobody has to ask
	if already = s.close(errClosedByCaller{by}, o.Force); already {
		d.event.Detail = "already closed"
		if s.onClose != nil {
			s.onClose(s)
		}
	}
	d.end(nil)
	return already
}

func (s *Session) close(cause error, force bool) (already bool) {
	s.mu.Lock()
	already = s.state.Ended()
	s.mu.Unlock()
	s.cancel(cause)
	limit := politeClose
	if force {
		limit = forcedClose
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	if !force {
		s.stopRuns()
		s.far.stop(stopGrace)
	}
	s.hangUp()
	s.mu.Lock()
	s.sealed = true
	s.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-timer.C:
		s.log.Warn("a session's goroutines did not end in time", "session", s.id, "limit", limit)
	}
	s.finish(Closed, End{Reason: cause.Error()})
	return already
}

// stopRuns waits until the commands beside the terminal, whose contexts have ended, are stopped: without the
// connection nobody could tell them.
func (s *Session) stopRuns() {
	s.mu.Lock()
	var runs []*run
	for _, x := range s.runs {
		if x.lane == LaneChannel && !x.ended() {
			runs = append(runs, x)
		}
	}
	s.mu.Unlock()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	for _, x := range runs {
		select {
		case <-x.done:
		case <-timer.C:
			return
		}
	}
}

// hangUp closes the transport without waiting for it.
func (s *Session) hangUp() {
	s.mu.Lock()
	t := s.transport
	s.mu.Unlock()
	if t == nil {
		return
	}
	s.hangOnce.Do(func() {
		s.wg.Go(func() {
			defer s.rescue("close")
			_ = t.Close()
		})
	})
}

// spawn runs f in a goroutine that Close waits for. It reports false, and runs nothing, once Close waits.
func (s *Session) spawn(where string, f func()) bool {
	s.mu.Lock()
	if s.sealed {
		s.mu.Unlock()
		return false
	}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		defer s.rescue(where)
		f()
	}()
	return true
}

func stack() string { return string(debug.Stack()) }
