package sshx_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// closedWhileStuck checks that Close wakes a blocked Write and Read, and is quick
// itself.
func closedWhileStuck(t *testing.T, tr term.Transport) {
	t.Helper()
	wrote, read := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := tr.Write(make([]byte, 8<<20))
		wrote <- err
	}()
	go func() {
		_, err := tr.Read(make([]byte, 4<<10))
		read <- err
	}()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	_ = tr.Close()
	if took := time.Since(start); took >= time.Second {
		t.Errorf("Close took %v", took)
	}
	for what, ended := range map[string]chan error{"Write": wrote, "Read": read} {
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s succeeded", what)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s is still stuck", what)
		}
	}
}

func TestCloseFrozen(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) { // the window is full
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		srv.FreezeConnections()
		closedWhileStuck(t, sh)
	})
	t.Run("the connection is full", func(t *testing.T) { // see TestCloseOverFrozenJumpHost
		l := sshtest.New(t)
		l.Limit = 16 << 10
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		srv.FreezeConnections()
		closedWhileStuck(t, sh)
	})
}

// TestShellRequests checks the requests for a login shell.
func TestShellRequests(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		pty          term.PTY
		command      string
		env          []string
		want         *sshserver.PTY
	}{
		{"defaults", "", term.PTY{}, "", nil, &sshserver.PTY{Term: "xterm-256color", Window: sshserver.Window{Cols: 120, Rows: 40}}},
		{"size", "", term.PTY{Term: "vt100", Cols: 80, Rows: 24}, "", nil, &sshserver.PTY{Term: "vt100", Window: sshserver.Window{Cols: 80, Rows: 24}}},
		{"no pty", "", term.PTY{Disabled: true}, "", nil, nil},
		{"RequestTTY no", "RequestTTY no\n", term.PTY{}, "", nil, nil},
		{"RemoteCommand", "RemoteCommand top -b\n", term.PTY{}, "top -b", nil, &sshserver.PTY{Term: "xterm-256color", Window: sshserver.Window{Cols: 120, Rows: 40}}},
		{"SetEnv", "SetEnv LC_A=1 LANG=\"x y\" PATH=/evil\n", term.PTY{Disabled: true}, "", []string{"LC_A=1", "LANG=x y"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Config(tc.config)
				got := make(chan sshserver.Request, 1)
				l.Server(sshtest.Addr1, sshserver.Config{Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
					got <- *r
					<-ctx.Done()
					return sshserver.Exit{}
				}})
				target := sshtest.To(sshtest.Host1, "")
				target.PTY = tc.pty
				sh := l.Open(target)
				r := <-got
				if r.Command != tc.command || r.Shell != (tc.command == "") || !slices.Equal(r.Env, tc.env) ||
					(r.PTY == nil) != (tc.want == nil) ||
					sh.Describe().PTY != (tc.want != nil) {
					t.Fatalf("request = %+v, want command %q, environment %q and pty %+v", r, tc.command, tc.env, tc.want)
				}
				if r.PTY != nil && (r.PTY.Term != tc.want.Term || r.PTY.Window != tc.want.Window) {
					t.Errorf("pty %+v", r.PTY)
				}
			})
		})
	}
}

// TestShellControls checks resize and signal, with a pty and without one, allowed
// and refused.
func TestShellControls(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		windows, signals := make(chan sshserver.Window, 1), make(chan ssh.Signal, 1)
		srv := l.Server(sshtest.Addr1,
			sshserver.Config{Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
				for {
					select {
					case w := <-r.Windows:
						windows <- w
					case s := <-r.Signals:
						signals <- s
					case <-ctx.Done():
						return sshserver.Exit{}
					}
				}
			}})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		if err := sh.Resize(200, 50); err != nil || <-windows != (sshserver.Window{Cols: 200, Rows: 50}) {
			t.Errorf("Resize: %v", err)
		}
		if err := sh.Signal(t.Context(), "TERM"); err != nil || <-signals != ssh.SIGTERM {
			t.Errorf("Signal: %v", err)
		}
		srv.SetFaults(sshserver.Faults{RefuseSignals: true})
		if err := sh.Signal(t.Context(), "TERM"); term.KindOf(err) != term.Unsupported {
			t.Errorf("Signal: %v", err)
		}
		target := sshtest.To(sshtest.Host1, "")
		target.PTY.Disabled = true
		if err := l.Open(target).Resize(1, 1); term.KindOf(err) != term.Unsupported {
			t.Errorf("Resize without a pty: %v", err)
		}
	})
}

