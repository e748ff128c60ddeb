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
	"ptyctl/session/prompt"
	"ptyctl/term"
)

const userPrompt = "me@host:~$ "

// posix is a command for a POSIX shell in the terminal.
func posix(command string) session.ExecRequest {
	return session.ExecRequest{Command: command, Class: session.ClassPosix}
}

// inShell runs f in a bubble with a session on a fakeShell that has shown its prompt for a while.
func inShell(t *testing.T, prompt string, o session.Options, f func(t *testing.T, s *session.Session, sh *fakeShell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, sh := startShell(t, "", prompt, o)
		time.Sleep(time.Second)
		f(t, s, sh)
	})
}

// wantMarker fails the test unless the command ended with that output and status.
func wantMarker(t *testing.T, got session.ExecResult, out string, status int) {
	t.Helper()
	if string(got.Stdout.Bytes()) != out || got.Exit != (term.Exit{Known: true, Code: status}) ||
		got.Done != session.DoneMarker ||
		got.Lane != session.LaneTerminal ||
		got.ExitReason != "" ||
		got.ID != "" ||
		got.WaitingFor != nil {
		t.Errorf("%q: %+v, want %q and status %d", got.Stdout.Bytes(), got, out, status)
	}
}

func TestTerminalMarker(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		wantMarker(t, run(t, s, posix("say it's here")), "it's here\n", 0)
		wantMarker(t, run(t, s, posix("status 7")), "", 7) // the prompt need not be there yet
		custom := posix("status 5")
		custom.MarkerPrefix, custom.MarkerSuffix = "<rc ", ">"
		wantMarker(t, run(t, s, custom), "", 5)
		typeIn(t, s, "cd /tmp\r")
		wantMarker(t, run(t, s, posix("say there")), "there\n", 0)
		if want := []string{"say it's here", "status 7", "status 5", "cd /tmp", "say there"}; !slices.Equal(sh.ran, want) {
			t.Errorf("ran %q, want %q", sh.ran, want)
		}
	})
}

func TestTerminalRefused(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		for _, tt := range []struct {
			r    session.ExecRequest
			kind term.Kind
		}{
			{session.ExecRequest{Command: strings.Repeat("a", 4000)}, term.InvalidArgument},
			{session.ExecRequest{Command: strings.Repeat("'", 1000)}, term.InvalidArgument},
			{session.ExecRequest{Command: strings.Repeat("a", 4001), Class: session.ClassDevice}, term.InvalidArgument},
			{session.ExecRequest{Command: "a\x00b"}, term.InvalidArgument},
			{session.ExecRequest{Command: "a", MarkerPrefix: "<"}, term.InvalidArgument},
			{session.ExecRequest{Command: "a", MarkerSuffix: ">"}, term.InvalidArgument},
			{session.ExecRequest{Command: "a", MarkerPrefix: "<", MarkerSuffix: "1"}, term.InvalidArgument},
			{session.ExecRequest{Command: "a", MarkerPrefix: "<", MarkerSuffix: ">", Class: session.ClassCmd}, term.Unsupported},
			{session.ExecRequest{Command: "a\tb", Class: session.ClassCmd}, term.InvalidArgument},
			{session.ExecRequest{Command: "a\x03", Class: session.ClassDevice}, term.InvalidArgument},
			{session.ExecRequest{Command: "a\tb", Class: session.ClassDevice}, term.InvalidArgument},
			{session.ExecRequest{Command: "a\nb", NoMarker: true}, term.Unsupported},
			{session.ExecRequest{Command: "a\nb", Class: session.ClassCsh}, term.Unsupported},
			{session.ExecRequest{Command: "a\rb", Class: session.ClassCmd}, term.Unsupported},
			{session.ExecRequest{Command: "a", Dir: "/"}, term.Unsupported},
			{session.ExecRequest{Command: "a", Stdin: []byte("x")}, term.Unsupported},
			{session.ExecRequest{Command: "a", Env: []term.EnvVar{{Name: "A"}}}, term.Unsupported},
		} {
			if tt.r.Class == "" {
				tt.r.Class = session.ClassPosix
			}
			_, err := s.Exec(t.Context(), tt.r)
			wantKind(t, err, tt.kind)
		}
		if i := s.Info(); i.BytesOut != 0 {
			t.Errorf("%d bytes were typed", i.BytesOut)
		}
		wantMarker(t, run(t, s, posix("status 1")), "", 1)
	})
}

