package mux_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestExec checks the outcome of commands, and the time it takes.
func TestExec(t *testing.T) {
	for _, tc := range []struct {
		name     string
		r        term.ExecRequest
		faults   sshserver.Faults
		deadline time.Duration // 0: none
		want     term.Exit
		kind     term.Kind
		out, err string
		within   time.Duration
	}{
		{name: "output", r: term.ExecRequest{Command: "both"}, want: term.Exit{Known: true}, out: "out", err: "err"},
		{name: "status", r: term.ExecRequest{Command: "exit 4294967295"}, want: term.Exit{Known: true, Code: 1<<32 - 1}},
		{name: "signal", r: term.ExecRequest{Command: "die SEGV"}, want: term.Exit{Known: true, Code: 139, Signal: "SEGV"}},
		{name: "stdin", r: term.ExecRequest{Command: "cat", Stdin: []byte("a\x00b")}, want: term.Exit{Known: true}, out: "a\x00b"},
		{name: "dir", r: term.ExecRequest{Command: "ls", Dir: "/a'b c"}, want: term.Exit{Known: true}, out: `cd '/a'\''b c' || exec false; ls`},
		{name: "dir like an option", r: term.ExecRequest{Command: "ls", Dir: "-P"}, want: term.Exit{Known: true}, out: `cd './-P' || exec false; ls`},
		{name: "env", r: term.ExecRequest{Command: "env", Env: []term.EnvVar{{Name: "LC_X", Value: "1 2"}}}, want: term.Exit{Known: true}, out: "LC_X=1 2"},
		{name: "env refused", r: term.ExecRequest{Command: "echo x", Env: []term.EnvVar{{Name: "FOO", Value: "1"}}}, kind: term.Unsupported},
		{name: "no status", r: term.ExecRequest{Command: "echo x"}, faults: sshserver.Faults{NoExitStatus: true}, out: "x\n", within: time.Second},
		{name: "status, no close", r: term.ExecRequest{Command: "exit 3"}, faults: sshserver.Faults{StatusWithoutClose: true}, want: term.Exit{Known: true, Code: 3, Background: true}, within: time.Second},
		{name: "background", r: term.ExecRequest{Command: "background"}, want: term.Exit{Known: true, Code: 5, Background: true}, out: "x\n", within: 3 * time.Second},
		{name: "refused", r: term.ExecRequest{Command: "echo x"}, faults: sshserver.Faults{RefuseExec: true}, kind: term.Unsupported},
		{name: "no answer", r: term.ExecRequest{Command: "echo x"}, faults: sshserver.Faults{HangExecReply: true}, deadline: time.Minute, want: term.Exit{Killed: "unknown"}, within: 63 * time.Second}, // the command may be running, so an error must not suggest a second run
		{name: "no channel", r: term.ExecRequest{Command: "echo x"}, faults: sshserver.Faults{HangChannelOpen: true}, kind: term.ExecTimeout, within: 10 * time.Second},
		{name: "obeys TERM", r: term.ExecRequest{Command: "sleep 1h"}, deadline: time.Minute, want: term.Exit{Known: true, Code: 143, Signal: "TERM", Killed: "yes"}, within: time.Minute},
		{name: "obeys KILL", r: term.ExecRequest{Command: "stubborn", Grace: 5 * time.Second}, deadline: time.Minute, want: term.Exit{Known: true, Code: 137, Signal: "KILL", Killed: "yes"}, within: 65 * time.Second},
		{name: "obeys nothing", r: term.ExecRequest{Command: "sleep 1h"}, faults: sshserver.Faults{RefuseSignals: true}, deadline: time.Minute, want: term.Exit{Killed: "unknown"}, within: 63 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Server(sshtest.Addr1, sshserver.Config{Faults: tc.faults})
				c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.deadline != 0 {
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				var out, errs bytes.Buffer
				start := time.Now()
				e, err := c.Exec(ctx, tc.r, &out, &errs)
				if took := time.Since(start); took > tc.within {
					t.Errorf("took %v, want at most %v", took, tc.within)
				}
				if e.Started != (tc.kind == "") {
					t.Errorf("started %t, %v", e.Started, err)
				}
				e.Started = false
				if e != tc.want || term.KindOf(err) != tc.kind || out.String() != tc.out || errs.String() != tc.err {
					t.Errorf("%+v, %v; stdout %q, stderr %q", e, err, out.String(), errs.String())
				}
			})
		})
	}
}

