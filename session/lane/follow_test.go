package lane_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

func TestTerminalRunningThenContinue(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		r := posix("work 10")
		r.Wait = 2 * time.Second
		got := run(t, s, r)
		if got.Done != session.DoneRunning || got.ExitReason != "running" || got.ID == "" || got.Exit.Known ||
			string(got.Stdout.Bytes()) != "begun\n" ||
			got.WaitingFor != nil {
			t.Fatalf("first result = %+v, want it running, with stdout \"begun\\n\" and no question", got)
		}
		_, err := s.Exec(t.Context(), posix("say no"))
		if e := wantKind(t, err, term.Busy); !strings.Contains(e.Message(), got.ID) {
			t.Errorf("%v does not name %s", err, got.ID)
		}
		again, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, again, "begun\ndone\n", 3)
		wantMarker(t, run(t, s, posix("say yes")), "yes\n", 0)
	})
}

// A password prompt is reported at once; the answer goes through Write.
func TestTerminalAnswer(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		var got session.ExecResult
		if took := since(func() { got = run(t, s, posix("sudo id")) }); took > 200*time.Millisecond {
			t.Errorf("told after %v", took)
		}
		if got.Done != session.DoneRunning || got.WaitingFor == nil ||
			*got.WaitingFor != (term.Waiting{Kind: prompt.Password, Text: "[sudo] password for me: "}) {
			t.Fatalf("sudo = %+v, want it running and waiting for a password", got)
		}
		if _, err := s.Write(t.Context(), []byte(typed+"\r"), session.WriteOptions{Sensitive: true}); err != nil {
			t.Fatal(err)
		}
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "[sudo] password for me: \n17 characters\n", 0)
		typeIn(t, s, "vim\r") // with something typed during the command, the marker is no proof that the shell is ready
		time.Sleep(time.Second)
		_, err = s.Exec(t.Context(), posix("say no"))
		wantKind(t, err, term.Busy)
	})
}

// Input typed ahead during a command is not typed over.
func TestTerminalTypeAhead(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		r := posix("work 5")
		r.Wait = time.Second
		got := run(t, s, r)
		typeIn(t, s, "vim\r")
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "begun\ndone\n", 3)
		synctest.Wait()
		_, err = s.Exec(t.Context(), posix("say no"))
		if w := term.FactOf[term.Occupied](wantKind(t, err, term.Busy)).Waiting; w == nil || w.Kind != prompt.Editor {
			t.Errorf("Exec behind an editor waits for %+v, want the editor", w)
		}
	})
}

// As long as the far side has not taken the line, the prompt before it is no news.
func TestTerminalFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, userPrompt)
		go func() {
			p := make([]byte, 4096)
			n, _ := far.Read(p)
			m := typedForm.FindStringSubmatch(string(p[:n]))
			time.Sleep(time.Second)
			fmt.Fprintf(far, "%s\r\nS=%s\r\nPTYCTL_RC_%s=0:END_%s", p[:n-1], m[1], m[1], m[1])
		}()
		time.Sleep(time.Second)
		wantMarker(t, run(t, s, posix("id")), "", 0)
	})
}

// A slow shell shows its prompt when the next command has been typed already: the echo of the terminal and the prompt of
// the command before are no sign that the shell has given up the line.
func TestTerminalSlowPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, userPrompt)
		go func() {
			p := make([]byte, 4096)
			for i := range 2 {
				n, _ := far.Read(p)
				m := typedForm.FindStringSubmatch(string(p[:n]))
				if i == 1 {
					fmt.Fprintf(far, "%s\r\n", p[:n-1])
					time.Sleep(100 * time.Millisecond)
					fmt.Fprint(far, userPrompt)
					time.Sleep(time.Second)
				}
				fmt.Fprintf(far, "%s\r\nS=%s\r\nout\r\nPTYCTL_RC_%s=0:END_%s", p[:n-1], m[1], m[1], m[1])
			}
		}()
		time.Sleep(time.Second)
		wantMarker(t, run(t, s, posix("id")), "out\n", 0)
		wantMarker(t, run(t, s, posix("id")), "out\n", 0)
	})
}

