package sshx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestChain checks a route over three jump hosts, each with its own user,
// credentials and host key. The caller's password must reach the target only.
func TestChain(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		key, pem := sshtest.NewKey(t)
		j1 := l.Server(
			sshtest.Addr1,
			sshserver.Config{
				AuthorizedKeys: []ssh.PublicKey{key.PublicKey()},
				Passwords:      map[string]string{"one": "one-1138"},
				AllowForward:   true,
			},
		)
		j2 := l.Server(sshtest.Addr2, sshserver.Config{Passwords: map[string]string{"two": "pw2-1138"}, AllowForward: true})
		j3 := l.Server(
			sshtest.Addr3,
			sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Password: =pw3-1138"}), AllowForward: true},
		)
		end := l.Server(sshtest.Addr4, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
		l.Config(fmt.Sprintf(`Host 192.0.2.4
  ProxyJump one@192.0.2.1,jump2,three@192.0.2.3
Host 192.0.2.1
  IdentityFile %s
Host jump2
  HostName 192.0.2.2
  User two
  PreferredAuthentications password
`, l.Write("id1", pem)))
		p := sshtest.Answering("pw2-1138", "pw3-1138")
		c := l.Client(sshtest.To("192.0.2.4", "pass-1138"), p)
		if out, _, _ := sshtest.Run(t, c, term.ExecRequest{Command: "echo hi"}); out != "hi\n" {
			t.Errorf("output %q", out)
		}
		if a, b := p.Asked[0], p.Asked[1]; a.Hop != 1 || a.User != "two" || a.Host != "192.0.2.2" ||
			a.Kind != term.PromptPassword ||
			b.Hop != 2 ||
			b.User != "three" ||
			b.Host != "192.0.2.3" ||
			b.Kind != term.PromptChallenge {
			t.Errorf("questions %+v", p.Asked)
		}
		if n := j1.Stats(); n.PasswordsSeen != 0 {
			t.Errorf("the first jump host saw %+v", n)
		}
		if n := j2.Stats(); n.PasswordsSeen != 1 || n.Attempts[sshserver.Attempt{User: "two", Method: "password"}] != 1 {
			t.Errorf("the second jump host saw %+v", n)
		}
		sh, err := c.Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		if hops := sh.Describe().Ladder; len(hops) != 4 || hops[0].User != "one" ||
			hops[3].Address != "via three@192.0.2.3:22" {
			t.Errorf("hops and steps: %+v", hops)
		}
		_ = c.Close()
		synctest.Wait()
		for i, srv := range []*sshserver.Server{j1, j2, j3, end} {
			if n := srv.Stats(); n.Open != 0 || n.Accepted != 1 {
				t.Errorf("host %d: %+v", i, n)
			}
		}
	})
}

// TestPasswordStaysFromJumpHosts checks that a jump host that asks for a password
// does not get the target's.
func TestPasswordStaysFromJumpHosts(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j := l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Passwords:           map[string]string{"u": "pass-1138"},
				KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138"}),
				AllowForward:        true,
			},
		)
		l.Server(sshtest.Addr2, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
		target := sshtest.To("192.0.2.2", "pass-1138")
		target.SSH.ExtraArgs = []string{"-J", "u@192.0.2.1"}
		e := l.Fails(target, nil, term.AuthFailed)
		if term.FactOf[term.ConnectFailure](e).Hop != "u@192.0.2.1:22" ||
			len(term.FactOf[term.ConnectFailure](e).Ladder) != 1 {
			t.Errorf("hop %q, steps %+v", term.FactOf[term.ConnectFailure](e).Hop, term.FactOf[term.ConnectFailure](e).Ladder)
		}
		if n := j.Stats(); n.PasswordsSeen != 0 || sshtest.Attempts(j, "keyboard-interactive") != 0 {
			t.Errorf("the jump host saw %+v", n)
		}
	})
}

// TestWaysThatDoNotWork checks jumps that cannot be made.
func TestWaysThatDoNotWork(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		jump         sshserver.Config
		kind         term.Kind
		says         string
		hop          string
	}{
		{"loop", "Host 192.0.2.2\n ProxyJump 192.0.2.1\nHost 192.0.2.1\n ProxyJump 192.0.2.2\n", sshserver.Config{AllowForward: true}, term.InvalidArgument, "ProxyJump", ""},
		{"no forwarding", "Host 192.0.2.2\n ProxyJump 192.0.2.1\n", sshserver.Config{}, term.ConnectFailed, "may forward", "u@192.0.2.2:22"},
		{"target unreachable", "Host 192.0.2.2\n ProxyJump 192.0.2.1\n HostName 192.0.2.9\n", sshserver.Config{AllowForward: true}, term.ConnectFailed, "connection refused", "u@192.0.2.9:22"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Server(sshtest.Addr1, tc.jump)
				l.Server(sshtest.Addr2, sshserver.Config{})
				l.Config(tc.config)
				e := l.Fails(sshtest.To("192.0.2.2", ""), nil, tc.kind)
				if !strings.Contains(e.Message(), tc.says) {
					t.Errorf("%q lacks %q", e.Message(), tc.says)
				}
				if tc.hop != "" && (term.FactOf[term.ConnectFailure](e).Hop != tc.hop ||
					len(term.FactOf[term.ConnectFailure](e).Ladder) != 2 ||
					sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "tcp!") {
					t.Errorf("hop %q, steps %+v", term.FactOf[term.ConnectFailure](e).Hop, term.FactOf[term.ConnectFailure](e).Ladder)
				}
			})
		})
	}
}