// TestExecLost checks that a connection lost during a command is not reported as
// a missing status.
func TestExecLost(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		time.AfterFunc(time.Second, srv.DropConnections)
		e, err := c.Exec(t.Context(), term.ExecRequest{Command: "sleep 1h"}, io.Discard, io.Discard)
		if term.KindOf(err) != term.RemoteClosed || e.Known {
			t.Errorf("%+v, %v", e, err)
		}
		if _, err := c.Exec(t.Context(), term.ExecRequest{Command: "echo x"}, io.Discard, io.Discard); term.KindOf(
			err,
		) != term.RemoteClosed {
			t.Errorf("the next: %v", err)
		}
	})
}

// TestExecMuch sends a megabyte on each stream, interleaved.
func TestExecMuch(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			for range 64 {
				_, _ = r.Stdout.Write(bytes.Repeat([]byte("o"), 16<<10))
				_, _ = r.Stderr.Write(bytes.Repeat([]byte("e"), 16<<10))
			}
			return sshserver.Exit{}
		}})
		out, errs, e := sshtest.Run(t, l.Client(sshtest.To(sshtest.Host1, ""), nil), term.ExecRequest{Command: "x"})
		if out != strings.Repeat("o", 1<<20) || errs != strings.Repeat("e", 1<<20) ||
			e != (term.Exit{Started: true, Known: true}) {
			t.Errorf("%d and %d bytes, %+v", len(out), len(errs), e)
		}
	})
}

// TestExecNothingLost runs a thousand short commands, ten at a time.
func TestExecNothingLost(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range 100 {
					var out bytes.Buffer
					if e, err := c.Exec(t.Context(), term.ExecRequest{Command: "echo hello"}, &out, io.Discard); err != nil ||
						e.Code != 0 ||
						out.String() != "hello\n" {
						t.Errorf("%+v, %v, %q", e, err, out.String())
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestExecOnSlowServer checks that the rest of the output may come late from a server that is slow to answer: a pause
// alone is no background process.
func TestExecOnSlowServer(t *testing.T) {
	for _, silent := range []bool{true, false} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			l.Server(sshtest.Addr1, sshserver.Config{
				Faults: sshserver.Faults{IgnoreGlobalRequests: silent},
				Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
					r.SendExit(sshserver.Exit{Status: 3})
					time.Sleep(time.Second)
					_, _ = io.WriteString(r.Stdout, "rest\n")
					return sshserver.Exit{Status: 3}
				},
			})
			var out bytes.Buffer
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			e, err := c.Exec(t.Context(), term.ExecRequest{Command: "x"}, &out, io.Discard)
			if got := out.String(); err != nil || e.Code != 3 || e.Background == silent || (got == "rest\n") != silent {
				t.Errorf("silent %v: got %+v, %v, %q; want background %v", silent, e, err, got, !silent)
			}
		})
	}
}

// TestExecOnServerInThreads checks that the end of the output may come late from a server that answers questions
// meanwhile: only of some servers a pause with answers is a background process.
func TestExecOnServerInThreads(t *testing.T) {
	for version, background := range map[string]bool{"": false, "SSH-2.0-OpenSSH_9.9": true, "SSH-2.0-dropbear_2024.86": true} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			l.Server(sshtest.Addr1, sshserver.Config{
				Version: version,
				Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
					r.SendExit(sshserver.Exit{Status: 3})
					time.Sleep(700 * time.Millisecond)
					return sshserver.Exit{Status: 3}
				},
			})
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			e, err := c.Exec(t.Context(), term.ExecRequest{Command: "x"}, io.Discard, io.Discard)
			if err != nil || e.Code != 3 || e.Background != background {
				t.Errorf("%q: got %+v, %v; want background %v", version, e, err, background)
			}
		})
	}
}

