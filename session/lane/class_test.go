package lane_test

import (
	"context"
	"io"
	"regexp"
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

// nestedEnd matches a line with a marker, as a POSIX shell or fish gets it: its nonce.
var nestedEnd = regexp.MustCompile(`^ printf '\\036S=%s\\037\\n' (\w+); [^\r]*\r`)

// takeLine returns the next line that was typed, and the nonce of its marker.
func takeLine(t *testing.T, far io.Reader) (line, nonce string) {
	t.Helper()
	for !strings.HasSuffix(line, "\r") {
		line += take(t, far, 1)
	}
	if m := nestedEnd.FindStringSubmatch(line); m != nil {
		nonce = m[1]
	}
	return line, nonce
}

// A shell that was left takes a while to go, and shows nothing then. A command of that time is typed when the shell
// around it is at its prompt, and in the form of that shell: another form stays in fish's editor.
func TestClassOfTheShellThatIsBack(t *testing.T) {
	const fishPrompt = "me@host ~> "
	end := func(nonce string) string { return "\x1eRC=0\x1f\r\nPTYCTL_RC_" + nonce + "=0:END_" + nonce + "\r\n" }
	// leave starts bash in fish and has a caller leave it; back shows the marker and the prompt of fish.
	leave := func(t *testing.T, s *session.Session, far io.ReadWriter) (back func()) {
		t.Helper()
		put(t, far, fishPrompt)
		began := make(chan session.ExecResult, 1)
		go func() {
			began <- run(t, s, session.ExecRequest{Command: "bash --norc", Lane: session.LaneTerminal, Timeout: time.Hour})
		}()
		line, nonce := takeLine(t, far)
		if !strings.Contains(line, "$status") {
			t.Fatalf("typed %q to fish", line)
		}
		put(t, far, line+"\n\x1eS="+nonce+"\x1f\r\nbash-5.2$ ")
		if r := <-began; r.WaitingFor == nil || r.WaitingFor.Kind != "prompt" {
			t.Fatalf("bash within fish: %s, waiting for %+v", r.Done, r.WaitingFor)
		}
		go func() {
			began <- run(t, s, session.ExecRequest{Command: "cd /usr", Lane: session.LaneTerminal, Timeout: time.Hour})
		}()
		line, within := takeLine(t, far)
		if strings.Contains(line, "$status") {
			t.Fatalf("typed %q to bash", line)
		}
		put(t, far, line+"\n\x1eS="+within+"\x1f\r\n"+end(within)+"bash-5.2$ ")
		wantMarker(t, <-began, "", 0)
		typeIn(t, s, "exit\r")
		take(t, far, len("exit\r"))
		put(t, far, "exit\r\nexit\r\n")
		return func() {
			put(t, far, end(nonce))
			put(t, far, fishPrompt)
		}
	}
	for _, wait := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, "/usr/bin/fish")
			back := leave(t, s, far)
			got := make(chan session.ExecResult, 1)
			go func() {
				got <- run(t, s, session.ExecRequest{Command: "pwd", Lane: session.LaneTerminal, Timeout: 10 * time.Second})
			}()
			time.Sleep(wait)
			back()
			line, nonce := takeLine(t, far)
			if !strings.Contains(line, "$status") {
				t.Errorf("fish back after %v: typed %q, want the form of fish", wait, line)
			}
			put(t, far, "\x1eS="+nonce+"\x1f\r\n/usr\r\n"+end(nonce)+fishPrompt)
			if r := <-got; string(r.Stdout.Bytes()) != "/usr\n" || !r.Exit.OK() {
				t.Errorf("fish back after %v: %q, %+v (%s)", wait, r.Stdout.Bytes(), r.Exit, r.Done)
			}
		})
	}
	// Words were quoted for bash, and perhaps judged as its: they are not typed to another shell.
	for _, class := range []session.Class{"", session.ClassUnknown} {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, "/usr/bin/fish")
			back := leave(t, s, far)
			failed := make(chan error, 1)
			before := s.Info().BytesOut
			words := session.ExecRequest{Argv: []string{"echo", "it's"}, Class: class, Lane: session.LaneTerminal, Timeout: 10 * time.Second}
			go func() {
				_, err := s.Exec(t.Context(), words)
				failed <- err
			}()
			time.Sleep(time.Second)
			back()
			e := wantKind(t, <-failed, term.Busy)
			if n := s.Info().BytesOut - before; n != 0 || !strings.Contains(e.Message(), "class posix") {
				t.Errorf("class %q: %d bytes typed, %v", class, n, e)
			}
			if class != "" {
				return
			}
			go s.Exec(t.Context(), words)
			if line, _ := takeLine(t, far); !strings.Contains(line, "$status") {
				t.Errorf("the same call again typed %q", line)
			}
		})
	}
}
