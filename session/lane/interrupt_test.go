package lane_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

func TestTerminalInterrupted(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second} { // until the call that types the key learns that it is out
		t.Run(late.String(), func(t *testing.T) { terminalInterrupted(t, late) })
	}
}

func terminalInterrupted(t *testing.T, late time.Duration) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		r := posix("sleep 99")
		r.Wait = time.Second
		got := run(t, s, r)
		sh.terminal.late = late
		typeIn(t, s, "\x03")
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil || got.Done != session.DonePrompt || got.Exit.Known || got.ExitReason != "marker_not_seen" ||
			got.TimedOut ||
			string(got.Stdout.Bytes()) != "^C\n" ||
			got.Duration > 2*time.Second+late {
			t.Fatalf("%q, %+v, %v", got.Stdout.Bytes(), got, err)
		}
		wantMarker(t, run(t, s, posix("say after")), "after\n", 0)

		r.Command = "trap" // prints its marker although it was interrupted
		got = run(t, s, r)
		typeIn(t, s, "\x03")
		if got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute}); err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "", 42)
	})
}

// ctrl_c is not the end of a command that takes it for something else.
func TestTerminalInterruptIgnored(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		got := run(t, s, posix("python"))
		for range 2 {
			if got.WaitingFor == nil || got.WaitingFor.Kind != prompt.REPL {
				t.Fatalf("python = %+v, want it waiting at its prompt", got)
			}
			typeIn(t, s, "\x03")
			time.Sleep(10 * time.Second)
			got, _ = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Second})
			if got.Done != session.DoneRunning {
				t.Fatalf("python after 10s = %+v, want it still running", got)
			}
		}
		typeIn(t, s, "\x04")
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, ">>> \nKeyboardInterrupt\n>>> \nKeyboardInterrupt\n>>> \n", 0)
	})
}

func TestTerminalTimeout(t *testing.T) {
	for _, tt := range []struct {
		command, killed string // of the result at the deadline
		later           string // of the run in the end
		exit            bool
	}{
		{"sleep 99", "yes", "yes", false},
		{"trap", "yes", "yes", true},
		{"stubborn", "unknown", "yes", false},
		{"immortal", "unknown", "unknown", false},
	} {
		t.Run(tt.command, func(t *testing.T) {
			inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				r := posix(tt.command)
				r.Timeout, r.MaxOutput = 5*time.Second, 1<<20
				var got session.ExecResult
				if took := since(func() { got = run(t, s, r) }); took < 5*time.Second || took > 6*time.Second {
					t.Errorf("returned after %v", took)
				}
				if !got.TimedOut || got.Done != session.DoneTimeout || got.Exit.Killed != tt.killed || got.Exit.Known != tt.exit ||
					!tt.exit && got.ExitReason != "timeout" {
					t.Errorf("result = %+v, want a timeout with killed %q, known exit %v", got, tt.killed, tt.exit)
				}
				time.Sleep(3 * time.Second)
				if got.ID != "" {
					end, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{})
					if err != nil || end.Exit.Killed != tt.later {
						t.Errorf("in the end %+v, %v", end, err)
					}
				}
				if tt.later == "unknown" {
					_, err := s.Exec(t.Context(), posix("say no"))
					wantKind(t, err, term.Busy)
					typeIn(t, s, "q")
				}
				wantMarker(t, run(t, s, posix("say after")), "after\n", 0)
			})
		})
	}
}

func TestTerminalCancel(t *testing.T) {
	for _, command := range []string{"sleep 99", "immortal"} {
		t.Run(command, func(t *testing.T) {
			inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				r := posix(command)
				r.Wait = time.Second
				got := run(t, s, r)
				if command == "immortal" {
					typeIn(t, s, "\x03") // by hand, in vain
				}
				var err error
				took := since(func() { got, err = s.CancelExec(t.Context(), got.ID, session.ContinueRequest{}) })
				if err != nil || !got.Canceled || got.TimedOut || got.ExitReason != "canceled" || got.Done != session.DoneTimeout {
					t.Errorf("%+v, %v", got, err)
				}
				if want := map[string]string{"sleep 99": "yes", "immortal": "unknown"}[command]; got.Exit.Killed != want ||
					took > 3*time.Second {
					t.Errorf("killed %s after %v", got.Exit.Killed, took)
				}
				if len(s.Info().Running) != 0 {
					t.Error("it still runs")
				}
			})
		})
	}
}

// A call may be canceled while its line goes out: the command that then runs is known, and stops if it was to.
func TestTerminalCanceledWhileTyping(t *testing.T) {
	for _, stop := range []bool{false, true} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			sh.terminal.late = time.Second
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			r := posix("sleep 99")
			r.StopOnCancel = stop
			_, err := s.Exec(ctx, r)
			e, ok := errors.AsType[*term.Error](err)
			if running := !stop; !ok || e.Kind != term.Canceled || (e.Reason == term.ReasonCanceledRunning) != running {
				t.Fatalf("stop %v: %v, want that the command goes on or is stopped", stop, err)
			}
			i := s.Info()
			ids := append(i.Running, i.Unfetched...)
			if len(ids) != 1 {
				t.Fatalf("stop %v: running %q, unfetched %q, want one command", stop, i.Running, i.Unfetched)
			}
			if !stop {
				if _, err = s.CancelExec(t.Context(), ids[0], session.ContinueRequest{}); err != nil {
					t.Fatal(err)
				}
			} else if got, err := s.ContinueExec(t.Context(), ids[0], session.ContinueRequest{Wait: time.Minute}); err != nil ||
				!got.Canceled || got.Exit.Killed != "yes" {
				t.Errorf("the stopped command: %+v, %v", got, err)
			}
			wantMarker(t, run(t, s, posix("say after")), "after\n", 0)
		})
	}
}
