package mux_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// parallel runs n commands at once and returns the number of failures and the
// last error.
func parallel(t *testing.T, c *sshx.Client, n int, command string) (failed int, last error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := c.Exec(t.Context(), term.ExecRequest{Command: command}, io.Discard, io.Discard); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed, last = failed+1, err
			}
		})
	}
	wg.Wait()
	return failed, last
}

// TestMaxSessions runs more commands at once than a server allows on a
// connection, in addition to a shell.
func TestMaxSessions(t *testing.T) {
	for _, sessions := range []int{1, 2, 10} {
		for _, connections := range []int{2, 4} {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Opts.MaxConnectionsPerHost = connections
				srv := l.Server(sshtest.Addr1,
					sshserver.Config{MaxSessions: sessions, Passwords: map[string]string{"u": "pass-1138"}})
				c := l.Client(sshtest.To(sshtest.Host1, "pass-1138"), nil)
				if _, err := c.Shell(t.Context(), term.PTY{}); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if failed, err := parallel(t, c, 20, "sleep 300ms"); failed != 0 {
						t.Errorf("MaxSessions %d, %d connections: %d failed: %v", sessions, connections, failed, err)
					}
				}
				if n := srv.Stats().Accepted; n > connections {
					t.Errorf("MaxSessions %d: %d connections, allowed are %d", sessions, n, connections)
				}
				_ = c.Close()
				synctest.Wait()
				if n := srv.Stats().Open; n != 0 {
					t.Errorf("%d connections left", n)
				}
			})
		}
	}
}

// TestNoFurtherConnection checks that a command does not make a person log in
// again.
func TestNoFurtherConnection(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{MaxSessions: 1, Passwords: map[string]string{"u": "pass-1138"}})
		p := sshtest.Answering("pass-1138")
		c := l.Client(sshtest.To(sshtest.Host1, ""), p)
		sh, err := c.Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = c.Exec(t.Context(), term.ExecRequest{Command: "echo x"}, io.Discard, io.Discard)
		if term.KindOf(err) != term.LimitExceeded || time.Since(start) > time.Second || srv.Stats().Accepted != 1 ||
			len(p.Asked) != 1 {
			t.Errorf("%v after %v; %d connections, asked %d times", err, time.Since(start), srv.Stats().Accepted, len(p.Asked))
		}
		_ = sh.Close() // its slot becomes free
		sshtest.Run(t, c, term.ExecRequest{Command: "echo x"})
	})
}

// TestOrphanIsForgotten checks that a slot becomes free again after a command
// outlived its channel.
func TestOrphanIsForgotten(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.MaxConnectionsPerHost = 1
		l.Server(
			sshtest.Addr1,
			sshserver.Config{MaxSessions: 1, Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
				if r.Command == "orphan" {
					r.SendExit(sshserver.Exit{})
					<-ctx.Done()
					time.Sleep(100 * time.Millisecond)
				}
				return sshserver.Exit{}
			}},
		)
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		for range 3 {
			sshtest.Run(t, c, term.ExecRequest{Command: "orphan"})
			sshtest.Run(t, c, term.ExecRequest{Command: "x"})
		}
	})
}

// TestChannelAhead checks that the second command finds an open channel, that the
// channel is closed after a minute, and that a shell gets it if there is no other
// slot.
func TestChannelAhead(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{MaxSessions: 1})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		check := func(when string, ever, open int) {
			t.Helper()
			synctest.Wait()
			if n := srv.Stats(); n.SessionsOpened != ever || n.SessionsOpen != open {
				t.Errorf("%s: %d channels ever, %d open; want %d and %d", when, n.SessionsOpened, n.SessionsOpen, ever, open)
			}
		}
		check("before", 0, 0)
		_ = c.Close()

		srv = l.Server(sshtest.Addr2, sshserver.Config{})
		c = l.Client(sshtest.To("192.0.2.2", ""), nil)
		sshtest.Run(t, c, term.ExecRequest{Command: "echo x"})
		check("after one", 2, 1)
		sshtest.Run(t, c, term.ExecRequest{Command: "echo x"})
		check("after two", 3, 1)
		time.Sleep(59 * time.Second)
		check("a minute less a second later", 3, 1)
		time.Sleep(time.Second)
		check("a minute later", 3, 0)
	})
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{MaxSessions: 2})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		sshtest.Run(t, c, term.ExecRequest{Command: "echo x"})
		synctest.Wait()
		for range 2 {
			if _, err := c.Shell(t.Context(), term.PTY{}); err != nil {
				t.Error(err)
			}
		}
		if n := srv.Stats(); n.SessionsOpen != 2 || n.Accepted != 1 {
			t.Errorf("Stats = %+v, want 2 sessions on 1 connection", n)
		}
	})
}

// TestHandshakesTakeTurns makes forty connections at once to a server that
// refuses more than eight simultaneous handshakes, and every third connection.
func TestHandshakesTakeTurns(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Passwords: map[string]string{"u": "pass-1138"},
				Faults:    sshserver.Faults{DelaySuccess: time.Second},
			},
		)
		var under, most, count atomic.Int32
		l.Peer(sshtest.Addr1, func(c net.Conn) {
			if count.Add(1)%3 == 0 {
				_ = c.Close()
				return
			}
			n := under.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.AfterFunc(time.Second-1, func() { under.Add(-1) }) // just before DelaySuccess is over, and the next begins
			srv.ServeConn(c)
		})
		dial := sshx.Dialer(l.Opts)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				tr, err := dial(t.Context(), sshtest.To(sshtest.Host1, "pass-1138"), nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_ = tr.Close()
			})
		}
		wg.Wait()
		if n := most.Load(); n > 8 || n < 5 {
			t.Errorf("%d handshakes under way at a time, want up to 8", n)
		}
		synctest.Wait()
		if n := srv.Stats().Open; n != 0 {
			t.Errorf("%d connections left", n)
		}
	})
}
