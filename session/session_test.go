package session_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/secret/forms"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/known"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const typed = sessiontest.Typed

// Helpers for all tests of sessions.
type (
	plain = sessiontest.Plain
	shell = sessiontest.Shell
	diary = sessiontest.Diary

	execFunc = sessiontest.ExecFunc
)

var (
	logTo     = sessiontest.LogTo
	start     = sessiontest.Start
	startExec = sessiontest.StartExec
	manage    = sessiontest.Manage
	target    = sessiontest.Target
	dialed    = sessiontest.Dialed
	put       = sessiontest.Put
	take      = sessiontest.Take
	task      = sessiontest.Task
	re        = sessiontest.Re
	wantKind  = sessiontest.WantKind
	since     = sessiontest.Since
	run       = sessiontest.Run
	calls     = sessiontest.Calls
)

func TestSetExpect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(
			t,
			0,
			session.Options{
				Expect: session.Expect{Prompt: re("a"), Pagers: []*regexp.Regexp{re("b")}, Errors: []*regexp.Regexp{re("c")}},
			},
		)
		if err := s.SetExpect(t.Context(), session.Expect{Prompt: re("d"), Pagers: []*regexp.Regexp{}}); err != nil {
			t.Fatal(err)
		}
		if e := s.Expect(); e.Prompt.String() != "d" || len(e.Pagers) != 0 || len(e.Errors) != 1 {
			t.Errorf("expectations = %+v, want prompt \"d\", no pagers and one error pattern", e)
		}
		s.Close(t.Context(), session.CloseOptions{})
		wantKind(t, s.SetExpect(t.Context(), session.Expect{}), term.AlreadyClosed)
	})
}

// TestEndCode: each way in which a session ends has a code, in its Info and in the errors of later calls.
func TestEndCode(t *testing.T) {
	ended := func(exit term.Exit, lost, err error) term.Dialer {
		return func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			near, _ := bufpipe.New(0)
			return &shell{Plain: plain{ReadWriteCloser: &broken{ReadWriteCloser: near, err: err}}, Exit: exit, Lost: lost}, nil
		}
	}
	refused := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		return nil, &term.Error{Kind: term.AuthFailed, Msg: "wrong key"}
	}
	stays := sessiontest.Dialed(nil)
	for _, tc := range []struct {
		want  session.EndCode
		dial  term.Dialer
		c     session.Config
		r     session.OpenRequest
		after func(m *session.Manager, s *session.Session)
	}{
		{want: session.EndExited, dial: ended(term.Exit{Known: true, Code: 3}, nil, io.EOF)},
		{want: session.EndKilled, dial: ended(term.Exit{Known: true, Code: 137, Signal: "KILL"}, nil, io.EOF)},
		{want: session.EndRemoteClosed, dial: ended(term.Exit{}, nil, io.EOF)},
		{want: session.EndLost, dial: ended(term.Exit{}, &term.Error{Kind: term.RemoteClosed, Msg: "no answer"}, io.EOF)},
		{want: session.EndLost, dial: ended(term.Exit{}, nil, errors.New("reset"))},
		{want: session.EndNotOpened, dial: refused},
		{want: session.EndFault, dial: func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			panic("in a dialer")
		}},
		{want: session.EndClosed, dial: stays, after: func(_ *session.Manager, s *session.Session) {
			s.Close(context.Background(), session.CloseOptions{})
		}},
		{want: session.EndIdle, dial: stays, r: session.OpenRequest{IdleTimeout: time.Minute}},
		{want: session.EndMaxAge, dial: stays, c: session.Config{MaxAge: time.Hour}},
		{want: session.EndMaxAge, dial: stays, r: session.OpenRequest{Life: time.Minute}},
		{want: session.EndShutdown, dial: stays, after: func(m *session.Manager, _ *session.Session) { m.Close(context.Background()) }},
	} {
		t.Run(string(tc.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen diary
				tc.c.Observers = append(tc.c.Observers, &seen)
				tc.c.Retention = 24 * time.Hour
				m := sessiontest.Manage(t, tc.dial, tc.c)
				tc.r.Target.Protocol = "test"
				o, _ := m.Open(t.Context(), tc.r)
				s := o.Session
				if s == nil { // it never opened, and the list has it
					i := m.List()[0]
					s, _ = m.Get(i.ID)
				}
				if code := s.Info().End.Code; !s.State().Ended() && code != "" {
					t.Errorf("the code of a session that lives = %q, want none", code)
				}
				if tc.after != nil {
					tc.after(m, s)
				}
				<-s.Ended()
				if i := s.Info(); i.End.Code != tc.want || i.End.Reason == "" {
					t.Errorf("End = %+v, want code %q", i.End, tc.want)
				}
				_, err := answer(s, "x")
				if got := term.FactOf[term.Ended](err).Code; got != string(tc.want) {
					t.Errorf("Write after the end = %v with code %q, want %q", err, got, tc.want)
				}
			})
		})
	}
}