// A question that was not understood is reported again.
func TestTerminalAskedAgain(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		got := run(t, s, posix("more file"))
		if got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Pager {
			t.Fatalf("more = %+v, want it waiting at the pager", got)
		}
		typeIn(t, s, "x") // no key of this pager
		var err error
		took := since(func() { got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute}) })
		if err != nil || got.WaitingFor == nil || took < 500*time.Millisecond || took > 2*time.Second {
			t.Fatalf("%+v, %v after %v", got, err, took)
		}
		typeIn(t, s, " ")
		if got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute}); err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "page 1\n--More--\r        \rpage 2\n", 0)
	})
}

// A command during which the terminal ends.
func TestTerminalEnds(t *testing.T) {
	t.Run("exit", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, posix("exit 4"))
			if got.Exit != (term.Exit{Known: true, Code: 4}) || got.Done != session.DoneEOF || got.ExitReason != "" {
				t.Errorf("exit 4 = %+v, want exit code 4 and the end of the output", got)
			}
		})
	})
	t.Run("lost", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, posix("drop"))
			if got.Exit.Known || got.Done != session.DoneEOF || got.ExitReason != "connection_lost" ||
				string(got.Stdout.Bytes()) != "some\x1eRC=1" {
				t.Errorf("%q, %+v", got.Stdout.Bytes(), got)
			}
		})
	})
	t.Run("closed", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			time.AfterFunc(time.Second, func() { s.Close(context.Background(), session.CloseOptions{}) })
			got := run(t, s, posix("sleep 99"))
			if got.Exit.Known || got.Done != session.DoneEOF || got.ExitReason != "session_ended" ||
				got.Duration > 2*time.Second {
				t.Errorf("sleep in a session that ends = %+v, want session_ended within 2s", got)
			}
		})
	})
	t.Run("with the marker", func(t *testing.T) { // the last output counts, though the terminal is gone
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			put(t, far, userPrompt)
			go func() {
				p := make([]byte, 4096)
				n, _ := far.Read(p)
				m := typedForm.FindStringSubmatch(string(p[:n]))
				io.WriteString(far, fmt.Sprintf("S=%s\r\nout\r\nPTYCTL_RC_%s=9:END_%s", m[1], m[1], m[1]))
				far.Close()
			}()
			time.Sleep(time.Second)
			wantMarker(t, run(t, s, posix("id")), "out\n", 9)
		})
	})
}

// A flood is bounded, its start and end are kept, and the marker behind it is found.
func TestTerminalFlood(t *testing.T) {
	inShell(
		t,
		userPrompt,
		session.Options{BufferBytes: 256 << 10, ExecBytes: 128 << 10},
		func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, posix("flood 64"))
			out := string(got.Stdout.Bytes())
			if got.Done != session.DoneMarker || !strings.HasSuffix(out, "last\n") || len(out) > 16<<10 ||
				got.Stdout.Total+got.Lost < 64<<20-64<<20/57*2 {
				t.Errorf(
					"%d bytes of %d, %d lost, ends %q: %+v",
					len(out),
					got.Stdout.Total,
					got.Lost,
					out[max(0, len(out)-20):],
					got.Exit,
				)
			}
			if got.Lost == 0 && !strings.HasPrefix(out, "first\n") {
				t.Errorf("begins %q", out[:20])
			}
		},
	)
}

