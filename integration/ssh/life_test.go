package ssh

import (
	"net"
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
	server := l.SSHD(t, lab.ServerConfig{Config: "ClientAliveInterval 1\nClientAliveCountMax 2"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	select {
	case <-s.Ended():
		t.Fatalf("the idle session has ended: %+v", s.Info().End)
	case <-time.After(4 * time.Second):
	}
	lab.TypeUntil(t, s, "echo the-$((40+2))\r", `the-42`)
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
	end := lab.WantEnd(t, s, 5*time.Second)
	lab.WantError(t, end.Err, term.RemoteClosed)
	_, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{})
	lab.WantError(t, err, term.AlreadyClosed)
}

// sshd closes an idle channel; the connection must stay open.
func labChannelTimeout(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "ChannelTimeout session:*=1"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	end := lab.WantEnd(t, s, 10*time.Second)
	if end.Reason == "" {
		t.Error("the session ended without a reason")
	}
}

// labSessionProcesses returns the pids of the two sshd processes that serve the terminal's connection.
func labSessionProcesses(t *testing.T, l *lab.Namespace, s *session.Session) string {
	t.Helper()
	shown := lab.TypeUntil(t, s, "echo parent-$PPID-\r", `parent-\d+-`)
	_, pid, _ := strings.Cut(shown, "parent-")
	for '0' > pid[0] || pid[0] > '9' { // the echo of the typed line
		_, pid, _ = strings.Cut(pid, "parent-")
	}
	pid, _, _ = strings.Cut(pid, "-")
	return l.Run(t, "echo "+pid+" $(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/"+pid+"/stat)")
}

func labServerFrozen(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	o := l.Operator(t, server)
	o.Options.KeepaliveInterval, o.Options.KeepaliveCountMax = 300*time.Millisecond, 2
	s := o.MustOpen(server.WithKey(l.Users["alice"]))
	other := o.MustOpen(server.WithKey(l.Users["bob"]))
	pids := labSessionProcesses(t, l, s)
	began := time.Now()
	l.Run(t, "kill -STOP "+pids)
	t.Cleanup(func() { l.Run(t, "kill -KILL "+pids+" || true") })
	end := lab.WantEnd(t, s, 5*time.Second)
	if e := lab.WantError(t, end.Err, term.RemoteClosed); !strings.Contains(e.Message(), "not answered") {
		t.Errorf("the reason does not say that the server did not answer: %s", e.Message())
	}
	if took := time.Since(began); took < 600*time.Millisecond {
		t.Errorf("given up after %s, before two keepalives could have been answered", took)
	}
	lab.TypeUntil(t, other, "echo the-$((40+2))\r", `the-42`)
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
	end := lab.WantEnd(t, s, time.Second)
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
