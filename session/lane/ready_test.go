package lane_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// Nothing is typed where something else than a prompt has the terminal.
func TestTerminalBusy(t *testing.T) {
	for _, tt := range []struct{ name, shown, kind, text string }{
		{"alternate screen", "\x1b[?1049h\x1b[H~\r\n" + userPrompt, prompt.Editor, userPrompt},
		{"pager", "text\r\n\x1b[7m--More--\x1b[27m", prompt.Pager, "--More--"},
		{"less", "text\r\n:\x1b[K", prompt.Pager, ":"},
		{"password", "[sudo] password for me: ", prompt.Password, "[sudo] password for me: "},
		{"yes or no", "Continue? [y/N] ", prompt.YesNo, "Continue? [y/N] "},
		{"python", ">>> ", prompt.REPL, ">>> "},
		{"gdb", "\x1b[1m(gdb) \x1b[m", prompt.REPL, "(gdb) "},
		{"router", "\r\nr1#", prompt.Command, "r1#"},
		{"router, configuring", "r1(config-if)#", prompt.Command, "r1(config-if)#"},
		{"some line", "working ...", prompt.Unknown, "working ..."},
		{"typed ahead", userPrompt + "rm -r", prompt.Unknown, userPrompt + "rm -r"},
		{"nothing", "", prompt.Unknown, ""},
		{"a finished line", "motd\r\n", prompt.Unknown, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inShell(t, tt.shown, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				took := since(func() {
					_, err := s.Exec(t.Context(), posix("say hi"))
					w := term.FactOf[term.Occupied](wantKind(t, err, term.Busy)).Waiting
					if w == nil || *w != (term.Waiting{Kind: tt.kind, Text: tt.text}) {
						t.Errorf("%+v, want %s and %q", w, tt.kind, tt.text)
					}
				})
				if want := 3 * time.Second; tt.kind == prompt.Unknown && took != want ||
					tt.kind != prompt.Unknown && took != 0 {
					t.Errorf("refused after %v", took)
				}
				if i := s.Info(); i.BytesOut != 0 || i.Execs != 0 || len(i.Running) != 0 {
					t.Errorf("info after a refusal = %+v, want no bytes sent and no exec", i)
				}
			})
		})
	}
}

