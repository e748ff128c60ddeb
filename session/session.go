package session

import (
	"context"
	"crypto/rand"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ptyctl/buffer"
	"ptyctl/secret/forms"
	"ptyctl/session/access"
	"ptyctl/session/forward"
	"ptyctl/session/known"
	"ptyctl/session/lane"
	"ptyctl/session/owners"
	"ptyctl/session/prompt"
	"ptyctl/session/redact"
	"ptyctl/session/reserved"
	"ptyctl/session/shell"
	"ptyctl/session/sizing"
	"ptyctl/session/tap"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

// A Session is one terminal, for as long as its connection lives: Manager.Reopen makes another Session, with the same
// id, in its place. Any number of goroutines may call its methods.
type Session struct {
	// Each small struct has a mutex of its own. Most are locked alone; others only in this order: life, then the
	// Manager's, the buffer's or the display's; the lock's, then the lock table's; redact's order, then those of the
	// output's receivers. Apart from the last, no mutex is held while the transport, the Gate, the Journal or an
	// Observer runs.

	id    string
	o     Options
	owner owner // the Manager's; zero: none
	auth  *access.Authorizer
	*kept // by each session that takes the place of this one

	life     *life
	group    *goroutines
	timeouts *timeouts
	link     atomic.Pointer[link] // nil before the session is Open; once that is closed, its overTransport

	tap     *tap.Tap       // before it: takes the output while a file is moved over the terminal
	redact  *redact.Stream // expects the echo of every secret before it is written
	hide    *known.Stream  // after it: hides the secrets that were given to the far side
	window  *window
	sizing  *sizing.Sizing
	prompts *prompt.History // input and prompts, as far as they tell prompts from other lines
	writer  *writer
	shells  *shells
	execs   *execs
	lane    *lane.Lane
	far     *transfer.Far
	forward *forward.Set
	answers *answers
}

// An owner is a Manager, as far as a session knows it.
type owner struct {
	ended   func(*Session)    // called once, when it has ended, with life.mu held
	closed  func(*Session)    // called when a caller closes it after it has ended
	expiry  *time.Timer       // forgets it once it has ended; guarded by Manager.mu
	device  Reservation       // of the console's device; zero: nothing was taken
	sockets *reserved.Sockets // that device holds
	lasting func() bool       // stops waiting for the end of device; nil: nothing waits. Guarded by life.mu
	console consoleKey        // the console that only this session has; guarded by Manager.mu

	mayAsk func(s *Session, ask func() error) error // runs ask, with which s asks a question, if that may be
	login  *login                                   // of a session that logs in
	whose  *owners.Ownership                        // nil: always its opener's
}

// counters are the numbers in Info. Times are Unix nanoseconds, 0 for never.
type counters struct {
	rx, tx, dropped atomic.Int64
	lastRx, lastTx  atomic.Int64
	execs, readers  atomic.Int64
	execRx          atomic.Int64 // bytes from commands beside the terminal
	left            atomic.Int64 // the end of the output when its client went; see Adoption
	drained         atomic.Int64
	running         atomic.Int64 // execs, and actions on files, that have not ended
}

// New makes an open session out of a connected transport, which it owns from then on.
func New(t term.Transport, o Options) *Session {
	s := newSession(o, owner{mayAsk: func(_ *Session, ask func() error) error { return ask() }}, nil)
	s.timeouts.start()
	s.attach(t)
	return s
}

// newSession makes a session in state Connecting. by.ended is called once, when it has ended. k is from the session
// that it replaces, or nil. Its timeouts are not started.
func newSession(o Options, by owner, k *kept) *Session {
	o = o.withDefaults()
	if k == nil {
		k = newKept(o)
		if whose := by.whose; whose != nil { // and not the session, which the lock outlives
			k.lock.Foreign = func(p term.Principal) bool { return p.Shim != "" && !whose.Owner().Is(p) }
		}
	}
	by.sockets = new(reserved.Sockets)
	s := &Session{
		id: o.ID, o: o, kept: k, owner: by,
		life:    newLife(o.ID, k.known),
		window:  &window{pty: o.PTY},
		prompts: prompt.NewHistory(),
	}
	s.auth = access.New(access.Options{
		Session: o.ID, Protocol: o.Origin.Protocol, Host: o.Origin.Host, User: o.Origin.User,
		Gate: o.Gate, Journal: o.Journal, Observers: o.Observers, Log: o.Logger, Lock: s.lock,
		Hide: k.known.Event,
	})
	s.life.returns = k.never == ""
	s.group = &goroutines{failed: s.faulted}
	keep := func(f func()) bool { return s.group.spawn("redact", f) }
	s.hide = known.NewStream(k.known, func(p []byte, cuts []forms.Cut) { accept(s, p, echoesOf(cuts)) }, keep)
	s.redact = redact.New(func(p []byte, echoes []redact.Echo) { hide(s, p, echoes) }, keep)
	s.tap = tap.New(func(p []byte) { s.redact.Write(p) })
	s.writer = &writer{s: s, token: make(chan struct{}, 1)}
	s.answers = newAnswers(s)
	s.sizing = sizing.New(sizedTerminal{s})
	s.shells = &shells{s}
	s.execs = &execs{s: s, commands: k.runs}
	s.lane = lane.New(s.id, laneTerminal{s}, s.buf, s.prompts)
	s.far = transfer.NewFar(s.id, carrier{s}, o.FarFiles)
	s.forward = forward.NewSet(s.id, carrier{s}, s.auth, o.Forward)
	s.timeouts = newTimeouts(s, o)
	return s
}

// ID returns the session's name.
func (s *Session) ID() string { return s.id }

// attach gives the session its transport and starts the pump.
func (s *Session) attach(t term.Transport) {
	owned := false // by the session, which closes it when it ends
	defer func() {
		if !owned { // a fault of t's
			_ = t.Close()
			s.owner.sockets.Release()
		}
	}()
	link := newLink(t, s.owner.device.Check)
	s.known.At(farPlaces(s, link.about.HostKey)...)
	l := s.life
	l.mu.Lock()
	owned = true
	// It was closed while it was connecting. Nothing else knows of the transport, so it is closed here.
	if l.state.Ended() || l.ctx.Err() != nil {
		l.mu.Unlock()
		_ = t.Close()
		s.owner.sockets.Release()
		s.finish(Closed, endOf(context.Cause(l.ctx)))
		return
	}
	s.link.Store(link)
	s.prompts.SetLogin(shell.Of(link.about))
	l.noTerminal = link.about.NoTerminal
	l.warnings = s.opened(link.about)
	from := l.state
	l.set(Open)
	l.mu.Unlock()

	s.timeouts.touch()
	s.auth.Observe(
		term.Event{
			Verb:     term.VerbState,
			State:    string(Open),
			From:     string(from),
			Detail:   strings.Join(slices.Concat(s.window.detail(), link.about.Warnings, l.warnings), "; "),
			Duration: time.Since(l.began),
		},
	)
	s.o.Logger.Info("session open", "session", s.id, "protocol", s.o.Origin.Protocol, "host", s.o.Origin.Host)
	// Events come first: no observer should see output of a session that it does not know to be open.
	if !s.group.spawn("pump", func() { s.pump(t) }) {
		_ = t.Close()
		s.owner.sockets.Release()
	}
}

// maxIDHost is how much of the host's name an id keeps.
const maxIDHost = 24

// NewID returns a fresh session id: the host's name cut to 24 safe characters, a dash, and 8 random characters of
// base32 (40 bits), so that no id can be guessed.
func NewID(host string) string { return idHost(host) + "-" + strings.ToLower(rand.Text()[:8]) }

// newID is NewID with the name of this machine, if it has one among others.
func (m *Manager) newID(host string) string { return m.here(NewID(host)) }

// here adds the name of this machine to an id, if it has one among others.
func (m *Manager) here(id string) string {
	if m.c.Devices.Node == "" {
		return id
	}
	return id + "@" + m.c.Devices.Node
}

// idHost returns the host's part of an id: lower-case letters, digits, dots and dashes. Every other
// character becomes a dash.
func idHost(host string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(host) {
		if b.Len() == maxIDHost {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-."); s != "" {
		return s
	}
	return "session"
}

// Info describes a session at one moment.
//
// The fields are read one after another, not at one instant: counters may be newer than State. All sizes are in bytes.
type Info struct {
	ID string
	Origin
	State   State
	End     End // zero while the session lives
	Prompt  *term.Prompt
	Created time.Time
	PTY     term.PTY
	Resized int64 // the cursor from which on PTY's size counts; 0: from the start
	About   term.Description
	Buffer  buffer.Stat

	BytesIn, BytesOut int64     // from and to the far side
	LastIn, LastOut   time.Time // zero: never
	Drained           time.Time // when a reader last had everything
	Dropped           int64     // bytes that readers asked for too late, summed over all readers
	Execs             int64     // started so far
	Running           []string  // ids of execs that have not ended, oldest first
	Unfetched         []string  // ids of execs that have ended while no call waited for them, oldest first
	Readers           int64     // reads that wait now
	Typed             bool      // something was typed into the terminal after it opened
	TerminalEnd
	Connections

	Owner owners.Owner // the present owner; at first its Opener

	Lease *Lease // nil: not locked
}

// A TerminalEnd is the end of a terminal whose connection goes on.
type TerminalEnd struct {
	TerminalEnded string    // why it is gone; empty: it is not
	TerminalExit  term.Exit // how the program in it has ended
}

// Connections say how often a session was connected.
type Connections struct {
	Opens     int64     // more than 1 if it was reopened
	Gaps      []int64   // the cursors where a connection ended and the output of the next one begins: the last ones
	Reopening Reopening // zero, unless it is being reopened and an attempt has failed
}

// Info returns the session's present state.
func (s *Session) Info() Info {
	i := Info{
		ID: s.id, Origin: s.o.Origin, Created: s.created,
		BytesIn: s.count.rx.Load(), BytesOut: s.count.tx.Load(),
		LastIn: unixNano(s.count.lastRx.Load()), LastOut: unixNano(s.count.lastTx.Load()),
		Drained: unixNano(s.count.drained.Load()),
		Dropped: s.count.dropped.Load(), Execs: s.count.execs.Load(), Readers: s.count.readers.Load(),
		Owner: ownerOf(s),
	}
	if l, ok := s.lock.Table.Get(s.id); ok {
		i.Lease = &l
	}
	i.About = s.known.Description(s.link.Load().describe(s.o.Logger, s.id))
	s.life.mu.Lock()
	i.State, i.End, i.Prompt = s.life.state, s.life.end, s.life.prompt()
	if why := s.life.noTerminal; why != "" && i.About.NoTerminal == "" {
		i.TerminalEnded = "this session has no terminal: " + why + "; commands run on channels"
		i.TerminalExit = s.life.ranOut
		i.About.NoTerminal, i.About.PTY, i.About.Capabilities.Resize = why, false, term.No
		i.About.Warnings = append(slices.Clip(i.About.Warnings), i.TerminalEnded)
	}
	i.About.Warnings = append(slices.Clip(i.About.Warnings), s.life.warnings...)
	if !i.State.Ended() && i.State != Open {
		i.Reopening = s.life.progress
	}
	s.life.mu.Unlock()
	i.Opens, i.Gaps = s.opens.Load(), s.buf.Breaks(0, math.MaxInt64)
	i.Buffer = s.buf.Stat() // after the state: of a session that has ended, all of the output
	i.PTY, i.Resized = s.window.size()
	i.Typed = s.prompts.Typed()
	i.Running, i.Unfetched = s.execs.list()
	return i
}

// Received returns how many bytes have come from the far side, from the terminal and from commands beside it. It never
// falls.
func (v SessionView) Received() int64 { return v.s.count.rx.Load() + v.s.count.execRx.Load() }

// State returns the session's present state.
func (s *Session) State() State {
	return s.life.now()
}

// Ended returns a channel that is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return s.life.over }

// unixNano converts a stored time; 0 is the zero Time, not the year 1970.
func unixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// A Remembered has the data that another process needs to open a session like one of this Manager, once this process
// is gone. It has no secret: the Auth of its Target says only how to log in.
type Remembered struct {
	Target      term.Target
	Device      string
	IdleTimeout time.Duration // 0: never
	Profile     string        // see Expect
	Owner       term.Principal
	Created     time.Time
	Retention   time.Duration // how long the session is kept here after its end
}

// Remembered returns the data to reopen the session elsewhere. The error says why the session is not remembered: a
// session that is never reopened here must not be opened elsewhere, a line or a program of this machine is on no
// other, and an option of the caller may be a secret.
func (v SessionView) Remembered() (Remembered, error) {
	s := v.s
	never := func(why string) error {
		return &term.Error{Op: "open", Session: s.id, Kind: term.Unsupported, Msg: "this session is not reopened elsewhere: " + why}
	}
	switch i := s.Info(); {
	case s.never != "":
		return Remembered{}, never(s.never)
	case s.dismissed.Load(), i.State.Ended() && !i.End.Code.EndedByFarSide() && i.End.Code != EndShutdown:
		return Remembered{}, never("it has ended for good")
	case s.o.managed.life > 0:
		return Remembered{}, never("its opener has limited its life")
	case s.again.Serial.Path != "":
		return Remembered{}, never("a line of this machine is on no other")
	}
	t := *s.again
	t.PTY = ownPTY(s)
	options := append([]string{
		t.SSH.ProxyURL, t.SSH.ProxyJump, t.SSH.ConfigPath, t.SSH.KnownHostsPath, t.SSH.HostKeyFingerprint, t.Telnet.TLS.ServerName,
		t.Telnet.TLS.Pin, t.PTY.Term,
	}, t.SSH.ExtraArgs...)
	if slices.ContainsFunc(options, func(text string) bool { return len(s.known.Find([]byte(text))) > 0 }) {
		return Remembered{}, never("one of its options is a secret")
	}
	return Remembered{
		Target: t, Device: s.o.Origin.Device, IdleTimeout: s.o.IdleTimeout, Profile: s.Expect().Profile,
		Owner: ownerOf(s).Principal, Created: s.created, Retention: s.o.Retention,
	}, nil
}
