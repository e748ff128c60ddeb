package sshx_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// say is a peer that reads a line, answers, and closes the connection.
func say(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 256))
		_, _ = io.WriteString(c, text)
		_ = c.Close()
	}
}

// TestConnectFailures checks each kind of failed connection: the error's kind,
// the failed step, the server's words, and the time it took.
func TestConnectFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		faults  sshserver.Faults
		peer    func(net.Conn)
		none    bool // no such host
		kind    term.Kind
		step    string
		after   time.Duration // exact time; -1 for any
		message string        // in the error
		said    string        // in ServerMessage
		dials   int           // 0 means one
	}{
		{name: "dead port", none: true, kind: term.ConnectFailed, step: "tcp!", message: "connection refused"},
		{name: "silent", faults: sshserver.Faults{SilentAfterAccept: true}, kind: term.ConnectTimeout, step: "banner!", after: 7 * time.Second, message: "banner"},
		{name: "silent after some lines", faults: sshserver.Faults{SilentAfterAccept: true, PreBanner: []string{"hold on"}}, kind: term.ConnectTimeout, step: "banner!", after: 7 * time.Second},
		{name: "stalled", faults: sshserver.Faults{StallBanner: true}, kind: term.ConnectTimeout, step: "kex!", after: 7 * time.Second, message: "kex"},
		{name: "turned away", faults: sshserver.Faults{CloseAfterAccept: true, PreBanner: []string{"Exceeded MaxStartups"}}, kind: term.ConnectFailed, step: "banner!", after: 1500 * time.Millisecond, said: "Exceeded MaxStartups", message: "Exceeded MaxStartups", dials: 5},
		{name: "ssh 1", peer: say("SSH-1.5-old\n"), kind: term.ConnectFailed, step: "banner!", message: `"SSH-1.5-old"`},
		{name: "web server", peer: say("HTTP/1.1 400 Bad Request\r\n\r\n"), kind: term.ConnectFailed, step: "banner!", message: "web server", said: "HTTP/1.1 400 Bad Request"},
		{name: "Telnet server", peer: func(c net.Conn) { // it waits for an answer to DO NAWS, WILL ECHO
			_, _ = io.WriteString(c, "\xff\xfd\x1f\xff\xfb\x01")
			_, _ = io.Copy(io.Discard, c)
		}, kind: term.ConnectFailed, step: "banner!", message: "protocol telnet"},
		{name: "not a line", peer: say(strings.Repeat("x", 4096)), kind: term.ConnectFailed, step: "banner!", message: "does not identify"},
		{name: "many lines", peer: say(strings.Repeat(strings.Repeat("x", 39)+"\n", 100)), kind: term.ConnectFailed, step: "banner!", message: "closed the connection", said: strings.Repeat(strings.Repeat("x", 39)+" / ", 30)[:979] + "[... 3074 bytes more]"},
		{name: "endless lines", peer: func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "spam\r\n"); err != nil {
					return
				}
			}
		}, kind: term.ConnectFailed, step: "banner!", after: -1},
		{name: "closed in kex", peer: say("SSH-2.0-x\r\n"), kind: term.ConnectFailed, step: "kex!", message: "key exchange"},
		{name: "garbage in kex", peer: say("SSH-2.0-x\r\n" + strings.Repeat("\x00\x00\x00\x0c\x0a\x14", 40)), kind: term.ConnectFailed, step: "kex!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Limit = 64 << 10
				switch {
				case tc.peer != nil:
					l.Peer(sshtest.Addr1, tc.peer)
				case !tc.none:
					l.Server(sshtest.Addr1, sshserver.Config{Faults: tc.faults})
				}
				start := time.Now()
				target := sshtest.To(sshtest.Host1, "")
				target.ConnectTimeout = 7 * time.Second
				e := l.Fails(target, sshtest.NoPrompter(t), tc.kind)
				if took := time.Since(start); tc.after >= 0 && took != tc.after {
					t.Errorf("took %v, want %v", took, tc.after)
				}
				if !strings.Contains(e.Message(), tc.message) || !strings.Contains(e.Message(), sshtest.Host1) {
					t.Errorf("message %q lacks %q or the host", e.Message(), tc.message)
				}
				if e.Op != "open" || term.FactOf[term.ConnectFailure](e).Hop != "u@192.0.2.1:22" ||
					term.FactOf[term.ConnectFailure](e).ServerMessage != tc.said && tc.said != "" {
					t.Errorf("op %q, hop %q, server message %q", e.Op, term.FactOf[term.ConnectFailure](e).Hop,
						term.FactOf[term.ConnectFailure](e).ServerMessage)
				}
				if got := sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder); got != tc.step {
					t.Errorf("stopped at %s, want %s (%v)", got, tc.step, sshtest.Steps(term.FactOf[term.ConnectFailure](e).Ladder))
				}
				if got := l.Dialled(sshtest.Addr1); got != max(tc.dials, 1) {
					t.Errorf("dialled %d times, want %d", got, max(tc.dials, 1))
				}
			})
		})
	}
}