func TestTerminalReady(t *testing.T) {
	t.Run("prompt_regex", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix("say hi")
			r.Expect.Prompt = re(`^r1# ?$`)
			wantMarker(t, run(t, s, r), "hi\n", 0)
			typeIn(t, s, "say by hand\r") // the marker has shown that it is a shell's
			time.Sleep(time.Second)
			wantMarker(t, run(t, s, posix("say again")), "again\n", 0)
		})
	})
	t.Run("prompt_regex does not match", func(t *testing.T) {
		inShell(
			t,
			userPrompt,
			session.Options{Expect: session.Expect{Prompt: re(`^root# $`)}},
			func(t *testing.T, s *session.Session, sh *fakeShell) {
				_, err := s.Exec(t.Context(), posix("say hi"))
				wantKind(t, err, term.Busy)
			},
		)
	})
	t.Run("late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			go func() {
				for _, piece := range []string{"motd\r\n", "\x1b[?2004h", "me@host", ":~", "$ "} {
					time.Sleep(400 * time.Millisecond)
					io.WriteString(far, piece)
				}
			}()
			go s.Exec(t.Context(), posix("say hi"))
			time.Sleep(5*400*time.Millisecond + 40*time.Millisecond)
			if i := s.Info(); i.BytesOut != 0 {
				t.Error("typed before the prompt")
			}
			if got := take(t, far, 8); got != " printf " {
				t.Errorf("typed %q at the prompt, want the line's start \" printf \"", got)
			}
		})
	})
	t.Run("an untouched shell's prompt may look like a device's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, "/bin/zsh")
			put(t, far, "host# ")
			go s.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: session.LaneTerminal})
			if got := take(t, far, 8); got != " printf " {
				t.Errorf("typed %q at the prompt, want the line's start \" printf \"", got)
			}
		})
	})
	t.Run("but not a touched one's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, "/bin/zsh")
			typeIn(t, s, "telnet r1\r")
			put(t, far, "host# ")
			_, err := s.Exec(t.Context(), session.ExecRequest{Command: "id"})
			wantKind(t, err, term.Busy)
		})
	})
	t.Run("the prompt it began with, after typing by hand", func(t *testing.T) {
		inShell(t, "demo$ ", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			typeIn(t, s, "say by hand\r")
			time.Sleep(time.Second)
			wantMarker(t, run(t, s, posix("say hi")), "hi\n", 0)
		})
	})
	t.Run("the same, not shown again yet", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			put(t, far, "demo$ ")
			typeIn(t, s, "telnet r1\r")
			_, err := s.Exec(t.Context(), posix("say hi"))
			if e := wantKind(t, err, term.Busy); !strings.Contains(e.Msg, "nothing was shown since") {
				t.Error(e)
			}
		})
	})
	t.Run("another prompt, after typing by hand", func(t *testing.T) {
		inShell(t, "demo$ ", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			sh.prompt = "other$ "
			typeIn(t, s, "say by hand\r")
			time.Sleep(time.Second)
			_, err := s.Exec(t.Context(), posix("say hi"))
			wantKind(t, err, term.Busy)
		})
	})
	t.Run("alternate screen left on", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			run(t, s, posix("crash"))
			wantMarker(t, run(t, s, posix("work 2")), "begun\ndone\n", 3)
		})
	})
	t.Run("time over", func(t *testing.T) {
		inShell(t, "", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix("say hi")
			r.Timeout = time.Second
			var err error
			if took := since(func() { _, err = s.Exec(t.Context(), r) }); took != time.Second {
				t.Errorf("refused after %v", took)
			}
			var e *term.Error
			if !errors.As(err, &e) || e.Kind != term.Busy && e.Kind != term.ExecTimeout {
				t.Errorf("Exec = %v, want Busy or ExecTimeout", err)
			}
		})
	})
	t.Run("session ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			time.AfterFunc(time.Second, func() { far.Close() })
			_, err := s.Exec(t.Context(), posix("id"))
			wantKind(t, err, term.RemoteClosed)
		})
	})
	t.Run("call canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := start(t, 0, session.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.Exec(ctx, posix("id"))
			wantKind(t, err, term.Canceled)
			if len(s.Info().Running) != 0 {
				t.Error("something is left")
			}
		})
	})
}

// A line that goes by is not a prompt, even if it looks like one.
func TestTerminalPassingLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		go func() {
			for i := range 100 {
				time.Sleep(20 * time.Millisecond)
				fmt.Fprintf(far, "\r%d%%", i)
			}
			time.Sleep(20 * time.Millisecond)
			io.WriteString(far, "\r\n"+userPrompt)
		}()
		time.Sleep(time.Second)
		go s.Exec(t.Context(), posix("id"))
		time.Sleep(1040 * time.Millisecond)
		if i := s.Info(); i.BytesOut != 0 {
			t.Error("typed into a progress bar")
		}
		if got := take(t, far, 8); got != " printf " {
			t.Errorf("typed %q at the prompt, want the line's start \" printf \"", got)
		}
	})
}

// shellNamed makes a session with a login shell known to an exec channel.
func shellNamed(t *testing.T, name string) (*session.Session, io.ReadWriter) {
	near, far := widePipe()
	s := session.New(
		&shell{
			Plain: plain{ReadWriteCloser: near},
			OnExec: func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
				if r.Command != "echo $SHELL" {
					return term.Exit{}, fmt.Errorf("ran %q", r.Command)
				}
				io.WriteString(stdout, name+"\n")
				return term.Exit{Known: true}, nil
			},
		},
		session.Options{},
	)
	t.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s, far
}

