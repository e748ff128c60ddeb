package sshserver

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/bufpipe"
)

// TestGreetingFaults checks the data that a client receives before the SSH protocol.
func TestGreetingFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults Faults
		want   string
		ends   bool
	}{
		{"silent", Faults{SilentAfterAccept: true}, "", false},
		{"not SSH", Faults{PreBanner: []string{"HTTP/1.1 400 Bad Request", ""}, SilentAfterAccept: true}, "HTTP/1.1 400 Bad Request\r\n\r\n", false},
		{"stalled", Faults{PreBanner: []string{"Welcome"}, StallBanner: true}, "Welcome\r\nSSH-2.0-Go\r\n", false},
		{"MaxStartups", Faults{PreBanner: []string{"Exceeded MaxStartups"}, CloseAfterAccept: true}, "Exceeded MaxStartups\r\n", true},
		{"closed", Faults{CloseAfterAccept: true}, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{NoAuth: true, Handler: echo, Faults: tc.faults})
				conn := pipeTo(t, s)
				io.WriteString(conn, "SSH-2.0-Client\r\n") // fails if the server has already closed
				conn.SetReadDeadline(time.Now().Add(time.Hour))
				got, err := io.ReadAll(conn)
				if string(got) != tc.want || (err == nil) != tc.ends {
					t.Errorf("read %q, %v; want %q, ends %v", got, err, tc.want, tc.ends)
				}
			})
		})
	}
}

// TestPreBannerThenSSH: lines before the identification string must not prevent a login.
func TestPreBannerThenSSH(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo, Faults: Faults{PreBanner: []string{"one", "two"}}})
		connect(t, s)
	})
}

func TestDelaySuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(
			t,
			Config{
				Passwords: map[string]string{"demo": "secret"},
				Handler:   echo,
				Faults:    Faults{DelaySuccess: 10 * time.Second},
			},
		)
		start := time.Now()
		if _, err := login(t, s, clientConfig(s, ssh.Password("wrong"))); err == nil || time.Since(start) != 0 {
			t.Errorf("failure: %v after %v", err, time.Since(start))
		}
		if _, err := login(t, s, clientConfig(s, ssh.Password("secret"))); err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("success: %v after %v", err, time.Since(start))
		}
	})
}

// keepalive asks the server for an answer, and returns it.
func keepalive(client *ssh.Client) (bool, error) {
	ok, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
	return ok, err
}

// TestFrozen checks both ways to freeze, and that Close still ends such a connection.
func TestFrozen(t *testing.T) {
	for _, afterAuth := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, Config{NoAuth: true, Handler: echo, Faults: Faults{FreezeAfterAuth: afterAuth}})
			client := connect(t, s)
			if !afterAuth {
				if ok, err := keepalive(client); ok || err != nil {
					t.Errorf("keepalive: %v, %v; want false", ok, err)
				}
				s.FreezeConnections()
			}
			var err error
			done := mustHang(t, "keepalive", func() { _, err = keepalive(client) })
			if s.Stats().Open != 1 {
				t.Error("a frozen connection is not open")
			}
			s.Close()
			<-done
			if err == nil {
				t.Error("keepalive was answered after Close")
			}
		})
	}
}

// TestFreezeDuringRead: data after the freeze must not be read, even by a Read that was
// waiting before it.
func TestFreezeDuringRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		g := newGate(near)
		var n int
		done := mustHang(t, "Read", func() {
			time.AfterFunc(time.Second, g.freeze)
			time.AfterFunc(2*time.Second, func() { far.Write([]byte("x")) })
			n, _ = g.Read(make([]byte, 1))
		})
		g.Close()
		<-done
		if n != 0 {
			t.Error("Read returned data after the freeze")
		}
	})
}

func TestDropConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo})
		client := connect(t, s)
		s.DropConnections()
		if err := client.Wait(); err == nil {
			t.Error("Wait returned nil")
		}
		connect(t, s)
	})
}