// TestMergedOutput checks that a shell without a pty returns both streams in
// order, including the last data before the connection is lost.
func TestMergedOutput(t *testing.T) {
	for _, lost := range []bool{false, true} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			var srv *sshserver.Server
			srv = l.Server(sshtest.Addr1,
				sshserver.Config{Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
					for _, w := range []io.Writer{r.Stdout, r.Stderr, r.Stdout, r.Stderr} {
						_, _ = io.WriteString(w, map[bool]string{true: "o", false: "e"}[w == r.Stdout]+strings.Repeat(".", 9000))
						time.Sleep(time.Millisecond)
					}
					if lost {
						srv.DropConnections()
					}
					return sshserver.Exit{Status: 3}
				}})
			target := sshtest.To(sshtest.Host1, "")
			target.PTY.Disabled = true
			sh := l.Open(target)
			time.Sleep(time.Second) // the data comes before the first Read
			out, err := io.ReadAll(sh)
			if got := strings.ReplaceAll(string(out), ".", ""); len(out) != 4*9001 || err != nil {
				t.Errorf("lost %v: %q, %d bytes, %v", lost, got, len(out), err)
			}
			if e, err := sh.Wait(); lost != (term.KindOf(err) == term.RemoteClosed) || !lost && e.Code != 3 {
				t.Errorf("Wait: %+v, %v", e, err)
			}
		})
	}
}

// TestShellVerdict checks the result of Wait for each way in which a shell ends.
func TestShellVerdict(t *testing.T) {
	for _, tc := range []struct {
		name   string
		exit   sshserver.Exit
		faults sshserver.Faults
		drop   bool
		want   term.Exit
		kind   term.Kind
	}{
		{name: "status", exit: sshserver.Exit{Status: 7}, want: term.Exit{Known: true, Code: 7}},
		{name: "signal", exit: sshserver.Exit{Signal: "HUP"}, want: term.Exit{Known: true, Code: 129, Signal: "HUP"}},
		{name: "none", faults: sshserver.Faults{NoExitStatus: true}},
		{name: "lost", drop: true, kind: term.RemoteClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				var srv *sshserver.Server
				srv = l.Server(
					sshtest.Addr1,
					sshserver.Config{Faults: tc.faults, Handler: func(context.Context, *sshserver.Request) sshserver.Exit {
						if tc.drop {
							srv.DropConnections()
						}
						return tc.exit
					}},
				)
				sh := l.Open(sshtest.To(sshtest.Host1, ""))
				_, _ = io.ReadAll(sh)
				if e, err := sh.Wait(); e != tc.want || term.KindOf(err) != tc.kind {
					t.Errorf("%+v, %v", e, err)
				}
			})
		})
	}
}

// TestCloseHangsUp checks that Close ends the shell at the server and leaves
// nothing open there.
func TestCloseHangsUp(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		if _, err := sh.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4<<10)
		if n, err := sh.Read(p); err != nil || string(p[:n]) != "hello" {
			t.Errorf("%q, %v", p[:n], err)
		}
		_ = sh.Close()
		_ = sh.Close()
		synctest.Wait()
		if n := srv.Stats(); n.Open != 0 || n.SessionsOpen != 0 {
			t.Errorf("Stats after Close = %+v, want no open connection and no session", n)
		}
	})
}

// TestKeepalive checks that a silent server is given up after the keepalives, and
// that a server with any kind of answer is not.
func TestKeepalive(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.KeepaliveInterval, l.Opts.KeepaliveCountMax = 10*time.Second, 3
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		start := time.Now()
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		sh, err := c.Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Since(start) + time.Second)
		if err := c.Lost(); err != nil {
			t.Fatalf("lost, although it answers: %v", err)
		}
		srv.FreezeConnections()
		start = time.Now() // the next question comes within one interval, and three more must pass; each may be a sixth late
		_, _ = io.ReadAll(sh)
		if took, least, most := time.Since(start), 30*time.Second, 4*(10*time.Second+10*time.Second/6); took < least ||
			took > most {
			t.Errorf("lost after %v, want %v to %v", took, least, most)
		}
		if _, err := sh.Wait(); term.KindOf(err) != term.RemoteClosed ||
			!strings.Contains(err.Error(), "30s (3 keepalives)") {
			t.Errorf("Wait: %v", err)
		}
		_ = srv.Close()
	})
}

// TestRekey checks that a later key exchange does not ask or record a second
// time.
func TestRekey(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.HostKeyPolicy = "ask"
		l.Config("RekeyLimit 64K\n")
		l.Unrecorded(sshtest.Addr1, sshserver.Config{})
		p := sshtest.Answering("yes")
		c := l.Client(sshtest.To(sshtest.Host1, ""), p)
		in := strings.Repeat("0123456789abcdef", 64<<10)
		if out, _, _ := sshtest.Run(t, c, term.ExecRequest{Command: "cat", Stdin: []byte(in)}); out != in {
			t.Errorf("%d bytes came back", len(out))
		}
		if len(p.Asked) != 1 {
			t.Errorf("asked %d times", len(p.Asked))
		}
	})
}
