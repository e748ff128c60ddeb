package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// Options configure a Server. Serve is required.
type Options struct {
	Build  string
	Engine Engine

	// Serve carries one conversation, until it or ctx ends. It does not close the connection.
	Serve func(ctx context.Context, v Visit) error

	// Presents says why a conversation with these settings cannot be served, for example because the client is of a
	// later version; nil: each can.
	Presents func(p Presents) error

	Sessions func() int      // that are listed; nil: none
	Changed  <-chan struct{} // gets a value when Sessions may have changed; nil: it never does
	Idle     time.Duration   // the server ends after this time without clients and sessions; 0: never

	// Permit decides about AskStop and AskReload, which a process asks for with a token, and records them; Reload does
	// the latter. If one is nil, neither is done.
	Permit func(a Ask, token string, pid int) error
	Reload func() Reloaded

	// Shown decides whether the one who has a token may learn of clients and sessions; nil: each may.
	Shown func(token string) error
	// Shims are the clients, and Listed the sessions that live; nil: they are not listed.
	Shims  func() []Shim
	Listed func() []Listed

	// Refuse says why a process may not connect; nil: each process of this user may.
	Refuse func(pid int) error

	Logger *slog.Logger
}

// A Visit is one client that is served.
type Visit struct {
	Hello
	Client string   // its name for records, which no other client has
	Conn   net.Conn // the conversation
}

// A Server is the part of a daemon that clients connect to.
type Server struct {
	o       Options
	started time.Time
	stop    context.CancelCauseFunc // ends Run

	wg        sync.WaitGroup // the connections
	greetings chan struct{}  // has a value for each connection before its answer is written

	mu      sync.Mutex      // guards the following
	run     context.Context // that of Run and of each connection; nil: Run was not called
	clients int
	engine  Engine   // of the clients that are served
	sockets []socket // closed at the end of Run
	ended   bool     // no socket is added and no client is served any more

	changed chan struct{} // gets a value when clients has changed
}

// A socket is where clients of one configuration find the server.
type socket struct {
	net.Listener
	name string // of the configuration
}

// What programs of this user can make a Server keep: a Hello may have maxLine bytes, and a conversation has the limits of
// each client.
const (
	maxGreetings = 64 // that it reads and answers at a time; other connections wait
	maxClients   = 256
)

// The reasons for which a Server ends by itself.
var (
	errIdle    = errors.New("no client and no session for a while")
	errStopped = errors.New("stopped by ptyctl daemon stop")
	errSocket  = errors.New("the daemon's socket")

	errUnmanaged = errors.New("it cannot be managed over its socket")
	errEnding    = errors.New("it ends")
	errFull      = fmt.Errorf("it serves %d clients, and no more at a time: end one (ptyctl daemon status names them)",
		maxClients)
)

// NewServer makes a Server.
func NewServer(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Sessions == nil {
		o.Sessions = func() int { return 0 }
	}
	return &Server{
		o: o, started: time.Now(), engine: o.Engine, changed: make(chan struct{}, 1),
		greetings: make(chan struct{}, maxGreetings),
	}
}

// Run serves clients until ctx ends, a person stops it, or it has been idle for Options.Idle. It closes l, and returns
// when all conversations have ended.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	s.mu.Lock()
	s.run = ctx
	s.addLocked(socket{l, s.o.Engine.Name()})
	s.mu.Unlock()
	s.await(ctx)
	s.mu.Lock()
	s.ended = true
	for _, k := range s.sockets {
		_ = k.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	cause := context.Cause(ctx)
	if errors.Is(cause, errIdle) || errors.Is(cause, errStopped) {
		s.o.Logger.Info("the daemon ends", "reason", cause.Error())
		return nil
	}
	if errors.Is(cause, errSocket) {
		return cause
	}
	return nil
}

// Change serves clients of the configuration e from now on, and no new ones of another: the rules in force are not
// theirs. listen makes the socket of e, unless there is one, and the others are closed, so that other clients can start
// a daemon of their own; a socket of the service manager stays. If listen fails all stay, for people.
// Requires that Run has been called. Only one call may run at a time.
func (s *Server) Change(e Engine, listen func() (net.Listener, error)) error {
	name := e.Name()
	s.mu.Lock()
	same := s.engine.Name() == name
	s.engine = e
	has := slices.ContainsFunc(s.sockets, func(k socket) bool { return k.name == name })
	s.mu.Unlock()
	if same {
		return nil
	}
	var l net.Listener
	if !has {
		var err error
		if l, err = listen(); err != nil {
			return err
		}
	}
	var closed []socket
	s.mu.Lock()
	switch {
	case s.run == nil || s.ended:
		if l != nil {
			closed = append(closed, socket{l, name})
		}
	default:
		s.sockets = slices.DeleteFunc(s.sockets, func(k socket) bool {
			_, stays := k.Listener.(inherited)
			stays = stays || k.name == name
			if !stays {
				closed = append(closed, k)
			}
			return !stays
		})
		if l != nil {
			s.addLocked(socket{l, name})
		}
	}
	s.mu.Unlock()
	for _, k := range closed {
		_ = k.Close()
	}
	return nil
}

// addLocked accepts the clients of a socket. Requires s.mu.
func (s *Server) addLocked(k socket) {
	ctx := s.run
	s.sockets = append(s.sockets, k)
	s.wg.Go(func() {
		if err := s.accept(ctx, k); err != nil {
			s.stop(err)
		}
	})
}

// accept starts a goroutine for each connection, until the listener is closed.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil //nolint:nilerr // Serve ends, or Change has closed the listener
		case isTemporary(err):
			s.o.Logger.Error("a client was not accepted", "error", err)
			pause(ctx, 100*time.Millisecond)
			continue
		default:
			return fmt.Errorf("%w: %w", errSocket, err)
		}
		select {
		case s.greetings <- struct{}{}:
			s.wg.Go(func() { s.connection(ctx, c) })
		case <-ctx.Done():
			_ = c.Close()
		}
	}
}

// isTemporary reports whether an accept may succeed later: without file descriptors, or for a client that has gone.
func isTemporary(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && t.Temporary()
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// await returns when ctx has ended. It stops the server when that has been idle for Options.Idle.
func (s *Server) await(ctx context.Context) {
	idle := time.NewTimer(s.o.Idle)
	if s.o.Idle <= 0 || s.busy() {
		idle.Stop()
	}
	defer idle.Stop()
	for {
		select {
		case <-s.changed:
		case <-s.o.Changed:
		case <-idle.C:
			if s.end() {
				s.stop(errIdle)
			}
		case <-ctx.Done():
			return
		}
		if s.o.Idle > 0 && !s.busy() {
			idle.Reset(s.o.Idle)
		} else {
			idle.Stop()
		}
	}
}

func (s *Server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busyLocked()
}

// busyLocked is busy. Requires s.mu.
func (s *Server) busyLocked() bool { return s.clients > 0 || s.o.Sessions() > 0 }

// end refuses further clients. It reports false, and changes nothing, if the server has a client or a session.
func (s *Server) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busyLocked() {
		return false
	}
	s.ended = true
	return true
}

// enter counts one more client. It fails with errEnding, after which the client looks for another daemon, or errFull.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return errEnding
	case s.clients >= maxClients:
		return errFull
	}
	s.clients++
	s.tell()
	return nil
}

// leave counts one client less.
func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients--
	s.tell()
}

// tell has await look at the number of clients again.
func (s *Server) tell() {
	select {
	case s.changed <- struct{}{}:
	default: // it is about to
	}
}
