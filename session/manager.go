package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"ptyctl/buffer"
	"ptyctl/internal/faultlog"
	"ptyctl/session/access"
	"ptyctl/session/filecopy"
	"ptyctl/session/forward"
	"ptyctl/session/known"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// A Config configures all sessions of a Manager. Only Dialers is required.
//
// A zero field takes the default named beside it, or that of the field of the same name in Options. Sizes are in
// bytes.
type Config struct {
	Dialers        map[string]term.Dialer // by protocol
	MaxSessions    int                    // live sessions; 0: 100
	BufferBytes    int                    // see Options
	BufferLines    int
	ExecBytes      int
	WriteTimeout   time.Duration
	QuietLine      time.Duration
	PromptTimeout  time.Duration
	ConnectTimeout time.Duration // when a Target has none; 0: 15 s; negative: that of the Dialer
	IdleTimeout    time.Duration // when an OpenRequest has none; 0: never
	MaxAge         time.Duration // see Options
	MaxBufferBytes int           // output kept for all sessions, execs and ended ones included; 0: 256 MiB
	Room           func() error  // refuses a session for which the system has no room; nil: none is refused
	MaxReads       int           // reads that wait at a time, over all sessions; 0: 200
	Retention      time.Duration // how long an ended session stays listed and readable; 0: 5 min
	Input          InputOptions
	Gate           term.Gate
	Journal        term.Journal

	Files    term.Files       // of this machine; nil: they are not offered. Their maker closes them
	FarFiles FarFiles         // see Options
	Forward  *forward.Options // see Options
	Copies   CopyLimits
	Devices  DeviceOptions

	Observers []term.Observer
	Logger    *slog.Logger // nil: errors go to slog.Default
}

// InputOptions are the options of a Manager about the input of terminals.
type InputOptions struct {
	RecordTxEvents bool         // see Options
	Secrets        term.Secrets // see Options
	AllowTakeOver  bool         // see Options
	NoAnswers      bool         // no terminal answers queries of its output; see term.PTY

	// Known are the secrets given to sessions and hosts, which no output may show. Nil: no secrets.
	Known *known.Registry
}

// DeviceOptions are the options of a Manager about devices that have one session at a time.
type DeviceOptions struct {
	// Reserve reserves a device's console for a session, so that no other process opens it, until the Reservation is
	// released or ends. It fails if another session has it, and when ctx, of the call that opens the session, ends: other
	// callers of Open for that device wait for it. Nil: only this Manager's sessions share consoles.
	Reserve func(ctx context.Context, device, session string) (Reservation, error)

	// Node is the name of this machine among those that share devices. The ids of sessions end in @ and the name, so that
	// they say where the session is. Empty: this machine is alone.
	Node string

	// Line returns the line of this machine that a target leads to, whatever its path is; empty: none, or none that can be
	// opened. A line has one session, which calls of Open share as that of a console. It must return at once. Nil: no
	// target has one.
	Line func(term.Target) string
}

// A Reservation is a device's console that one session has. It lasts until Release, or, if it is a lease, until that
// runs out.
type Reservation struct {
	// Release gives the console back. It must return at once.
	Release func()

	// Check returns nil while the reservation lasts. It is called before each write, each command and everything else
	// that sends the far side something, which an error refuses; an error of package term is passed on as it is. It must
	// do no I/O and return at once. Nil: the reservation lasts until Release.
	Check func() error

	// Hold holds the socket of the console's connection: see term.Hold. A console is not opened if its connection has
	// no socket to hold. Only a line of this machine needs none: see DeviceOptions.Line. Nil: nothing is held.
	Hold term.Hold

	// AfterEnd calls end, in a goroutine of its own, when the reservation has ended before Release. The session then
	// ends with EndReservation and err as the reason, and its connection is closed. stop is that of context.AfterFunc.
	// Nil: the reservation lasts until Release.
	AfterEnd func(end func(err error)) (stop func() bool)
}

// A Manager is the set of sessions of one process. Make it with NewManager.
type Manager struct {
	c      Config
	locks  LockTable
	limits limits

	descriptors descriptors
	logins      logins
	owners      *owners.Registry
	parts       filecopy.Parts

	// mu guards the following. A session that ends locks it while its life is locked, so no session's life may be
	// locked while mu is.
	mu       sync.Mutex
	sessions map[string]*Session
	consoles map[consoleKey]*console
	exited   []*Session // those that stay until a caller closes them, oldest first
	expiring []*Session // those that have ended and are forgotten in a while, the first of them first
	live     int
	closing  bool
	drained  chan struct{} // closed when closing and no session lives
}

// NewManager makes an empty set of sessions.
func NewManager(c Config) *Manager {
	c.MaxSessions = cmp.Or(c.MaxSessions, 100)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 15*time.Second)
	c.Retention = cmp.Or(c.Retention, 5*time.Minute)
	c.MaxBufferBytes = cmp.Or(c.MaxBufferBytes, 256<<20)
	c.MaxReads = cmp.Or(c.MaxReads, 200)
	c.Logger = faultlog.Or(c.Logger)
	return &Manager{
		c: c, sessions: make(map[string]*Session), consoles: make(map[consoleKey]*console), drained: make(chan struct{}),
		owners: owners.New(0),
		limits: limits{memory: buffer.NewPool(int64(c.MaxBufferBytes)), reads: &semaphore{limit: int64(c.MaxReads)}},
	}
}