// The channel lane is an advice only where there is one.
func TestAdviceIsPossible(t *testing.T) {
	long := posix("say " + strings.Repeat("x", 5000))
	elsewhere := posix("say hi")
	elsewhere.Dir = "/tmp"
	refusals := func(t *testing.T, s *session.Session) (texts []string) {
		t.Helper()
		for _, r := range []session.ExecRequest{long, elsewhere, posix("say hi")} {
			r.Lane = session.LaneTerminal
			_, err := s.Exec(t.Context(), r)
			if err == nil {
				t.Fatalf("%.20s ran", r.Command)
			}
			texts = append(texts, err.Error())
		}
		w, err := s.Write(t.Context(), []byte(strings.Repeat("x", 5000)), session.WriteOptions{})
		if err != nil || len(w.Warnings) != 1 {
			t.Fatalf("%+v, %v", w, err)
		}
		return append(texts, w.Warnings...)
	}
	synctest.Test(t, func(t *testing.T) {
		s, far := shellNamed(t, "/bin/sh")
		put(t, far, "[y/N] ")
		for _, text := range refusals(t, s) {
			if !strings.Contains(text, "LaneChannel") && !strings.Contains(text, "use the channel lane") &&
				!strings.Contains(text, "as stdin") {
				t.Errorf("does not name the other lane: %s", text)
			}
		}
	})
	inShell(t, "[y/N] ", session.Options{}, func(t *testing.T, s *session.Session, _ *fakeShell) {
		for _, text := range refusals(t, s) {
			if strings.Contains(text, "LaneChannel") || strings.Contains(text, "use the channel lane") ||
				strings.Contains(text, "as stdin") {
				t.Errorf("advises what this session has not: %s", text)
			}
		}
	})
}

// A prompt at which a line was entered does not count until some output has come, even if the caller names it as the
// prompt: the program that the line starts may take the terminal any moment.
func TestNothingTypedBeforeTheEcho(t *testing.T) {
	for name, expect := range map[string]session.Expect{"found out": {}, "given": {Prompt: re(`\$ $`)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := shellNamed(t, "/bin/bash")
				put(t, far, userPrompt)
				time.Sleep(time.Second)
				typeIn(t, s, "vim\r")
				take(t, far, 4)
				go func() {
					time.Sleep(time.Second) // a slow line
					io.WriteString(far, "vim\r\n\x1b[?1049h~\r\n~")
				}()
				_, err := s.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: session.LaneTerminal, Expect: expect})
				if w := term.FactOf[term.Occupied](wantKind(t, err, term.Busy)).Waiting; w == nil || w.Kind != prompt.Editor {
					t.Errorf("Exec behind an editor waits for %+v, want the editor", w)
				}
				if n := s.Info().BytesOut; n != 4 {
					t.Errorf("%d bytes were typed", n)
				}
			})
		})
	}
}

// A question that was just answered may be about to go: a pager that was left is waited for.
func TestPagerThatWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(
			t,
			0,
			session.Options{Expect: session.Expect{Prompt: re(`^r1# $`), Pagers: []*regexp.Regexp{re(`--More--`)}}},
		)
		put(t, far, "r1# ")
		typeIn(t, s, "list\r")
		take(t, far, 5)
		put(t, far, "list\r\none\r\n --More-- ")
		time.Sleep(time.Second)
		device := session.ExecRequest{Command: "id", Class: session.ClassDevice, Timeout: 10 * time.Second}
		_, err := s.Exec(t.Context(), device)
		wantKind(t, err, term.Busy)
		typeIn(t, s, "q")
		go func() {
			take(t, far, 1)
			time.Sleep(100 * time.Millisecond)
			io.WriteString(far, "\r          \rr1# ")
			take(t, far, 3)
			io.WriteString(far, "id\r\nme\r\nr1# ")
		}()
		if got := run(t, s, device); string(got.Stdout.Bytes()) != "me\n" {
			t.Errorf("%q, %s", got.Stdout.Bytes(), got.Done)
		}
	})
}
