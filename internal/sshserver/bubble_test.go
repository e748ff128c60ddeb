package sshserver

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/bufpipe"
)

// TestVirtualTime runs a client, the server and a command of ten minutes in virtual time.
// The bubble fails the test if a goroutine is left at its end.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: func(ctx context.Context, r *Request) Exit {
			time.Sleep(10 * time.Minute)
			return Exit{Status: 7}
		}})
		session := openSession(t, connect(t, s))
		if err := session.RequestPty("xterm", 24, 80, nil); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := session.Run("sleep 600; exit 7")
		if exitStatus(err) != 7 || time.Since(start) != 10*time.Minute {
			t.Errorf("Run: %v after %v; want status 7 after 10 minutes", err, time.Since(start))
		}
	})
}

// TestCloseEndsHandlers checks that Close waits for a Handler that only its context can
// end.
func TestCloseEndsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		s := newServer(t, Config{NoAuth: true, Handler: func(ctx context.Context, r *Request) Exit {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return Exit{}
		}})
		session := openSession(t, connect(t, s))
		if err := session.Start("x"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.Stats(); n.Open != 1 || n.SessionsOpen != 1 {
			t.Errorf("before Close: %+v", n)
		}
		s.Close()
		s.Close()
		if !ended {
			t.Error("Close returned before the Handler")
		}
		if n := s.Stats(); n.Open != 0 || n.SessionsOpen != 0 || n.SessionsOpened != 1 || n.Accepted != 1 ||
			n.Authenticated != 1 {
			t.Errorf("after Close: %+v", n)
		}
		if _, err := pipeTo(t, s).Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("connection to a closed server: %v", err)
		}
	})
}

// TestRequest checks the Request that a Handler receives.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type seen struct {
			Request
			windows []Window
			signals []ssh.Signal
		}
		got := make(chan seen, 1)
		s := newServer(
			t,
			Config{NoAuth: true, AcceptEnv: []string{"LC_*", "EXACT"}, Handler: func(ctx context.Context, r *Request) Exit {
				saw := seen{Request: *r}
				for len(saw.windows) < 1 || len(saw.signals) < 2 {
					select {
					case w := <-r.Windows:
						saw.windows = append(saw.windows, w)
					case name := <-r.Signals:
						saw.signals = append(saw.signals, name)
					case <-ctx.Done():
						return Exit{}
					}
				}
				got <- saw
				return Exit{}
			}},
		)
		session := openSession(t, connect(t, s))
		for _, env := range []struct {
			name, value string
			accepted    bool
		}{
			{"LC_ALL", "C", true},
			{"EXACT", "1", true},
			{"PATH", "/evil", false},
			{"EXACT2", "1", false},
			{"LC_X=Y", "1", false},
			{"LC_NUL", "a\x00b", false},
		} {
			if err := session.Setenv(env.name, env.value); (err == nil) != env.accepted {
				t.Errorf("Setenv(%q, %q): %v; want accepted %v", env.name, env.value, err, env.accepted)
			}
		}
		if err := session.RequestPty("vt100", 24, 80, ssh.TerminalModes{ssh.ECHO: 0, ssh.VINTR: 4}); err != nil {
			t.Fatal(err)
		}
		if err := session.RequestPty("vt100", 24, 80, nil); err == nil {
			t.Error("a second pty-req was accepted")
		}
		if err := session.Start("do it"); err != nil {
			t.Fatal(err)
		}
		for _, signal := range []ssh.Signal{ssh.SIGINT, "NOSUCH", ssh.SIGTERM} {
			session.Signal(signal)
		}
		session.WindowChange(50, 132)
		r := <-got
		if r.User != "demo" || r.Shell || r.Command != "do it" || !slices.Equal(r.Env, []string{"LC_ALL=C", "EXACT=1"}) {
			t.Errorf("request %+v", r.Request)
		}
		if r.PTY == nil || r.PTY.Term != "vt100" || r.PTY.Window != (Window{80, 24}) || r.PTY.Modes[ssh.VINTR] != 4 {
			t.Errorf("PTY %+v", r.PTY)
		}
		if echo, ok := r.PTY.Modes[ssh.ECHO]; !ok || echo != 0 {
			t.Errorf("mode ECHO = %d, %v", echo, ok)
		}
		if !slices.Equal(r.windows, []Window{{132, 50}}) || !slices.Equal(r.signals, []ssh.Signal{ssh.SIGINT, ssh.SIGTERM}) {
			t.Errorf("windows %v, signals %v", r.windows, r.signals)
		}
	})
}