// A ServerView has the methods that only a server needs, if many callers share the sessions of its Manager: callers
// that must not learn of each other's sessions, sessions that outlive their clients, and the operator's settings. A
// program that uses its own sessions has no use for it, and its methods may change with ptyctl's server.
type ServerView struct{ m *Manager }

// ServerView returns the Manager as a server sees it.
func (m *Manager) ServerView() ServerView { return ServerView{m} }

// A SessionView has the methods of a session that only a server needs: waits at several places at once, questions
// whether a caller might do something, and looks that count for no reader. See ServerView.
type SessionView struct{ s *Session } //nolint:revive // a View without Session would be of anything

// ServerView returns the session as a server sees it.
func (s *Session) ServerView() SessionView { return SessionView{s} }

// Protocols returns the protocols that can be opened, sorted.
func (m *Manager) Protocols() []string {
	names := make([]string, 0, len(m.c.Dialers))
	for p := range m.c.Dialers {
		names = append(names, p)
	}
	slices.Sort(names)
	return names
}

// Owners returns the registry of the owners of sessions. Clients that come and go, while their sessions stay, join
// there.
func (v ServerView) Owners() *owners.Registry { return v.m.owners }

// Live returns how many sessions have not ended.
func (m *Manager) Live() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live
}

// Ended returns how many sessions have ended and are still kept.
func (m *Manager) Ended() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, len(m.sessions)-m.live)
}

// Buffered returns how many bytes of memory the output takes that is kept for all sessions and execs.
func (m *Manager) Buffered() int64 { return m.limits.memory.Held() }

// Get returns the session with that id, ended or not.
func (m *Manager) Get(id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		return s, nil
	}
	return nil, m.notFound(id)
}

// notFound is the error for an id that names no session, or one that the caller must not see: both look the same, so
// an id cannot be probed.
func (m *Manager) notFound(id string) error {
	return &term.Error{
		Session: id,
		Kind:    term.NotFound,
		Reason:  term.ReasonNoSession,
		Msg:     fmt.Sprintf("there is no session %q (an ended one is kept for %s)", id, m.c.Retention),
		Advice:  "Manager.List returns the sessions",
	}
}

// Hide returns the error for a session that the caller of ctx must not see: it says that there is no such session. The
// Observers get an event of the refused action verb.
func (v ServerView) Hide(ctx context.Context, verb term.Verb, id string) error {
	err := v.m.notFound(id)
	v.Refused(ctx, id, verb, err)
	return err
}

// Refused sends the Observers an event of an action that was refused with err before it came to a session.
func (v ServerView) Refused(ctx context.Context, id string, verb term.Verb, err error) {
	v.m.refused(ctx, id, term.Event{Verb: verb, Refused: err})
}

// GetFor is Manager.Get for the action verb of the caller of ctx. If there is no such session, the Observers get an
// event of the refused action.
func (v ServerView) GetFor(ctx context.Context, verb term.Verb, id string) (*Session, error) {
	s, err := v.m.Get(id)
	if err != nil {
		v.Refused(ctx, id, verb, err)
	}
	return s, err
}

// refused reports an action that was refused before it came to a session.
func (m *Manager) refused(ctx context.Context, id string, e term.Event) {
	e.Time, e.Session, e.Actor = time.Now(), id, term.ActorFrom(ctx)
	for _, o := range m.c.Observers {
		access.Tell(m.c.Logger, o, e)
	}
}

