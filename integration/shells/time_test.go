package shells

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// TestShellsTime runs slow commands: ptyctl must not report an end too early, and a command that times out must leave
// the terminal as it was.
func TestShellsTime(t *testing.T) {
	l := lab.StartShells(t)
	for i, sh := range lab.LoginShells {
		t.Run(sh.Name, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, sh.Name)
			keep := "export KEPT=kept; cd /tmp"
			if sh.Class == session.ClassCsh {
				keep = "setenv KEPT kept; cd /tmp"
			}
			where := "/tmp"
			if sh.Name == "rbash" {
				keep, where = "export KEPT=kept", "/run/lab/home/rbash"
			}
			lab.TerminalExec(t, s, keep)
			kept := func(t *testing.T) {
				t.Helper()
				// A result comes at its deadline, and on a busy machine the shell's prompt long after it.
				r := session.ExecRequest{Command: "true", Lane: session.LaneTerminal, Queue: true, Timeout: lab.Patience}
				if _, err := s.Exec(t.Context(), r); err != nil {
					lab.Fatal(t, err)
				}
				lab.WantTerminalExec(t, s, `echo "$KEPT"; pwd`, "kept\n"+where+"\n", 0)
			}
			kept(t)
			pause := time.Second
			if sh.Name == "bash" {
				pause = 5 * time.Second
			}
			t.Run("pause", func(t *testing.T) { shellsPause(t, s, pause) })
			// Its command line must identify the process: all shells share the namespace.
			t.Run("timeout", func(t *testing.T) { shellsTimeout(t, l, s, fmt.Sprintf("sleep 54321.%d", i)) })
			kept(t)
			t.Run("cancel", func(t *testing.T) { shellsCancel(t, l, s, fmt.Sprintf("sleep 65432.%d", i)) })
			kept(t)
			if sh.Name != "bash" && sh.Name != "dash" { // the others would do nothing else with the signal
				return
			}
			t.Run("ignores ctrl_c", func(t *testing.T) { shellsIgnoresInterrupt(t, l, s, fmt.Sprintf("sleep 76543.%d", i)) })
			kept(t)
			t.Run("ignores all", func(t *testing.T) { shellsIgnoresAll(t, l, s, fmt.Sprintf("sleep 87654.%d", i)) })
		})
	}
}

func shellsPause(t *testing.T, s *session.Session, pause time.Duration) {
	began := time.Now()
	wait := pause * 2 / 5
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: fmt.Sprintf("sleep %.0f; echo x", pause.Seconds()),
			Lane:    session.LaneTerminal,
			Wait:    wait,
		},
	)
	for err == nil && r.Done == session.DoneRunning {
		if r.Exit.Known || r.ExitReason != "running" {
			t.Fatalf("after %s: %q, %+v (%s)", time.Since(began), r.Stdout.Bytes(), r.Exit, r.ExitReason)
		}
		if now := time.Since(began); now < pause*9/10 { // later, the output may have arrived before the end
			if r.Stdout.Total > 0 {
				t.Errorf("after %s: %q", now, r.Stdout.Bytes())
			}
			_, busy := s.Exec(t.Context(), session.ExecRequest{Command: "echo two at once", Lane: session.LaneTerminal})
			if time.Since(began) < pause {
				lab.WantError(t, busy, term.Busy)
			}
		}
		r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: wait})
	}
	if took := time.Since(began); err != nil || took < pause || string(r.Stdout.Bytes()) != "x\n" || !r.Exit.Known ||
		r.Exit.Code != 0 ||
		r.Duration < pause {
		t.Errorf("after %s: %q, %+v (%s, %s, %s), %v", took, r.Stdout.Bytes(), r.Exit, r.Done, r.ExitReason, r.Duration, err)
	}
}

// shellsTimeout has a grandchild run for hours.
func shellsTimeout(t *testing.T, l *lab.Shells, s *session.Session, sleep string) {
	lab.InTime(t, "a command that says that it has begun", 2*time.Second, func(d time.Duration) bool {
		return shellsTimeoutIn(t, l, s, sleep, d)
	})
}