// TestDropped checks that a command and a subsystem are tried again where the server has closed the channel without an
// answer, and how often.
func TestDropped(t *testing.T) {
	for _, drops := range []int{2, 3} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			srv := l.Server(sshtest.Addr1, sshserver.Config{})
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			srv.SetFaults(sshserver.Faults{DropCommands: drops})
			var out bytes.Buffer
			e, err := c.Exec(t.Context(), term.ExecRequest{Command: "echo x"}, &out, io.Discard)
			if ran := err == nil && e.Known && out.String() == "x\n"; ran != (drops < 3) || !ran && term.KindOf(err) != term.RemoteClosed {
				t.Errorf("%d channels closed: Exec = %+v, %v, %q", drops, e, err, out.String())
			}
		})
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			srv := l.Server(sshtest.Addr1, sshserver.Config{})
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			srv.SetFaults(sshserver.Faults{DropCommands: drops})
			want := map[bool]term.Kind{true: term.Unsupported, false: term.RemoteClosed}[drops < 3] // it has none
			if _, err := c.Subsystem(t.Context(), "none"); term.KindOf(err) != want {
				t.Errorf("%d channels closed: Subsystem = %v, want %s", drops, err, want)
			}
		})
	}
}

// late is a writer that takes its first output late.
type late struct {
	once sync.Once
	bytes.Buffer
}

func (l *late) Write(p []byte) (int, error) {
	l.once.Do(func() { time.Sleep(time.Second) })
	return l.Buffer.Write(p)
}

// TestExecOnBusyMachine checks that output which has ended, but was not yet read for lack of time, is not taken for
// that of a background process. It takes real time, like TestExecLeavesWritersAlone.
func TestExecOnBusyMachine(t *testing.T) {
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{})
	c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
	var out late
	e, err := c.Exec(t.Context(), term.ExecRequest{Command: "both"}, &out, io.Discard)
	if got := out.String(); e.Background || err != nil || got != "out" {
		t.Errorf("%+v, %v, %q", e, err, got)
	}
}

// slow is a slow writer that counts its writes.
type slow struct{ writes int } // the race detector watches it

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	s.writes++
	return len(p), nil
}

// TestExecLeavesWritersAlone checks that Exec does not write after it has
// returned, even if more output comes. It takes real time: Exec waits for the
// writer with a mutex, which stops the clock of a bubble.
func TestExecLeavesWritersAlone(t *testing.T) {
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
		r.SendExit(sshserver.Exit{})
		for ctx.Err() == nil {
			if _, err := r.Stdout.Write(make([]byte, 32<<10)); err != nil {
				break
			}
		}
		return sshserver.Exit{}
	}})
	c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
	var out slow
	start := time.Now()
	e, err := c.Exec(t.Context(), term.ExecRequest{Command: "x"}, &out, io.Discard)
	n := out.writes
	if took := time.Since(start); !e.Background || err != nil || n == 0 || took < 2*time.Second || took > 20*time.Second {
		t.Errorf("%+v, %v, %d writes after %v", e, err, n, took)
	}
	time.Sleep(300 * time.Millisecond)
	if out.writes != n {
		t.Errorf("%d writes more", out.writes-n)
	}
}

// failing is a writer that always fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestExecWriterFails checks that a failing writer does not block the command.
func TestExecWriterFails(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{})
		e, err := l.Client(sshtest.To(sshtest.Host1, ""), nil).
			Exec(t.Context(), term.ExecRequest{Command: "cat", Stdin: make([]byte, 4<<20)}, failing{}, io.Discard)
		if err != nil || !e.Known {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// TestCloseDuringExec closes a Client while commands begin on it: no command and
// no goroutine may be left.
func TestCloseDuringExec(t *testing.T) {
	for range 20 {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			l.Server(sshtest.Addr1, sshserver.Config{MaxSessions: 3})
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if _, err := c.Exec(t.Context(), term.ExecRequest{Command: "sleep 1h"}, io.Discard, io.Discard); term.KindOf(
						err,
					) != term.RemoteClosed {
						t.Errorf("%v (%s)", err, term.KindOf(err))
					}
				})
			}
			start := time.Now()
			_ = c.Close()
			wg.Wait()
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A panicking writer is a caller's that fails in its own way at the first byte.
type panicking struct{ fail func() }