// TestExecWhoseCallIsCanceled: the wait ends at once. The command goes on to its deadline, or, if that was asked, is
// stopped; either way its id is known and its output is there.
func TestExecWhoseCallIsCanceled(t *testing.T) {
	for name, stop := range map[string]bool{"goes on": false, "is stopped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startExec(t, obedient("some output"), session.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				_, err := s.Exec(ctx, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, StopOnCancel: stop})
				if !errors.Is(err, term.Canceled) || !strings.Contains(err.Error(), "exec-") || time.Since(began) != time.Second {
					t.Fatalf("%v after %v", err, time.Since(began))
				}
				synctest.Wait()
				i := s.Info()
				if running := !stop; (len(i.Running) == 1) != running || (len(i.Unfetched) == 1) == running ||
					s.ServerView().Received() != int64(len("some output")) {
					t.Fatalf("running %q, fetched by nobody %q, %d bytes", i.Running, i.Unfetched, s.ServerView().Received())
				}
				id := append(i.Running, i.Unfetched...)[0]
				res, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
				if err != nil || string(res.Stdout.Bytes()) != "some output" || res.Canceled != stop || res.TimedOut == stop {
					t.Errorf("%+v, %v", res, err)
				}
				if i = s.Info(); len(i.Running)+len(i.Unfetched) != 0 {
					t.Errorf("afterwards running %q, fetched by nobody %q", i.Running, i.Unfetched)
				}
			})
		})
	}
}

// TestContinueThatIsCanceled: who waits for a command that is to be stopped with its call is such a call as well.
func TestContinueThatIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient(""), session.Options{})
		res, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second, StopOnCancel: true},
		)
		if err != nil || res.Done != session.DoneRunning {
			t.Fatalf("%+v, %v", res, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.ContinueExec(ctx, res.ID, session.ContinueRequest{Wait: time.Minute}); !errors.Is(err, term.Canceled) {
			t.Errorf("ContinueExec with an ended context = %v, want Canceled", err)
		}
		synctest.Wait()
		if i := s.Info(); len(i.Running) != 0 {
			t.Errorf("%q still runs", i.Running)
		}
	})
}

func TestExecCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		id := run(t, s, session.ExecRequest{Command: "id", Wait: time.Second}).ID
		got, err := s.CancelExec(t.Context(), id, session.ContinueRequest{})
		if err != nil || got.Done != session.DoneTimeout || !got.Canceled || got.TimedOut || got.ExitReason != "canceled" ||
			got.Exit.Killed != "yes" ||
			string(got.Stdout.Bytes()) != "some" ||
			got.ID != "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// The call that is canceled leaves its command running.
func TestExecCallCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Exec(ctx, session.ExecRequest{Command: "id"})
		e := wantKind(t, err, term.Canceled)
		if running := s.Info().Running; len(running) != 1 || !strings.Contains(e.Msg, running[0]) {
			t.Errorf("running %q, error %v", running, e)
		}
	})
}

// The error of a call that ends because the program does must not say that its command goes on.
func TestExecCallEndsWithTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(fmt.Errorf("the client has gone: %w", term.ErrStopping)) })
		_, err := s.Exec(ctx, session.ExecRequest{Command: "id"})
		e := wantKind(t, err, term.Canceled)
		if strings.Contains(e.Msg+e.Advice, "goes on") || !strings.Contains(e.Msg, "stopping") || e.Reason != "" {
			t.Errorf("error %v, want that the command ends, too", e)
		}
	})
}

// The deadline is kept though the far side does not obey it, and later output is not lost.
func TestExecTimeout(t *testing.T) {
	for _, c := range []struct {
		late   time.Duration
		killed string
		took   time.Duration
	}{{0, "yes", 2 * time.Second}, {100 * time.Millisecond, "yes", 2100 * time.Millisecond}, {
		10 * time.Second, "unknown",
		3 * time.Second,
	}} {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
				io.WriteString(stdout, "some")
				<-ctx.Done()
				time.Sleep(c.late)
				io.WriteString(stdout, " more")
				return term.Exit{Killed: "yes"}, nil
			}, session.Options{})
			var got session.ExecResult
			took := since(func() { got = run(t, s, session.ExecRequest{Command: "id", Timeout: 2 * time.Second}) })
			if took != c.took || got.Done != session.DoneTimeout || !got.TimedOut || got.Canceled ||
				got.ExitReason != "timeout" ||
				got.Exit.Killed != c.killed {
				t.Errorf("late %v: %+v after %v", c.late, got, took)
			}
			if c.killed != "unknown" {
				return
			}
			time.Sleep(c.late)
			if got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{}); err != nil ||
				got.Exit.Killed != "yes" || !got.TimedOut ||
				string(got.Stdout.Bytes()) != "some more" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A pipe is a terminal with a far side in this program.