// shellsTimeoutIn returns false if the time was over before the command has said anything.
func shellsTimeoutIn(t *testing.T, l *lab.Shells, s *session.Session, sleep string, d time.Duration) bool {
	began := time.Now()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: "sh -c 'echo begun; " + sleep + "; echo never'",
			Lane:    session.LaneTerminal,
			Timeout: d,
		},
	)
	took := time.Since(began)
	if err != nil {
		lab.Fatal(t, err)
	}
	t.Logf("the call with a timeout of %s returned after %s", d, took.Round(time.Millisecond))
	// The promise is 2.2 s, which TestTerminalTimeout of package session checks on a clock that no load can slow down.
	if took < d || took > lab.Patience+d {
		t.Errorf("the call with a timeout of %s took %s", d, took)
	}
	if r.TimedOut && len(r.Stdout.Bytes()) == 0 {
		l.WantGone(t, sleep)
		return false
	}
	if !r.TimedOut || r.Done != session.DoneTimeout || r.ExitReason != "timeout" && !r.Exit.Known ||
		!strings.HasPrefix(string(r.Stdout.Bytes()), "begun\n") ||
		strings.Contains(string(r.Stdout.Bytes()), "never") {
		t.Errorf("stdout %q, exit %+v (%s, %s)", r.Stdout.Bytes(), r.Exit, r.Done, r.ExitReason)
	}
	if r.Exit.Known && r.Exit.Code != 130 && r.Exit.Code != 1 { // of the shells that print their marker even so
		t.Errorf("it was interrupted, and ended with code %d", r.Exit.Code)
	}
	l.WantGone(t, sleep)
	return true
}

// canceled types a command, waits until sleep runs in it, and cancels it.
func canceled(
	t *testing.T, l *lab.Shells, s *session.Session, command, sleep string,
) (session.ExecResult, error) {
	t.Helper()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: command, Lane: session.LaneTerminal, Wait: 300 * time.Millisecond},
	)
	if err != nil {
		lab.Fatal(t, err)
	}
	l.WantRunning(t, sleep)
	return s.CancelExec(t.Context(), r.ID, session.ContinueRequest{})
}

func shellsCancel(t *testing.T, l *lab.Shells, s *session.Session, sleep string) {
	r, err := canceled(t, l, s, sleep, sleep)
	if err != nil || !r.Canceled || r.TimedOut || r.Exit.Killed != "yes" {
		t.Errorf("ended with %+v (%s, %s), %v", r.Exit, r.Done, r.ExitReason, err)
	}
	l.WantGone(t, sleep)
}

// shellsIgnoresInterrupt runs a command that ignores ctrl_c, but ends at ctrl_backslash.
func shellsIgnoresInterrupt(t *testing.T, l *lab.Shells, s *session.Session, sleep string) {
	r, err := canceled(t, l, s, `sh -c "trap '' INT; echo begun; `+sleep+`"`, sleep)
	if err != nil || !r.Canceled || r.Exit.Killed != "yes" || !strings.HasPrefix(string(r.Stdout.Bytes()), "begun\n") {
		t.Errorf("stdout %q, exit %+v (%s, %s), %v", r.Stdout.Bytes(), r.Exit, r.Done, r.ExitReason, err)
	}
	l.WantGone(t, sleep)
}

// shellsIgnoresAll runs a command that no key ends: the result says so, the terminal is busy as long as it runs, and
// closing ends it.
func shellsIgnoresAll(t *testing.T, l *lab.Shells, s *session.Session, sleep string) {
	r, err := canceled(t, l, s, `sh -c "trap '' INT QUIT; echo begun; `+sleep+`"`, sleep)
	if err != nil || !r.Canceled || r.Exit.Killed != "unknown" || r.Exit.Known || r.ExitReason != "canceled" {
		t.Errorf("ended with %+v (%s, %s), %v; want no proof that it is gone", r.Exit, r.Done, r.ExitReason, err)
	}
	lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "echo typed into it"}, term.Busy)
	s.Close(t.Context(), session.CloseOptions{Force: true})
	l.WantGone(t, sleep)
}