// TestRequestFaults checks each fault of a channel, and that the same request is answered
// without it.
func TestRequestFaults(t *testing.T) {
	refused := func(err error) bool { return err != nil }
	for _, tc := range []struct {
		name   string
		faults Faults
		do     func(*ssh.Session) error
		wrong  func(error) bool // holds with the fault, and not without
	}{
		{"RefusePTY", Faults{RefusePTY: true}, func(s *ssh.Session) error { return s.RequestPty("xterm", 24, 80, nil) }, refused},
		{"RefuseExec", Faults{RefuseExec: true}, func(s *ssh.Session) error { return s.Start("x") }, refused},
		{"NoExitStatus", Faults{NoExitStatus: true}, func(s *ssh.Session) error { return s.Run("x") }, func(err error) bool {
			var missing *ssh.ExitMissingError
			return errors.As(err, &missing)
		}},
	} {
		for _, faulty := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{NoAuth: true, Handler: echo})
				if faulty {
					s.SetFaults(tc.faults)
				}
				if err := tc.do(openSession(t, connect(t, s))); tc.wrong(err) != faulty {
					t.Errorf("%s %v: got %v", tc.name, faulty, err)
				}
			})
		}
	}
}

func TestRefuseSignals(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, Config{NoAuth: true, Handler: untilClosed, Faults: Faults{RefuseSignals: faulty}})
			session := openSession(t, connect(t, s))
			if err := session.Start("x"); err != nil {
				t.Fatal(err)
			}
			ok, err := session.SendRequest("signal", true, ssh.Marshal(struct{ Name string }{"TERM"}))
			if ok == faulty || err != nil {
				t.Errorf("faulty %v: signal = %v, %v", faulty, ok, err)
			}
		})
	}
}

// TestHangingFaults checks the requests that are never answered, and that the rest of the
// connection works.
func TestHangingFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults Faults
		do     func(*ssh.Client) error
		lives  bool // keepalive is still answered
	}{
		{"IgnoreGlobalRequests", Faults{IgnoreGlobalRequests: true}, func(c *ssh.Client) error { _, err := keepalive(c); return err }, false},
		{"HangChannelOpen", Faults{HangChannelOpen: true}, func(c *ssh.Client) error { _, err := c.NewSession(); return err }, true},
		{"HangExecReply", Faults{HangExecReply: true}, func(c *ssh.Client) error {
			session, err := c.NewSession()
			if err != nil {
				return err
			}
			return session.Start("x")
		}, true},
		{"StatusWithoutClose", Faults{StatusWithoutClose: true}, func(c *ssh.Client) error {
			session, err := c.NewSession()
			if err != nil {
				return err
			}
			return session.Run("x")
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{NoAuth: true, Handler: echo, Faults: tc.faults})
				client := connect(t, s)
				done := mustHang(t, tc.name, func() { tc.do(client) })
				if tc.lives {
					if ok, err := keepalive(client); ok || err != nil {
						t.Errorf("keepalive: %v, %v", ok, err)
					}
				}
				client.Close()
				<-done
			})
		})
	}
}

// TestStatusWithoutCloseSendsStatus: the status must be sent although the channel stays
// open.
func TestStatusWithoutCloseSendsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo, Faults: Faults{StatusWithoutClose: true}})
		channel, requests, err := connect(t, s).OpenChannel("session", nil)
		if err != nil {
			t.Fatal(err)
		}
		channel.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{"x"}))
		channel.CloseWrite()
		if r := <-requests; r == nil || r.Type != "exit-status" {
			t.Errorf("request %+v", r)
		}
		channel.Close()
		if r, ok := <-requests; ok {
			t.Errorf("request %+v", r)
		}
		synctest.Wait()
		if n := s.Stats().SessionsOpen; n != 0 {
			t.Errorf("%d sessions open after the client's close", n)
		}
	})
}
