package sshserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/bufpipe"
)

func TestMaxSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, MaxSessions: 2, Handler: echo})
		client := connect(t, s)
		first := openSession(t, client)
		openSession(t, client)
		_, err := client.NewSession()
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason != ssh.ConnectionFailed || refused.Message != "open failed" {
			t.Errorf("third session: %v", err)
		}
		openSession(t, connect(t, s)) // another connection has its own limit
		first.Close()
		synctest.Wait()
		openSession(t, client)
	})
}

func TestUnknownRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo})
		client := connect(t, s)
		if ok, _, err := client.SendRequest("tcpip-forward", true, nil); ok || err != nil {
			t.Errorf("tcpip-forward: %v, %v", ok, err)
		}
		_, _, err := client.OpenChannel("x11", nil)
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason != ssh.UnknownChannelType {
			t.Errorf("x11: %v", err)
		}
		session := openSession(t, client)
		for _, name := range []string{"subsystem", "auth-agent-req@openssh.com", "x11-req"} {
			if ok, err := session.SendRequest(name, true, nil); ok || err != nil {
				t.Errorf("%s: %v, %v", name, ok, err)
			}
		}
	})
}

// TestMalformedRequests sends payloads that do not parse, or that come at the wrong time.
func TestMalformedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, AllowForward: true, Handler: untilClosed})
		client := connect(t, s)
		if _, _, err := client.OpenChannel("direct-tcpip", []byte{0, 0, 0, 9, 'x'}); err == nil {
			t.Error("direct-tcpip was accepted")
		}
		if _, _, err := client.OpenChannel("direct-tcpip", ssh.Marshal(struct {
			Host string
			Port uint32
			From string
			P    uint32
		}{"h", 65536, "", 0})); err == nil {
			t.Error("port 65536 was accepted")
		}
		session := openSession(t, client)
		for _, name := range []string{"pty-req", "env", "exec", "window-change", "signal", "break"} {
			for _, payload := range []string{"", "\xff\xff\xff\xff", "\x00\x00\x00\x01", "\x00\x00\x00\x01x\xff"} {
				if name == "exec" && payload == "" {
					continue
				}
				if ok, err := session.SendRequest(name, true, []byte(payload)); ok || err != nil {
					t.Errorf("%s %q: %v, %v", name, payload, ok, err)
				}
			}
		}
		if err := session.Start("x"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"shell", "exec", "pty-req", "env"} {
			if ok, err := session.SendRequest(name, true, ssh.Marshal(struct{ A, B string }{"LANG", "C"})); ok || err != nil {
				t.Errorf("%s after exec: %v, %v", name, ok, err)
			}
		}
	})
}

// TestUndrainedHandler: signals and window changes that a Handler ignores must not stop
// the connection.
func TestUndrainedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: untilClosed})
		client := connect(t, s)
		session := openSession(t, client)
		session.RequestPty("xterm", 24, 80, nil)
		if err := session.Shell(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			session.Signal(ssh.SIGINT)
			session.WindowChange(i, i)
		}
		if _, err := keepalive(client); err != nil {
			t.Error(err)
		}
	})
}

// TestBreak: a break must reach the Handler with its length, but only on a terminal.
func TestBreak(t *testing.T) {
	for _, pty := range []bool{true, false} {
		for _, refuse := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan time.Duration, 1)
				s := newServer(
					t,
					Config{NoAuth: true, Faults: Faults{RefuseBreak: refuse}, Handler: func(ctx context.Context, r *Request) Exit {
						select {
						case d := <-r.Breaks:
							got <- d
						case <-ctx.Done():
						}
						return Exit{}
					}},
				)
				session := openSession(t, connect(t, s))
				if pty {
					session.RequestPty("xterm", 24, 80, nil)
				}
				if err := session.Shell(); err != nil {
					t.Fatal(err)
				}
				ok, err := session.SendRequest("break", true, ssh.Marshal(struct{ Milliseconds uint32 }{700}))
				if want := pty && !refuse; ok != want || err != nil {
					t.Fatalf("pty %v, refuse %v: %v, %v", pty, refuse, ok, err)
				}
				if ok && <-got != 700*time.Millisecond {
					t.Error("the length was lost")
				}
			})
		}
	}
}

