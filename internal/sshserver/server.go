package sshserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Server accepts SSH connections until it is closed. All methods may be called from any
// goroutine.
type Server struct {
	config  Config
	faults  atomic.Pointer[Faults]
	dropped atomic.Int32 // requests, for Faults.DropCommands
	handler Handler

	ctx    context.Context // ends when the server closes
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine of the server

	stats counters

	// mu guards the following.
	mu        sync.Mutex
	closed    bool
	address   net.Addr // of the first listener
	listeners map[net.Listener]struct{}
	conns     map[*gate]struct{}
}

// ErrServerClosed is returned by Serve after Close.
var ErrServerClosed = errors.New("sshserver: the server was closed")

// New returns a Server for Serve or ServeConn.
func New(c Config) (*Server, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:    c,
		handler:   c.Handler,
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*gate]struct{}),
	}
	s.faults.Store(&c.Faults)
	s.stats.init()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.handler == nil {
		s.handler = s.runProcess
	}
	return s, nil
}

// Listen returns a Server that accepts connections on a free port of 127.0.0.1.
func Listen(c Config) (*Server, error) {
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("sshserver: listen on the loopback address: %w", err)
	}
	if err := s.addListener(l); err != nil {
		return nil, err
	}
	s.wg.Go(func() { _ = s.accept(l) })
	return s, nil
}

// Serve accepts connections from l until l or the server is closed, and then closes l. It
// always returns an error; after Close it is ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	if err := s.addListener(l); err != nil {
		return err
	}
	return s.accept(l)
}

// addListener registers l, or closes it if the server is closed.
func (s *Server) addListener(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Close()
		return ErrServerClosed
	}
	if s.address == nil {
		s.address = l.Addr()
	}
	s.listeners[l] = struct{}{}
	return nil
}

// accept serves the connections of l.
func (s *Server) accept(l net.Listener) error {
	defer func() {
		l.Close()
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return ErrServerClosed
			}
			return err
		}
		if g := s.addConn(nc); g != nil {
			go s.serve(g)
		}
	}
}

// ServeConn serves one connection, which it owns, and returns when the connection has
// ended. Only Close waits for processes that outlive their connection.
func (s *Server) ServeConn(nc net.Conn) {
	if g := s.addConn(nc); g != nil {
		s.serve(g)
	}
}

// addConn registers nc and counts its goroutine, or closes it and returns nil if the
// server is closed.
func (s *Server) addConn(nc net.Conn) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return nil
	}
	g := newGate(nc)
	s.conns[g] = struct{}{}
	s.wg.Add(1)
	s.stats.accepted()
	return g
}

// removeConn closes g and undoes addConn.
func (s *Server) removeConn(g *gate) {
	g.Close()
	s.mu.Lock()
	delete(s.conns, g)
	s.mu.Unlock()
	s.wg.Done()
}

// Close closes every connection, kills every process, and waits until all goroutines and
// processes have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	// With closed set, no connection or listener can be added after this loop.
	s.closed = true
	s.cancel()
	for l := range s.listeners {
		l.Close()
	}
	for g := range s.conns {
		g.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// DropConnections closes all connections abruptly: over TCP the clients get a reset. The
// server keeps accepting.
func (s *Server) DropConnections() { s.eachConn((*gate).reset) }

// FreezeConnections freezes all present connections: they stay connected but transfer no
// byte.
func (s *Server) FreezeConnections() { s.eachConn((*gate).freeze) }

// eachConn calls do for each connection.
func (s *Server) eachConn(do func(*gate)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.conns {
		do(g)
	}
}

// SetFaults replaces Config.Faults for all later connections, channels and requests.
func (s *Server) SetFaults(f Faults) { s.faults.Store(&f) }

// Addr returns the host:port of the first listener, or "".
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == nil {
		return ""
	}
	return s.address.String()
}

// Port returns the port in Addr, or 0.
func (s *Server) Port() int {
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

// HostKey returns the first host key.
func (s *Server) HostKey() ssh.PublicKey { return s.config.HostKeys[0].PublicKey() }

// KnownHostsLine returns the line of a known_hosts file, without a line end, that makes
// clients trust HostKey at Addr (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
func (s *Server) KnownHostsLine() string {
	return knownhosts.Line([]string{s.Addr()}, s.HostKey())
}