type pipe struct{ net.Conn }

func (pipe) Resize(cols, rows int) error { return nil }

// Type a command, and read its output until the prompt is back.
func Example() {
	near, far := net.Pipe()
	go func() { // a shell that knows one command
		line, _ := bufio.NewReader(far).ReadString('\r')
		io.WriteString(far, line+"\nLinux\r\n$ ")
	}()

	ctx := context.Background()
	s := session.New(pipe{near}, session.Options{})
	defer s.Close(ctx, session.CloseOptions{})

	w, err := s.Write(ctx, []byte("uname\r"), session.WriteOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	chunk := s.Read(ctx, session.ReadRequest{
		Cursor:  w.Cursor,
		Until:   regexp.MustCompile(`\$ $`),
		Timeout: 5 * time.Second,
	})
	fmt.Printf("%s: %q\n", chunk.Reason, chunk.Data)
	// Output: matched: "uname\r\nLinux\r\n$ "
}

// A session shows a secret that it got nowhere: not in its output, in events, in questions of the login or in the
// reason of its end.
func TestKnownSecrets(t *testing.T) {
	const secret = "planted-horse-1138"
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var seen diary
			registry := known.NewRegistry()
			defer registry.Close()
			near, far := bufpipe.New(0)
			dial := func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
				registry.Redact(term.RedactedValue{Value: []byte(secret), Session: p.(*session.Session).ID()})
				if _, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptChallenge, Text: "was " + secret + " right? "}); err != nil {
					return nil, err
				}
				if refused {
					return nil, &term.Error{Kind: term.AuthFailed, Msg: "the host said: no " + secret}
				}
				return &plain{ReadWriteCloser: near}, nil
			}
			m := manage(t, dial, session.Config{
				Input: session.InputOptions{Known: registry}, Observers: []term.Observer{&seen},
			})
			r, err := m.Open(t.Context(), target("web1"))
			if err != nil || r.Prompt.Text != "was ******** right? " {
				t.Fatalf("Open = %+v, %v; want a question with a mask", r.Prompt, err)
			}
			s := r.Session
			if _, err := answer(s, "yes\r"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if refused {
				i := s.Info()
				if strings.Contains(fmt.Sprintf("%+v %v", i, i.End.Err), secret) || !strings.Contains(i.End.Reason, "no ********") {
					t.Errorf("the end of the session is %+v, want a mask", i.End)
				}
				return
			}
			put(t, far, "it is "+secret+"\r\nand "+secret[:9]+"\r\n"+secret[9:]+".\r\n")
			time.Sleep(forms.Brief + time.Millisecond)
			got := string(s.Read(t.Context(), session.ReadRequest{NoWait: true}).Data)
			if want := "was ******** right? \r\nit is ********\r\nand ********.\r\n"; got != want {
				t.Errorf("the output is %q, want %q", got, want)
			}
			var observed strings.Builder
			for _, e := range seen.Of(term.VerbOutput) {
				observed.Write(e.Data)
			}
			stars := strings.Repeat("*", len(secret))
			if want := "it is " + stars + "\r\nand " + stars[:9] + "\r\n" + stars[9:] + ".\r\n"; observed.String() != want {
				t.Errorf("the observers got %q, want %q", observed.String(), want)
			}
		})
	}
}

// A fishTerminal describes its shell as fish.
type fishTerminal struct{ io.ReadWriteCloser }

func (fishTerminal) Resize(int, int) error { return nil }

func (fishTerminal) Describe() term.Description { return term.Description{PTY: true, Shell: "fish"} }

// TestDescribedShell: the line of a command is of the shell that the Transport names, and nothing is asked of it.
func TestDescribedShell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		s := session.New(fishTerminal{near}, session.Options{})
		defer s.Close(t.Context(), session.CloseOptions{})
		put(t, far, "web1 $ ")
		done := make(chan error)
		go func() {
			_, err := s.Exec(t.Context(), session.ExecRequest{Command: "true", Timeout: time.Second})
			done <- err
		}()
		line := make([]byte, 4096)
		n, err := far.Read(line)
		if typed := string(line[:n]); err != nil || !strings.Contains(typed, "$status") {
			t.Errorf("typed %q (%v), want a line for fish", typed, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