func TestTerminalDevice(t *testing.T) {
	device := func(command string) session.ExecRequest {
		return session.ExecRequest{Command: command, Class: session.ClassDevice}
	}
	check := func(t *testing.T, got session.ExecResult, done session.DoneReason, out string) {
		t.Helper()
		if got.Done != done || got.Exit.Known || got.ExitReason != "no_status" || got.Prompt == nil ||
			*got.Prompt != (done == session.DonePrompt) ||
			string(got.Stdout.Bytes()) != out {
			t.Errorf("%q, %+v, want %s and %q", got.Stdout.Bytes(), got, done, out)
		}
	}
	t.Run("prompt learned", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			if took := since(func() {
				check(t, run(t, s, device("show version")), session.DonePrompt, "Version 1\nuptime 2 days\n")
			}); took > 100*time.Millisecond {
				t.Errorf("after %v", took)
			}
			check(t, run(t, s, device("conf t")), session.DonePrompt, "")
			check(t, run(t, s, device("say R")), session.DonePrompt, "R\n")
		})
	})
	t.Run("prompt given", func(t *testing.T) {
		inShell(
			t,
			"ready!",
			session.Options{Expect: session.Expect{Prompt: re(`^ready!$`)}},
			func(t *testing.T, s *session.Session, sh *fakeShell) {
				check(t, run(t, s, device("show version")), session.DonePrompt, "Version 1\nuptime 2 days\n")
				check(
					t,
					run(t, s, device("work 10")),
					session.DonePrompt,
					"begun\ndone\n",
				) // silence is no end where a prompt is known
				r := device("work 10")
				r.Idle = time.Second // unless the caller says so
				check(t, run(t, s, r), session.DoneIdle, "begun\n")
			},
		)
	})
	t.Run("idle", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			var got session.ExecResult
			if took := since(func() { got = run(t, s, device("hush")) }); took != 2*time.Second {
				t.Errorf("idle after %v", took)
			}
			check(t, got, session.DoneIdle, "wait\n")
		})
	})
	t.Run("no prompt at all", func(t *testing.T) {
		inShell(t, "", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			check(t, run(t, s, device("hush")), session.DoneIdle, "wait\n")
		})
	})
	t.Run("no echo", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			sh.silent = true
			check(t, run(t, s, device("say sand")), session.DonePrompt, "\nsand\n")
		})
	})
	t.Run("pager", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, device("more x"))
			if got.Done != session.DoneRunning || got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Pager {
				t.Fatalf("device's more = %+v, want it waiting at the pager", got)
			}
			time.Sleep(10 * time.Second) // a question is no silence
			typeIn(t, s, " ")
			got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			check(t, got, session.DonePrompt, "page 1\n--More--\r        \rpage 2\n")
		})
	})
	t.Run("timeout", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := device("hush")
			r.Timeout, r.Idle = time.Second, time.Minute
			got := run(t, s, r)
			if !got.TimedOut || got.Exit.Killed != "yes" || got.Exit.Known {
				t.Errorf("result = %+v, want a killed command without exit code, timed out after 1s", got)
			}
			check(t, run(t, s, device("say on")), session.DonePrompt, "on\n")
		})
	})
	t.Run("asked of a shell", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix("say hi")
			r.NoMarker = true
			got := run(t, s, r)
			if got.Done != session.DonePrompt || got.ExitReason != "marker_not_seen" || got.Exit.Known {
				t.Errorf("result without marker = %+v, want marker_not_seen at the prompt", got)
			}
		})
	})
}

// A prompt may come in the middle of a line wider than the terminal, at the start of a row: FRRouting leaves its pager
// like that. The text before it is output, and the next command is typed there.
func TestPromptInItsRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{PTY: term.PTY{Cols: 20}, Expect: session.Expect{Prompt: re(`^r1# $`)}})
		put(t, far, "r1# ")
		for range 2 {
			go func() {
				take(t, far, 5)
				io.WriteString(
					far,
					"list\r\n"+strings.Repeat("x", 40)+" --More-- \b\b\b\b\b\b\b\b\b\b          \b\b\b\b\b\b\b\b\b\br1# ",
				)
			}()
			got := run(t, s, session.ExecRequest{Command: "list", Class: session.ClassDevice, Timeout: 10 * time.Second})
			if want := strings.Repeat("x", 40) + "\n"; got.Done != session.DonePrompt || string(got.Stdout.Bytes()) != want {
				t.Errorf("%s, %q", got.Done, got.Stdout.Bytes())
			}
		}
	})
}