func (p panicking) Write([]byte) (int, error) {
	p.fail()
	return 0, nil
}

// TestExecWriters: whatever the caller's writers do, the connection and the other commands on it go on.
func TestExecWriters(t *testing.T) {
	panics := panicking{func() { panic("of the caller") }}
	exits := panicking{runtime.Goexit}
	for _, tc := range []struct {
		name     string
		out, err io.Writer
		command  string
		want     term.Exit
		kind     term.Kind
	}{
		{name: "nil", command: "both", want: term.Exit{Known: true}},
		{name: "nil stdout", err: io.Discard, command: "both", want: term.Exit{Known: true}},
		{
			name: "panics on stdout", out: panics, command: "stay",
			want: term.Exit{Known: true, Code: 143, Signal: "TERM", Killed: "yes"}, kind: term.Internal,
		},
		{name: "panics on stderr", err: panics, command: "both", want: term.Exit{Known: true}, kind: term.Internal},
		{name: "nil pointer", out: (*bytes.Buffer)(nil), command: "both", want: term.Exit{Known: true}, kind: term.Internal},
		{name: "ends its goroutine", out: exits, command: "both", want: term.Exit{Known: true}, kind: term.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Server(sshtest.Addr1, sshserver.Config{})
				c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				e, err := c.Exec(ctx, term.ExecRequest{Command: tc.command}, tc.out, tc.err)
				e.Started, e.Background = false, false
				if tc.command == "both" && tc.kind != "" {
					e.Killed = "" // it may have been stopped, or have ended before
				}
				if e != tc.want || term.KindOf(err) != tc.kind {
					t.Errorf("Exec(%q) = %+v, %v, want %+v and an error of kind %q", tc.command, e, err, tc.want, tc.kind)
				}
				var out bytes.Buffer
				if _, err := c.Exec(ctx, term.ExecRequest{Command: "both"}, &out, nil); err != nil || out.String() != "out" {
					t.Errorf("the next Exec = %v with %q, want no error and \"out\"; the connection: %v", err, &out, c.Lost())
				}
			})
		})
	}
}

// TestExecEnvironment: a command gets SetEnv and SendEnv of the operator's ssh_config, as far as the server accepts
// them, and those of a caller's options never. A variable of the request replaces one of the same name.
func TestExecEnvironment(t *testing.T) {
	t.Setenv("LC_SENT", "sent")
	for _, tc := range []struct {
		name, config string
		extra        []string
		env          []term.EnvVar
		want         string
	}{
		{name: "SetEnv", config: "SetEnv LC_A=1 LANG=\"x y\" PATH=/refused", want: "LC_A=1 LANG=x y"},
		{name: "SendEnv", config: "SendEnv LC_SE*", want: "LC_SENT=sent"},
		{
			name: "a request", config: "SetEnv LC_A=1 LANG=C", env: []term.EnvVar{{Name: "LC_A", Value: "2"}},
			want: "LANG=C LC_A=2",
		},
		{name: "a caller's", config: "SendEnv LC_SE*", extra: []string{"-o", "SetEnv=LC_B=1"}, want: "LC_SENT=sent"},
		{name: "a caller's SendEnv", extra: []string{"-o", "SendEnv=LC_SENT"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Config(tc.config + "\n")
				l.Server(sshtest.Addr1, sshserver.Config{})
				target := sshtest.To(sshtest.Host1, "")
				target.SSH.ExtraArgs = tc.extra
				out, _, _ := sshtest.Run(t, l.Client(target, nil), term.ExecRequest{Command: "env", Env: tc.env})
				if out != tc.want {
					t.Errorf("the command has the environment %q, want %q", out, tc.want)
				}
			})
		})
	}
}
