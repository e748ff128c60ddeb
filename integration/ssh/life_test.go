package ssh

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// An sshd that asks whether we are alive is answered, however idle the session is.
func labClientAlive(t *testing.T, l *lab.Namespace) {
	lab.InTime(t, "an idle session that goes on", time.Second, func(d time.Duration) bool {
		config := fmt.Sprintf("ClientAliveInterval %d\nClientAliveCountMax 2", d/time.Second)
		server := l.SSHD(t, lab.ServerConfig{Config: config})
		s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
		if ended(s, 4*d) {
			t.Logf("ClientAliveInterval %v: the idle session has ended: %+v", d, s.Info().End)
			return false
		}
		lab.TypeUntil(t, s, "echo the-$((40+2))\r", `the-42`)
		return true
	})
}

// labOpens opens a session that asks nothing. It returns nil if its keepalives are not answered in time.
func labOpens(t *testing.T, o *lab.Operator, target term.Target) *session.Session {
	t.Helper()
	r, err := o.Open(target)
	if err != nil {
		lab.WantError(t, err, term.RemoteClosed)
		return nil
	}
	return r.Session
}

// labShows types text and returns what the terminal shows up to the match, or nothing if the session ends before that.
func labShows(s *session.Session, text, until string) string {
	if s == nil {
		return ""
	}
	w, err := s.Write(context.Background(), []byte(text), session.WriteOptions{})
	if err != nil {
		return ""
	}
	c := s.Read(context.Background(), session.ReadRequest{
		Cursor: w.Cursor, Until: regexp.MustCompile(until), Timeout: lab.Patience,
	})
	if c.Reason != session.ReasonMatched {
		return ""
	}
	return string(c.Data)
}

// ended reports whether the session has ended after d.
func ended(s *session.Session, d time.Duration) bool {
	select {
	case <-s.Ended():
		return true
	case <-time.After(d):
		return false
	}
}

// A client that does not answer is thrown out, and learns of it when it is back.
func labClientFrozen(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "ClientAliveInterval 1\nClientAliveCountMax 1"})
	wire := newLabWire(t, server.Port)
	o := l.Operator(t)
	o.Knows(lab.KnownHosts(wire.port, server.Keys...))
	target := server.WithKey(l.Users["alice"])
	target.Port = wire.port
	s := o.MustOpen(target)
	lab.TypeUntil(t, s, "echo the-$((40+2))\r", `the-42`)

	thaw := wire.freeze()
	defer thaw()
	server.Log.Wait(t, `Timeout, client not responding`)
	thaw()
	end := lab.WantEnd(t, s)
	lab.WantError(t, end.Err, term.RemoteClosed)
	_, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{})
	lab.WantError(t, err, term.AlreadyClosed)
}

// sshd closes an idle channel; the connection must stay open.
func labChannelTimeout(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "ChannelTimeout session:*=1"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	end := lab.WantEnd(t, s)
	if end.Reason == "" {
		t.Error("the session ended without a reason")
	}
}

// labSessionProcesses returns the pids of the two sshd processes that serve the terminal's connection.
func labSessionProcesses(t *testing.T, l *lab.Namespace, s *session.Session) string {
	t.Helper()
	return labParents(t, l, lab.TypeUntil(t, s, askParent, shownParent))
}

// A shell that is sent askParent shows shownParent.
const askParent, shownParent = "echo parent-$PPID-\r", `parent-\d+-`

// labParents returns the processes of a connection whose terminal has shown shownParent.
func labParents(t *testing.T, l *lab.Namespace, shown string) string {
	t.Helper()
	_, pid, _ := strings.Cut(shown, "parent-")
	for '0' > pid[0] || pid[0] > '9' { // the echo of the typed line
		_, pid, _ = strings.Cut(pid, "parent-")
	}
	pid, _, _ = strings.Cut(pid, "-")
	return l.Run(t, "echo "+pid+" $(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/"+pid+"/stat)")
}

func labServerFrozen(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	lab.InTime(t, "a server that answers beside a frozen one", 300*time.Millisecond, func(d time.Duration) bool {
		o := l.Operator(t, server)
		o.Options.KeepaliveInterval, o.Options.KeepaliveCountMax = d, 2
		s, other := labOpens(t, o, server.WithKey(l.Users["alice"])), labOpens(t, o, server.WithKey(l.Users["bob"]))
		shown := labShows(s, askParent, shownParent)
		if shown == "" || other == nil {
			t.Logf("keepalives every %v: a session has ended before the server froze", d)
			return false
		}
		pids := labParents(t, l, shown)
		began := time.Now()
		l.Run(t, "kill -STOP "+pids)
		t.Cleanup(func() { l.Run(t, "kill -KILL "+pids+" || true") })
		end := lab.WantEnd(t, s)
		if e := lab.WantError(t, end.Err, term.RemoteClosed); !strings.Contains(e.Message(), "not answered") {
			t.Errorf("the reason does not say that the server did not answer: %s", e.Message())
		}
		if took := time.Since(began); took < 2*d { // or one was not answered in time before that
			t.Logf("keepalives every %v: given up after %s, before two could have been answered", d, took)
			return false
		}
		if labShows(other, "echo the-$((40+2))\r", `the-42`) == "" {
			t.Logf("keepalives every %v: the other session has ended: %+v", d, other.Info().End)
			return false
		}
		return true
	})
}

func labServerKilled(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	o := l.Operator(t, server)
	s := o.MustOpen(server.WithKey(l.Users["alice"]))
	pids := labSessionProcesses(t, l, s)
	running := make(chan error, 1)
	go func() {
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "echo begun; exec sleep 4321.4", Lane: session.LaneChannel},
		)
		if err == nil && r.ExitReason != "connection_lost" {
			t.Errorf("the command that was running ended with %+v (%s)", r.Exit, r.ExitReason)
		}
		running <- err
	}()
	orphan := l.WantRunning(t, "sleep 4321.4")
	l.Run(t, "kill -KILL "+pids+" || true") // one may end with another
	end := lab.WantEnd(t, s)
	lab.WantError(t, end.Err, term.RemoteClosed)
	if err := <-running; err != nil {
		lab.WantError(t, err, term.RemoteClosed)
	}
	l.Run(t, "kill "+orphan) // the server does not
	lab.WantExec(t, o.MustOpen(server.WithKey(l.Users["alice"])), "echo back", "back\n", 0)
}

// A labWire is a TCP connection that can be frozen.
type labWire struct {
	port int

	mu   sync.Mutex // guards the following
	pass chan struct{}
}

// newLabWire makes a way to a port on this host.
func newLabWire(t *testing.T, port int) *labWire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &labWire{port: listener.Addr().(*net.TCPAddr).Port, pass: make(chan struct{})}
	close(w.pass)
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
			if err != nil {
				_ = near.Close()
				continue
			}
			carrying.Go(func() { w.carry(near, far) })
			carrying.Go(func() { w.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		carrying.Wait()
	})
	return w
}

func (w *labWire) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		pass := w.pass
		w.mu.Unlock()
		<-pass
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// freeze holds back everything until thaw is called, which may be called again.
func (w *labWire) freeze() (thaw func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pass := make(chan struct{})
	w.pass = pass
	return sync.OnceFunc(func() { close(pass) })
}