// TestTurnedAwayThenAccepted checks that a server without room is tried again.
func TestTurnedAwayThenAccepted(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{Faults: sshserver.Faults{CloseAfterAccept: true}})
		time.AfterFunc(500*time.Millisecond, func() { srv.SetFaults(sshserver.Faults{}) })
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		sh, err := c.Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		sshtest.WantSteps(
			t,
			sh.Describe().Ladder,
			"dns",
			"tcp",
			"banner!",
			"dns",
			"tcp",
			"banner!",
			"dns",
			"tcp",
			"banner!",
			"dns",
			"tcp",
			"banner",
			"kex",
			"hostkey",
			"auth",
			"channel",
		)
	})
}

// TestShellFaults checks servers that accept the login but give no usable shell.
func TestShellFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults sshserver.Faults
		kind   term.Kind
		after  time.Duration
		says   string
	}{
		{"frozen", sshserver.Faults{FreezeAfterAuth: true}, term.ConnectTimeout, 10 * time.Second, "did not answer"},
		{"no answer to a channel", sshserver.Faults{HangChannelOpen: true}, term.ConnectTimeout, 10 * time.Second, "did not answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Server(sshtest.Addr1, sshserver.Config{Faults: tc.faults})
				start := time.Now()
				_, err := sshx.Dialer(l.Opts)(t.Context(), sshtest.To(sshtest.Host1, ""), nil, nil)
				var e *term.Error
				if !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message(), tc.says) ||
					time.Since(start) < tc.after {
					t.Fatalf("%v (%s) after %v", err, term.KindOf(err), time.Since(start))
				}
				if term.FactOf[term.ConnectFailure](e).Hop != "u@192.0.2.1:22" ||
					sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "channel!" {
					t.Errorf("hop %q, steps %v", term.FactOf[term.ConnectFailure](e).Hop,
						sshtest.Steps(term.FactOf[term.ConnectFailure](e).Ladder))
				}
				time.Sleep(time.Second)
				if n := srv.Stats().Open; n != 0 && !tc.faults.FreezeAfterAuth { // a frozen server does not see the end
					t.Errorf("%d connections left", n)
				}
			})
		})
	}
}

// TestNoTerminal checks a server that gives no terminal: a Client's shell is refused, with advice, and a session runs
// commands without one.
func TestNoTerminal(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{Faults: sshserver.Faults{RefusePTY: true}})
		_, err := l.Client(sshtest.To(sshtest.Host1, ""), nil).Shell(t.Context(), term.PTY{})
		var e *term.Error
		if !errors.As(err, &e) || e.Kind != term.Unsupported || !strings.Contains(e.Message(), "set PTY.Disabled") ||
			sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "channel!" {
			t.Errorf("Shell fails with %v (%s); want %s with advice, at the step channel", err, term.KindOf(err),
				term.Unsupported)
		}
		for _, only := range []bool{false, true} {
			target := sshtest.To(sshtest.Host1, "")
			target.CommandsOnly = only
			tr, err := sshx.Dialer(l.Opts)(t.Context(), target, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			d := tr.(term.Describer).Describe()
			if d.NoTerminal == "" || d.PTY || only == (len(d.Warnings) > 0) {
				t.Errorf("with CommandsOnly %v the session describes itself as %+v; want it without a terminal", only, d)
			}
			if _, err := tr.Write([]byte("x")); !errors.Is(err, term.Unsupported) {
				t.Errorf("Write = %v, want %s", err, term.Unsupported)
			}
			var out strings.Builder
			exit, err := tr.(term.Execer).Exec(t.Context(), term.ExecRequest{Command: "exit 3"}, &out, nil)
			if err != nil || exit.Code != 3 {
				t.Errorf("Exec = %+v, %v; want status 3", exit, err)
			}
			over := tr.(term.Outliver).Connection()
			_ = tr.Close()
			<-over
		}
		time.Sleep(time.Second)
		if n := srv.Stats().Open; n > 1 { // the Client's ends with the test
			t.Errorf("%d connections left, want 1", n)
		}
	})
}

// TestSlowSuccess checks that a login may take ten silent seconds, for example
// for a push notification, and that these count against the time limit.
func TestSlowSuccess(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Passwords: map[string]string{"u": "pass-1138"},
				Faults:    sshserver.Faults{DelaySuccess: 10 * time.Second},
			},
		)
		start := time.Now()
		l.Client(sshtest.To(sshtest.Host1, "pass-1138"), nil)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		target := sshtest.To(sshtest.Host1, "pass-1138")
		target.ConnectTimeout = 9 * time.Second
		l.Fails(target, nil, term.ConnectTimeout)
	})
}