// Where the line editor takes little, less is typed.
func TestTerminalLineEditor(t *testing.T) {
	for name, refused := range map[string]bool{"/bin/ash": true, "/bin/busybox": true, "/bin/dash": false} {
		synctest.Test(t, func(t *testing.T) {
			s, far := shellNamed(t, name)
			put(t, far, userPrompt)
			_, err := s.Exec(
				t.Context(),
				session.ExecRequest{Command: strings.Repeat("a", 1000), Lane: session.LaneTerminal, Timeout: time.Second},
			)
			if refused {
				wantKind(t, err, term.InvalidArgument)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTerminalLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := widePipe()
		s := session.New(
			&shell{
				Plain: plain{ReadWriteCloser: near},
				OnExec: func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
					return term.Exit{Known: true}, nil
				},
			},
			session.Options{},
		)
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		put(t, far, userPrompt)
		lane := func(r session.ExecRequest) session.Lane {
			r.Timeout = time.Second
			got, err := s.Exec(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return got.Lane
		}
		if got := lane(posix("id")); got != session.LaneChannel {
			t.Errorf("untouched: %s", got)
		}
		custom := posix("id")
		custom.MarkerPrefix, custom.MarkerSuffix, custom.Expect.Prompt = "<", ">", re(`\$ $`)
		if got := lane(custom); got != session.LaneTerminal {
			t.Errorf("custom marker: %s", got)
		}
		put(t, far, "\r\n"+userPrompt)
		time.Sleep(10 * time.Second)
		r := posix("id")
		r.Expect.Prompt = re(`\$ $`)
		if got := lane(r); got != session.LaneTerminal {
			t.Errorf("touched: %s", got)
		}
		r.Lane = session.LaneChannel
		if got := lane(r); got != session.LaneChannel {
			t.Errorf("channel: %s", got)
		}
	})
}

// The lock and the Gate are asked once, for the exec, and events name the exec alone.
func TestTerminalPermitted(t *testing.T) {
	var verbs []term.Verb
	seen := &diary{}
	o := session.Options{
		Observers: []term.Observer{seen},
		Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			verbs = append(verbs, a.Verb)
			if a.Verb == term.VerbExec && a.Command == "evil" {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
			}
			return term.Ruling{}, nil
		},
	}
	inShell(t, userPrompt, o, func(t *testing.T, s *session.Session, sh *fakeShell) {
		wantMarker(t, run(t, s, posix("say hi")), "hi\n", 0)
		if !slices.Equal(verbs, []term.Verb{term.VerbExec}) {
			t.Errorf("the Gate was asked %q", verbs)
		}
		if got := seen.Of(term.VerbExec); len(got) != 1 || got[0].Command != "say hi" || len(seen.Of(term.VerbWrite)) != 0 {
			t.Errorf("events %+v", got)
		}
		_, err := s.Exec(t.Context(), posix("evil"))
		wantKind(t, err, term.PolicyDenied)
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		_, err = s.Exec(task("t2"), posix("say no"))
		wantKind(t, err, term.Locked)
		if !slices.Equal(sh.ran, []string{"say hi"}) {
			t.Errorf("ran %q", sh.ran)
		}
		got, err := s.Exec(task("t1"), posix("say yes"))
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "yes\n", 0)
	})
}

// A terminal that takes nothing.
func TestTerminalStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := narrowPipe()
		s := session.New(&plain{ReadWriteCloser: near}, session.Options{WriteTimeout: time.Second})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		go io.WriteString(far, userPrompt)
		time.Sleep(time.Second)
		_, err := s.Exec(t.Context(), posix("id"))
		wantKind(t, err, term.ExecTimeout)
		if len(s.Info().Running) != 0 {
			t.Error("something is left")
		}
	})
}

// A command that got its prompt back without a marker gives way to the next one.
func TestTerminalYields(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		got := run(t, s, posix("nest"))
		if got.Done != session.DoneRunning || got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Command {
			t.Fatalf("nest = %+v, want it waiting at a shell's prompt", got)
		}
		wantMarker(t, run(t, s, posix("say inside")), "inside\n", 0)
		synctest.Wait() // the first one sees the other's prompt by itself
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil || got.Done != session.DonePrompt || got.Exit.Known || got.ExitReason != "marker_not_seen" ||
			got.Prompt == nil ||
			!*got.Prompt {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