// List returns all sessions, or those in one of the states, oldest first, ended ones included as long as they are kept.
func (m *Manager) List(states ...State) []Info {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	// Without mu: see Manager.
	infos := make([]Info, 0, len(all))
	for _, s := range all {
		if len(states) == 0 || slices.Contains(states, s.State()) {
			infos = append(infos, s.Info())
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return infos
}

// add registers a new session, or refuses it. Requires that s has not started.
func (m *Manager) add(s *Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fullLocked(); err != nil {
		return err
	}
	switch {
	case m.sessions[s.id] != nil:
		return sessionError("open", s.id, term.InvalidArgument,
			fmt.Sprintf("there is a session %q already; choose another id", s.id))
	case !s.buf.Reserve():
		return m.limits.noMemory("open", "")
	}
	m.sessions[s.id] = s
	m.live++
	s.known.Keep()
	s.owner.whose.Keep(ownedSession{m, s})
	return nil
}

// fullLocked says why there is no place for another session; nil: there is one. Requires m.mu.
func (m *Manager) fullLocked() error {
	switch {
	case m.closing:
		return &term.Error{Op: "open", Kind: term.Canceled, Msg: "ptyctl is shutting down"}
	case m.live >= m.c.MaxSessions:
		return &term.Error{
			Op: "open", Kind: term.LimitExceeded,
			Msg:    fmt.Sprintf("%d sessions are open, which is the limit", m.live),
			Advice: "close one that is no longer needed",
			Facts:  term.Facts{term.LimitReached{Limit: term.LimitSessions, Value: int64(m.c.MaxSessions)}},
		}
	}
	return nil
}

// ended is called by each session at its end; the session is forgotten after the time of retention.
//
// It is called under the session's mutex, before any caller can see the end, and so must neither wait nor ask for the
// session's state.
func (m *Manager) ended(s *Session) {
	s.owner.releaseDevice() // before its place is free: the next owner comes as soon as it is
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.consoles, s.owner.console)
	m.live--
	if m.closing && m.live == 0 {
		close(m.drained)
	}
	if !s.owner.whose.Waits() { // an orphan is forgotten when its time is over
		retireLocked(m, s)
	}
}

// retireLocked decides how long a session that has ended is kept: for the time of retention, or until a caller closes
// it. It has no effect once that is decided. Requires m.mu.
func retireLocked(m *Manager, s *Session) {
	if s.owner.expiry != nil || slices.Contains(m.exited, s) || m.sessions[s.id] != s {
		return
	}
	var by errClosedByCaller
	if !s.o.managed.stays || errors.As(context.Cause(s.life.ctx), &by) || s.link.Load() == nil {
		m.expireLocked(s)
		return
	}
	m.exited = append(m.exited, s)
	if len(m.exited) > m.c.MaxSessions { // callers that never close must not fill the memory
		m.expireLocked(m.exited[0])
		m.exited = m.exited[1:]
	}
}

// maxExpiring is how many ended sessions wait to be forgotten. Each takes some 7 KiB besides its output, which has a
// limit of its own, so a caller of many short sessions must not have all of them kept for the time of retention.
const maxExpiring = 4000

// expireLocked lets a session that has ended be forgotten after the time of retention. Requires m.mu.
func (m *Manager) expireLocked(s *Session) {
	s.owner.expiry = time.AfterFunc(m.c.Retention, func() {
		defer s.group.rescue("retention")
		m.forget(s)
	})
	m.expiring = append(m.expiring, s)
	if len(m.expiring) > maxExpiring {
		m.expiring[0].owner.expiry.Reset(0) // and not here, under the mutex
		m.expiring = slices.Delete(m.expiring, 0, 1)
	}
}

// dismissed is called when a caller has closed a session that had ended before. If another call was reopening it at
// the same moment, that ends, too.
func (m *Manager) dismissed(s *Session) {
	m.mu.Lock()
	other := m.sessions[s.id]
	if i := slices.Index(m.exited, s); i >= 0 {
		m.exited = slices.Delete(m.exited, i, i+1)
		m.expireLocked(s)
	}
	m.mu.Unlock()
	if other != nil && other != s && other.kept == s.kept {
		other.close(errClosedByCaller{by: "a caller"}, false)
	}
}

// Forget forgets a session that has ended, with its output, before its time of retention is over. A session that has
// not ended stays.
func (m *Manager) Forget(s *Session) {
	if s.State().Ended() {
		m.forget(s)
	}
}

// forget is Forget for a session that is known to have ended.
func (m *Manager) forget(s *Session) {
	m.mu.Lock()
	known := m.sessions[s.id] == s
	if known {
		delete(m.sessions, s.id)
	}
	m.keepLocked(s)
	m.mu.Unlock()
	if known {
		s.owner.whose.Drop()
		s.lock.Table.Drop(s.id)
		s.buf.Free()
		s.shots.Free()
		s.execs.forgetAll()
		s.known.Drop()
		<-s.life.told // its end comes before it is gone
		s.auth.Observe(term.Event{Verb: term.VerbGone})
	}
}

// keepLocked takes a session that has ended off the lists of those to be forgotten. Requires m.mu.
func (m *Manager) keepLocked(s *Session) {
	m.exited = slices.DeleteFunc(m.exited, func(other *Session) bool { return other == s })
	if i := slices.Index(m.expiring, s); i >= 0 {
		m.expiring = slices.Delete(m.expiring, i, i+1)
	}
	if s.owner.expiry != nil {
		s.owner.expiry.Stop()
	}
}

// Close ends all sessions and refuses new ones. It returns when all have ended and the Observers have had that, within
// about five seconds. No Observer may call it.
func (m *Manager) Close(ctx context.Context) {
	m.mu.Lock()
	// From here on add refuses, so all holds every session that there will ever be.
	first := !m.closing
	m.closing = true
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	if first && m.live == 0 {
		close(m.drained)
	}
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		if !s.State().Ended() {
			wg.Go(func() { s.close(errClosedByCaller{"ptyctl, which is shutting down", EndShutdown}, false) })
		}
	}
	wg.Wait()
	select {
	case <-m.drained:
	case <-ctx.Done():
	}
	for _, s := range all { // a session has ended a moment before it says so
		select {
		case <-s.life.told:
		case <-ctx.Done():
		}
	}
	m.owners.Close()
}