// TestEndOfChannel records the order of events at the end of a command: early output,
// exit-status, EOF, close.
func TestEndOfChannel(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler Handler
		request string // the one request before EOF
		payload string
		output  string
	}{
		{"status", echo, "exit-status", "\x00\x00\x00\x07", "cmd"},
		{"large status", func(context.Context, *Request) Exit { return Exit{Status: 1<<32 - 1} }, "exit-status", "\xff\xff\xff\xff", ""},
		{
			"signal", func(context.Context, *Request) Exit { return Exit{Signal: ssh.SIGSEGV, CoreDumped: true, Message: "m"} },
			"exit-signal", "\x00\x00\x00\x04SEGV\x01\x00\x00\x00\x01m\x00\x00\x00\x00", "",
		},
		{"early status", func(_ context.Context, r *Request) Exit {
			r.SendExit(Exit{Status: 3})
			time.Sleep(30 * time.Second)
			io.WriteString(r.Stdout, "late")
			return Exit{Status: 9}
		}, "exit-status", "\x00\x00\x00\x03", "late"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{NoAuth: true, Handler: tc.handler})
				channel, requests, err := connect(t, s).OpenChannel("session", nil)
				if err != nil {
					t.Fatal(err)
				}
				if ok, err := channel.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{"cmd"})); !ok || err != nil {
					t.Fatalf("exec: %v, %v", ok, err)
				}
				channel.CloseWrite()
				output, err := io.ReadAll(channel)
				if err != nil || string(output) != tc.output {
					t.Errorf("output %q, %v; want %q", output, err, tc.output)
				}
				r, ok := <-requests
				if !ok || r.Type != tc.request || string(r.Payload) != tc.payload || r.WantReply {
					t.Errorf("request %+v, want %s %q", r, tc.request, tc.payload)
				}
				if r, ok := <-requests; ok {
					t.Errorf("another request: %+v", r)
				}
			})
		})
	}
}

// recorder is a channel that records its end. A client built on x/crypto cannot tell EOF
// from close.
type recorder struct {
	ssh.Channel
	calls []string
}

func (r *recorder) Stderr() io.ReadWriter { return nil }
func (r *recorder) CloseWrite() error     { r.calls = append(r.calls, "eof"); return nil }
func (r *recorder) Close() error          { r.calls = append(r.calls, "close"); return nil }
func (r *recorder) SendRequest(name string, _ bool, _ []byte) (bool, error) {
	r.calls = append(r.calls, name)
	return false, nil
}

func TestOrderAtTheEnd(t *testing.T) {
	s := newServer(t, Config{NoAuth: true, Handler: func(context.Context, *Request) Exit { return Exit{} }})
	var r recorder
	newSession(&connection{server: s}, &r).run(t.Context())
	if want := []string{"exit-status", "eof", "close"}; !slices.Equal(r.calls, want) {
		t.Errorf("%v, want %v", r.calls, want)
	}
}

// TestRekey transfers several times RekeyThreshold.
func TestRekey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(
			t,
			Config{
				NoAuth:  true,
				Handler: echo,
				Transport: ssh.Config{
					RekeyThreshold: 4096,
					Ciphers:        []string{"aes128-ctr"},
					MACs:           []string{"hmac-sha2-256"},
					KeyExchanges:   []string{"curve25519-sha256"},
				},
			},
		)
		client := connect(t, s)
		session := openSession(t, client)
		want := strings.Repeat("0123456789abcdef", 4096)
		session.Stdin = strings.NewReader(want)
		output, err := session.Output("")
		if exitStatus(err) != 7 || string(output) != want {
			t.Errorf("%d bytes, %v", len(output), err)
		}
		if got := s.Stats().StdinBytes; got != int64(len(want)) {
			t.Errorf("StdinBytes = %d, want %d", got, len(want))
		}
		if a := client.Conn.(ssh.AlgorithmsConnMetadata).Algorithms(); a.Read.Cipher != "aes128-ctr" ||
			a.KeyExchange != "curve25519-sha256" {
			t.Errorf("negotiated %+v", a)
		}
	})
}

// TestServe accepts from a listener in memory.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo})
		if s.Addr() != "" || s.Port() != 0 {
			t.Errorf("without a listener: Addr %q, Port %d", s.Addr(), s.Port())
		}
		l := bufpipe.Listen("router1:2222", 0)
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		conn, err := l.DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if s.Addr() != "router1:2222" || s.Port() != 2222 {
			t.Errorf("Addr %q, Port %d", s.Addr(), s.Port())
		}
		if line := s.KnownHostsLine(); !strings.HasPrefix(line, "[router1]:2222 ssh-ed25519 ") {
			t.Errorf("KnownHostsLine = %q", line)
		}
		if _, _, _, err := ssh.NewClientConn(conn, "router1:2222", clientConfig(s)); err != nil {
			t.Error(err)
		}
		go s.Close()
		if err := <-served; err != ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		if err := s.Serve(bufpipe.Listen("x:1", 0)); err != ErrServerClosed {
			t.Errorf("Serve after Close: %v", err)
		}
	})
}