// TestServerTiredOfWaiting checks the advice after a question that was answered too late for the server.
func TestServerTiredOfWaiting(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		server := l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
		late := &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) {
			server.DropConnections()
			return "pass-1138", nil
		}}
		if e := l.Fails(sshtest.To(sshtest.Host1, ""), late, term.AuthFailed); !strings.Contains(e.Error(), "answer sooner") {
			t.Errorf("after a question: %v", e)
		}
	})
}

// TestConnectTimeoutOfSSHConfig checks that ConnectTimeout bounds the way to the host key, and no login behind it, as
// with ssh(1); that a call's own limit goes before it; and that a call's option makes no limit longer.
func TestConnectTimeoutOfSSHConfig(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Config("ConnectTimeout 3\n")
		silent := sshserver.Faults{SilentAfterAccept: true}
		l.Server(sshtest.Addr1, sshserver.Config{Faults: silent})
		fails := func(what string, target term.Target, after time.Duration, words ...string) {
			t.Helper()
			start := time.Now()
			e := l.Fails(target, nil, term.ConnectTimeout)
			if took := time.Since(start); took != after {
				t.Errorf("%s: took %v, want %v", what, took, after)
			}
			for _, word := range words {
				if !strings.Contains(e.Error(), word) {
					t.Errorf("%s: %v, want %q", what, e, word)
				}
			}
		}
		target := sshtest.To(sshtest.Host1, "pass-1138")
		fails("ssh_config", target, 3*time.Second, "within 3s (ConnectTimeout, ", ".ssh/config:1)", "raise that ConnectTimeout")
		target.SSH.ExtraArgs = []string{"-o", "ConnectTimeout=1"}
		fails("shorter by the call's option", target, time.Second, "extra arguments")
		target.SSH.ExtraArgs = []string{"-o", "ConnectTimeout=600"}
		fails("longer by the call's option", target, 15*time.Second)
		target.SSH.ExtraArgs = nil
		target.ConnectTimeout = 9 * time.Second
		fails("the call's limit", target, 9*time.Second, "Target.ConnectTimeout")

		l.Config("ConnectTimeout 40\n")
		fails("longer", sshtest.To(sshtest.Host1, "pass-1138"), 40*time.Second)
	})
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Config("ConnectTimeout 3\n")
		l.Server(sshtest.Addr1, sshserver.Config{
			Passwords: map[string]string{"u": "pass-1138"},
			Faults:    sshserver.Faults{DelaySuccess: 10 * time.Second},
		})
		l.Client(sshtest.To(sshtest.Host1, "pass-1138"), nil)
	})
}

// TestQuestionStopsTheClock checks that a person's time does not count against
// the limit.
func TestQuestionStopsTheClock(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Passwords: map[string]string{"u": "pass-1138"},
				Faults:    sshserver.Faults{DelaySuccess: 10 * time.Second},
			},
		)
		slow := &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) {
			time.Sleep(2 * time.Minute)
			return "pass-1138", nil
		}}
		start := time.Now()
		l.Client(sshtest.To(sshtest.Host1, ""), slow)
		if took := time.Since(start); took != 130*time.Second {
			t.Errorf("took %v", took)
		}
		target := sshtest.To(sshtest.Host1, "")
		target.ConnectTimeout = 9 * time.Second // after the answer, the clock continues
		l.Fails(target, slow, term.ConnectTimeout)
	})
}

// TestCanceledDial checks that a canceled dial returns Canceled at once.
func TestCanceledDial(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{Faults: sshserver.Faults{SilentAfterAccept: true}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err := sshx.Dial(ctx, sshtest.To(sshtest.Host1, ""), l.Opts, nil)
		if !errors.Is(err, term.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestConnectedSteps checks the steps and the description of an established
// connection.
func TestConnectedSteps(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Banner:    "welcome\r\n",
				Version:   "SSH-2.0-lab",
				Passwords: map[string]string{"u": "pass-1138"},
				Faults:    sshserver.Faults{PreBanner: []string{"hello"}},
			},
		)
		sh, err := l.Client(sshtest.To(sshtest.Host1, "pass-1138"), nil).Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		d := sh.Describe()
		sshtest.WantSteps(t, d.Ladder, "dns", "tcp", "banner", "kex", "hostkey", "auth", "channel")
		if d.ServerBanner != "welcome\n" || d.ServerVersion != "SSH-2.0-lab" || d.AuthMethod != "password" ||
			!strings.HasPrefix(d.HostKey, "SHA256:") ||
			d.Algorithms.Kex == "" ||
			!d.PTY {
			t.Errorf("Describe = %+v, want the banner, version, method, host key and algorithms of the lab", d)
		}
	})
}
