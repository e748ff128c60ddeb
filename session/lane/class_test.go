package lane_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

func TestClassAskedOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		exec  func(n int, ctx context.Context, stdout io.Writer) (term.Exit, error)
		asked int
	}{
		{"answered", func(_ int, _ context.Context, w io.Writer) (term.Exit, error) {
			io.WriteString(w, "/bin/bash\n")
			return term.Exit{Known: true}, nil
		}, 1},
		{"no shell", func(_ int, _ context.Context, w io.Writer) (term.Exit, error) {
			io.WriteString(w, strings.Repeat("no such command ", 1<<12))
			return term.Exit{Known: true, Code: 1}, nil
		}, 1},
		{"slow", func(n int, ctx context.Context, w io.Writer) (term.Exit, error) {
			if n == 1 {
				<-ctx.Done()
				return term.Exit{}, ctx.Err()
			}
			io.WriteString(w, "/bin/bash\n")
			return term.Exit{Known: true}, nil
		}, 2},
		{"refused", func(n int, _ context.Context, w io.Writer) (term.Exit, error) {
			if n == 1 {
				return term.Exit{}, &term.Error{Kind: term.LimitExceeded}
			}
			io.WriteString(w, "/bin/bash\n")
			return term.Exit{Known: true}, nil
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := widePipe()
				asked := 0
				s := session.New(
					&shell{
						Plain: plain{ReadWriteCloser: near},
						OnExec: func(ctx context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
							asked++
							return tt.exec(asked, ctx, stdout)
						},
					},
					session.Options{},
				)
				defer s.Close(context.Background(), session.CloseOptions{Force: true})
				put(t, far, userPrompt)
				r := session.ExecRequest{
					Command: "id",
					Lane:    session.LaneTerminal,
					Expect:  session.Expect{Prompt: re(`\$ $`)},
					Idle:    time.Second,
				}
				r.Timeout = time.Second
				go io.Copy(io.Discard, far)
				for range 2 {
					if _, err := s.Exec(t.Context(), r); err != nil {
						t.Fatal(err)
					}
					put(t, far, "\r\n"+userPrompt)
					time.Sleep(10 * time.Second)
				}
				if asked != tt.asked {
					t.Errorf("asked %d times, want %d", asked, tt.asked)
				}
			})
		})
	}
	t.Run("nobody to ask", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, session.ExecRequest{Command: "say hi"})
			if got.Exit.Known || got.ExitReason != "no_status" || got.Done != session.DonePrompt {
				t.Errorf("say hi = %+v, want no_status, back at the prompt", got)
			}
			if !slices.Equal(sh.ran, []string{"say hi"}) {
				t.Errorf("ran %q", sh.ran)
			}
		})
	})
}

// Only a shell that is known by its name is one without a marker; of anything else nothing is claimed.
func TestNoStatusIsNoShell(t *testing.T) {
	for login, want := range map[string]string{
		"/usr/bin/nu":                        "unsupported_shell",
		"% Invalid input at '^' marker.":     "no_status",
		"":                                   "no_status",
		"Unknown command: echo $SHELL (vsh)": "no_status",
	} {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, login)
			put(t, far, "r1# ")
			go func() {
				take(t, far, 3)
				io.WriteString(far, "id\r\nme\r\nr1# ")
			}()
			got := run(t, s, session.ExecRequest{Command: "id", Lane: session.LaneTerminal, Timeout: time.Minute})
			if got.ExitReason != want || got.Exit.Known || got.Done != session.DonePrompt {
				t.Errorf("exec where %q is the login shell = %+v, want %s", login, got, want)
			}
		})
	}
}