// TestProxyCommandAsJump checks that "ssh -W" becomes a jump, without running a
// program.
func TestProxyCommandAsJump(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j := l.Server("192.0.2.1:2222", sshserver.Config{AllowForward: true})
		l.Server(sshtest.Addr2, sshserver.Config{})
		l.Config("Host 192.0.2.2\n ProxyCommand ssh -q -p 2222 -W %h:%p bob@192.0.2.1\n")
		sshtest.Run(t, l.Client(sshtest.To("192.0.2.2", ""), nil), term.ExecRequest{Command: "exit 0"})
		if n := j.Stats(); n.Forwards != 1 || n.Attempts[sshserver.Attempt{User: "bob", Method: "none"}] != 1 {
			t.Errorf("Stats = %+v, want one forward and one login of bob without a method", n)
		}
	})
}

// TestSharedJumpHost checks that two sessions share the connection to their jump
// host, that the later of them closes it, and that its end is the end of both.
func TestSharedJumpHost(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		l.Server(sshtest.Addr2, sshserver.Config{})
		l.Config("Host 192.0.2.2\n ProxyJump 192.0.2.1\n")
		dial := sshx.Dialer(l.Opts)
		open := func() *sshx.Shell {
			tr, err := dial(t.Context(), sshtest.To("192.0.2.2", ""), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return tr.(*sshx.Shell)
		}
		check := func(when string, accepted, open int) {
			t.Helper()
			synctest.Wait()
			if n := j.Stats(); n.Accepted != accepted || n.Open != open {
				t.Errorf("%s: %d connections ever, %d now; want %d and %d", when, n.Accepted, n.Open, accepted, open)
			}
		}
		a, b := open(), open()
		check("two sessions", 1, 1)
		_ = a.Close()
		check("one closed", 1, 1)
		_ = b.Close()
		check("both closed", 1, 0)
		a, b = open(), open()
		check("two more", 2, 1)
		j.DropConnections()
		for _, sh := range []*sshx.Shell{a, b} {
			_, err := sh.Read(make([]byte, 1))
			if err == nil {
				t.Error("still reads")
			}
			if _, err := sh.Wait(); term.KindOf(err) != term.RemoteClosed {
				t.Errorf("Wait: %v", err)
			}
			_ = sh.Close()
		}
		check("dropped", 2, 0)
		a = open()
		check("anew", 3, 1)
		_ = a.Close()
	})
}

// TestFrozenJumpHost checks that a jump host that stops answering between two
// hops delays a caller only up to the connection's time limit.
func TestFrozenJumpHost(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		l.Server(sshtest.Addr2, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
		l.Config("Host 192.0.2.2\n ProxyJump 192.0.2.1\n")
		start := time.Now()
		target := sshtest.To("192.0.2.2", "")
		target.ConnectTimeout = 5 * time.Second
		e := l.Fails(target, &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) {
			j.FreezeConnections()
			return "pass-1138", nil
		}}, term.ConnectTimeout)
		if took := time.Since(start); took != 5*time.Second || term.FactOf[term.ConnectFailure](e).Hop != "u@192.0.2.2:22" {
			t.Errorf("took %v, hop %q", took, term.FactOf[term.ConnectFailure](e).Hop)
		}
	})
}

// TestCloseOverFrozenJumpHost checks that Close is quick on a frozen connection,
// even during a Write. It takes real time: a goroutine that waits for a mutex of
// the library stops the clock of a bubble.
func TestCloseOverFrozenJumpHost(t *testing.T) {
	l := sshtest.New(t)
	l.Limit = 16 << 10
	j := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
	l.Server(sshtest.Addr2, sshserver.Config{})
	l.Config("Host 192.0.2.2\n ProxyJump 192.0.2.1\n")
	tr, err := sshx.Dialer(l.Opts)(t.Context(), sshtest.To("192.0.2.2", ""), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.FreezeConnections()
	closedWhileStuck(t, tr)
}