// TestForward relays through direct-tcpip, with half-close, to a target in memory.
func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := bufpipe.Listen("inner:22", 0)
		defer target.Close()
		var asked string
		s := newServer(
			t,
			Config{
				NoAuth:       true,
				AllowForward: true,
				Handler:      echo,
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					asked = network + " " + address
					return target.DialContext(ctx, network, address)
				},
			},
		)
		go func() {
			conn, err := target.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			request, _ := io.ReadAll(conn)
			fmt.Fprintf(conn, "got %s", request)
			conn.Close()
		}()
		conn, err := connect(t, s).Dial("tcp", "inner:22")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "hello")
		if n := s.Stats().Forwards; n != 1 {
			t.Errorf("Forwards = %d", n)
		}
		conn.(interface{ CloseWrite() error }).CloseWrite()
		if reply, err := io.ReadAll(conn); string(reply) != "got hello" || err != nil || asked != "tcp inner:22" {
			t.Errorf("reply %q, %v to %q", reply, err, asked)
		}
		conn.Close()
		synctest.Wait()
		if n := s.Stats().Forwards; n != 0 {
			t.Errorf("Forwards = %d", n)
		}
	})
}

// TestForwardEndsWithItsChannel: closing the channel must close the target, even if the
// target never ends itself.
func TestForwardEndsWithItsChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		s := newServer(
			t,
			Config{
				NoAuth:       true,
				AllowForward: true,
				Handler:      echo,
				Dial:         func(context.Context, string, string) (net.Conn, error) { return near, nil },
			},
		)
		conn, err := connect(t, s).Dial("tcp", "x:1")
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if _, err := io.ReadAll(far); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := far.Write([]byte("x")); err == nil {
			t.Error("the target is still open")
		}
	})
}

func TestForwardRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		allow   bool
		dialErr error
		reason  ssh.RejectionReason
		message string
	}{
		{"not allowed", false, nil, ssh.Prohibited, "open failed"},
		{"refused", true, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ssh.ConnectionFailed, "refused"},
		{"timeout", true, context.DeadlineExceeded, ssh.ConnectionFailed, "timed out"},
		{"other", true, errors.New("x"), ssh.ConnectionFailed, "failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(
					t,
					Config{
						NoAuth:       true,
						AllowForward: tc.allow,
						Handler:      echo,
						Dial:         func(context.Context, string, string) (net.Conn, error) { return nil, tc.dialErr },
					},
				)
				_, err := connect(t, s).Dial("tcp", "x:1")
				var refused *ssh.OpenChannelError
				if !errors.As(err, &refused) || refused.Reason != tc.reason || !strings.Contains(refused.Message, tc.message) {
					t.Errorf("Dial: %v", err)
				}
			})
		})
	}
}

// TestForwardTimeout: the connection to a target that does not answer must time out.
func TestForwardTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := bufpipe.Listen("silent:22", 0) // without Accept
		s := newServer(t, Config{NoAuth: true, AllowForward: true, Handler: echo, Dial: target.DialContext})
		start := time.Now()
		if _, err := connect(t, s).Dial("tcp", "silent:22"); err == nil || time.Since(start) != forwardDialTimeout {
			t.Errorf("Dial: %v after %v", err, time.Since(start))
		}
	})
}

func TestDecodeModes(t *testing.T) {
	for _, tc := range []struct {
		encoded string
		want    string
	}{
		{"", "map[]"},
		{"\x00", "map[]"},
		{"\x35\x00\x00\x00\x00\x03\x00\x00\x00\x7f\x00", "map[3:127 53:0]"},
		{"\x35\x00\x00\x00\x01\x00\x03\x00\x00\x00\x7f", "map[53:1]"}, // after the end
		{"\x35\x00\x00\x00\x01\xa0\x00\x00\x00\x7f\x00", "map[53:1]"}, // unknown length
		{"\x35\x00\x00", "map[]"}, // cut
	} {
		if got := fmt.Sprint(decodeModes(tc.encoded)); got != tc.want {
			t.Errorf("decodeModes(%q) = %s, want %s", tc.encoded, got, tc.want)
		}
	}
}

func FuzzDecodeModes(f *testing.F) {
	f.Add("\x35\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, encoded string) {
		if got := len(decodeModes(encoded)); got > len(encoded)/5 {
			t.Errorf("%d modes from %d bytes", got, len(encoded))
		}
	})
}
