package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/session/marker"
	"ptyctl/sshx"
	"ptyctl/term"
)

// obedient prints text and ends when it is stopped.
func obedient(text string) execFunc {
	return func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
		io.WriteString(stdout, text)
		<-ctx.Done()
		return term.Exit{Killed: "yes"}, nil
	}
}

func TestExecResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
			time.Sleep(time.Second)
			fmt.Fprintf(stdout, "%s in %s with %v and %s\n", r.Command, r.Dir, r.Env, r.Stdin)
			io.WriteString(stderr, "error: no\nerror: never\n")
			return term.Exit{Known: true, Code: 3}, nil
		}, session.Options{Expect: session.Expect{Errors: []*regexp.Regexp{re(`error: \w+`)}}})
		got := run(
			t,
			s,
			session.ExecRequest{Command: "id", Dir: "/tmp", Env: []term.EnvVar{{Name: "A", Value: "b"}}, Stdin: []byte("in")},
		)
		if string(got.Stdout.Bytes()) != "id in /tmp with [{A b}] and in\n" ||
			string(got.Stderr.Bytes()) != "error: no\nerror: never\n" {
			t.Errorf("stdout %q, stderr %q", got.Stdout.Bytes(), got.Stderr.Bytes())
		}
		if got.Exit != (term.Exit{Known: true, Code: 3}) || got.Done != session.DoneExitStatus || got.ExitReason != "" ||
			got.Lane != session.LaneChannel ||
			got.Duration != time.Second ||
			got.TimedOut ||
			got.Canceled {
			t.Errorf("id = %+v, want exit code 3 after 1s, on the channel lane", got)
		}
		if got.ID != "" {
			t.Errorf("id %s though there is nothing more to get", got.ID)
		}
		if !slices.Equal(got.ErrorHints, []string{"error: no", "error: never"}) {
			t.Errorf("hints %q", got.ErrorHints)
		}
		if i := s.Info(); i.Execs != 1 || len(i.Running) != 0 {
			t.Errorf("info = %+v, want one exec and none running", i)
		}
	})
}

// Hints are few and short, and made of whole runes.
func TestExecErrorHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
			io.WriteString(stdout, strings.Repeat("error\n", 3))
			io.WriteString(stderr, "x"+strings.Repeat("€", 100)+strings.Repeat("\nerror", 10))
			return term.Exit{Known: true}, nil
		}, session.Options{Expect: session.Expect{Errors: []*regexp.Regexp{re("nothing")}}})
		expect := session.Expect{Errors: []*regexp.Regexp{re("x€+"), re("error")}}
		got := run(t, s, session.ExecRequest{Command: "id", Expect: expect}).ErrorHints
		if !slices.Equal(got, []string{"error", "error", "error", "x" + strings.Repeat("€", 66), "error"}) {
			t.Errorf("error hints = %q, want five, the long one cut between runes", got)
		}
		if len(s.Expect().Errors) != 1 {
			t.Error("an exec changed the session's patterns")
		}
	})
}

func TestExecNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{}, nil
		}, session.Options{})
		if got := run(t, s, session.ExecRequest{Command: "id"}); got.Done != session.DoneEOF ||
			got.ExitReason != "no_status" {
			t.Errorf("exec without exit status = %+v, want eof and no_status", got)
		}
	})
}

func TestExecRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			t.Error("it ran")
			return term.Exit{}, nil
		}, session.Options{})
		for _, c := range []struct {
			r    session.ExecRequest
			kind term.Kind
		}{
			{session.ExecRequest{}, term.InvalidArgument},
			{session.ExecRequest{Command: " \t\n"}, term.InvalidArgument},
			{session.ExecRequest{Command: "printf a\x00b"}, term.InvalidArgument},
			{session.ExecRequest{Command: "id", Lane: "fast"}, term.InvalidArgument},
		} {
			_, err := s.Exec(t.Context(), c.r)
			wantKind(t, err, c.kind)
		}
		for _, err := range []error{
			second(s.ContinueExec(t.Context(), "exec-none", session.ContinueRequest{})),
			second(s.CancelExec(t.Context(), "", session.ContinueRequest{})),
			second(s.ReadExec(t.Context(), "exec-none", "stdout", session.ReadRequest{NoWait: true})),
		} {
			wantKind(t, err, term.NotFound)
		}
		none, _ := start(t, 0, session.Options{})
		_, err := none.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: session.LaneChannel})
		wantKind(t, err, term.Unsupported)
	})
}

func second[T any](_ T, err error) error { return err }

// Once something was typed, "auto" means the terminal.
func TestExecAutoLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{Known: true}, nil
		}, session.Options{})
		run(t, s, session.ExecRequest{Command: "id", Lane: session.LaneAuto})
		if _, err := answer(s, "sudo -i\r"); err != nil {
			t.Fatal(err)
		}
		for _, lane := range []session.Lane{"", session.LaneAuto} {
			// cwd belongs to the channel lane: the terminal's refuses it before anything is typed.
			_, err := s.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: lane, Dir: "/"})
			wantKind(t, err, term.Unsupported)
		}
		run(t, s, session.ExecRequest{Command: "id", Lane: session.LaneChannel})
	})
}

// A slowStart is a terminal on which a long write has the turn for a while before its first byte goes out.
type slowStart struct {
	shell
	begin chan struct{} // closed when it may go out
}

func (s *slowStart) Divide(_ []byte, limit int) int {
	<-s.begin
	return limit
}

// A command behind a write of the same client finds the terminal as the write leaves it: it runs in the terminal, and is
// not typed at the prompt that the write has answered.
func TestExecBehindAWrite(t *testing.T) {
	for _, lane := range []session.Lane{session.LaneAuto, session.LaneTerminal} {
		synctest.Test(t, func(t *testing.T) {
			near, far := bufpipe.New(0)
			it := &slowStart{shell{Plain: plain{ReadWriteCloser: near}}, make(chan struct{})}
			it.OnExec = func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
				t.Error("the command ran beside the terminal")
				return term.Exit{Known: true}, nil
			}
			s := session.New(it, session.Options{})
			defer s.Close(context.Background(), session.CloseOptions{Force: true})
			put(t, far, "$ ")
			time.Sleep(time.Second)
			input := "cat\r" + strings.Repeat("x", 4<<10)
			var done sync.WaitGroup
			done.Go(func() {
				if w, err := s.Write(t.Context(), []byte(input), session.WriteOptions{}); err != nil || w.Written != len(input) {
					t.Errorf("the write: %+v, %v", w, err)
				}
			})
			synctest.Wait()
			done.Go(func() {
				_, err := s.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: lane, Class: session.ClassPosix})
				wantKind(t, err, term.Busy)
			})
			time.Sleep(time.Second)
			close(it.begin)
			if got := take(t, far, len(input)); got != input {
				t.Errorf("typed were %.20q...", got)
			}
			done.Wait()
			if n := s.Info().BytesOut; n != int64(len(input)) {
				t.Errorf("%d bytes were typed, want those of the write alone: %d", n, len(input))
			}
		})
	}
}

// A list of steps that types nothing leaves the terminal as it is, so a command runs beside it at once.
func TestExecBesideAWaitingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{Known: true}, nil
		}, session.Options{})
		go s.WriteSteps(t.Context(), []session.Step{{Wait: session.StepWait{Idle: time.Minute}}}, time.Hour)
		synctest.Wait()
		if got := run(t, s, session.ExecRequest{Command: "id"}); got.Lane != session.LaneChannel || got.Duration != 0 {
			t.Errorf("the command ran in lane %s for %v, want the channel at once", got.Lane, got.Duration)
		}
	})
}

func TestExecContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			for i := range 3 {
				time.Sleep(time.Second)
				fmt.Fprintln(stdout, i)
			}
			return term.Exit{Known: true}, nil
		}, session.Options{})
		got := run(t, s, session.ExecRequest{Command: "id", Wait: 1500 * time.Millisecond})
		if got.Done != session.DoneRunning || got.ExitReason != "running" || got.Exit != (term.Exit{}) ||
			string(got.Stdout.Bytes()) != "0\n" ||
			got.ID == "" {
			t.Fatalf("exec after 1.5s = %+v, want it running, with stdout \"0\\n\" and an id", got)
		}
		if r := s.Info().Running; !slices.Equal(r, []string{got.ID}) {
			t.Errorf("running %q", r)
		}
		if c, err := s.ReadExec(t.Context(), got.ID, "stdout",
			session.ReadRequest{Until: re(`1\n`), Timeout: time.Minute}); err != nil ||
			string(c.Data) != "0\n1\n" {
			t.Errorf("%q, %v", c.Data, err)
		}
		_, err := s.ReadExec(t.Context(), got.ID, "stdin", session.ReadRequest{NoWait: true})
		wantKind(t, err, term.InvalidArgument)
		if got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{}); err != nil ||
			got.Done != session.DoneRunning ||
			string(got.Stdout.Bytes()) != "0\n1\n" {
			t.Fatalf("%+v, %v", got, err)
		}
		id := got.ID
		if got, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Minute}); err != nil ||
			got.Done != session.DoneExitStatus ||
			string(got.Stdout.Bytes()) != "0\n1\n2\n" ||
			got.Duration != 3*time.Second {
			t.Fatalf("%+v, %v", got, err)
		}
		// A caller that knows the id may ask again, as long as it is kept.
		if again, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{}); err != nil ||
			string(again.Stdout.Bytes()) != "0\n1\n2\n" ||
			again.Done != session.DoneExitStatus {
			t.Errorf("again: %+v, %v", again, err)
		}
		time.Sleep(6 * time.Minute)
		_, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{})
		wantKind(t, err, term.NotFound)
	})
}

func TestExecsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			time.Sleep(time.Second)
			io.WriteString(stdout, r.Command)
			return term.Exit{Known: true}, nil
		}, session.Options{})
		results := make(chan bool)
		took := since(func() {
			for i := range 20 {
				go func() {
					got, err := s.Exec(t.Context(), session.ExecRequest{Command: fmt.Sprint(i)})
					results <- err == nil && string(got.Stdout.Bytes()) == fmt.Sprint(i)
				}()
			}
			for range 20 {
				if !<-results {
					t.Error("a wrong result")
				}
			}
		})
		if took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestExecFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		output string
		err    error
		kind   term.Kind // "": a result
	}{
		{"before the start", "", &term.Error{Kind: term.LimitExceeded, Msg: "no more channels"}, term.LimitExceeded},
		{"with a foreign error", "", errors.New("reset"), term.IOError},
		{"after some output", "some", errors.New("reset"), ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
				io.WriteString(stdout, c.output)
				return term.Exit{}, c.err
			}, session.Options{})
			got, err := s.Exec(t.Context(), session.ExecRequest{Command: "id", Lane: session.LaneChannel})
			if c.kind != "" {
				if e := wantKind(t, err, c.kind); e.Op != "exec" || e.Session != s.ID() {
					t.Errorf("%s: %+v", c.name, e)
				}
			} else if err != nil || got.Done != session.DoneEOF || got.ExitReason != "connection_lost" || string(
				got.Stdout.Bytes()) != c.output {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			if s.State() != session.Open {
				t.Errorf("%s: the session is %s", c.name, s.State())
			}
		})
	}
}

func TestExecPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			panic("secret")
		}, session.Options{})
		_, err := s.Exec(t.Context(), session.ExecRequest{Command: "id"})
		wantKind(t, err, term.Internal)
		<-s.Ended()
		if end := s.Info().End; term.KindOf(end.Err) != term.Internal || strings.Contains(end.Reason+err.Error(), "secret") {
			t.Errorf("end after a panic = %+v, want Internal without the panic's text", end)
		}
	})
}

// A session that ends takes its commands with it, whether they obey or not.
func TestExecWhenSessionEnds(t *testing.T) {
	for _, output := range []string{"", "some"} {
		for _, late := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprintf("%q %v", output, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := startExec(t, func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
						io.WriteString(stdout, output)
						<-ctx.Done()
						time.Sleep(late)
						return term.Exit{}, ctx.Err()
					}, session.Options{})
					go func() { time.Sleep(time.Second); s.Close(task("t1"), session.CloseOptions{}) }()
					var got session.ExecResult
					var err error
					took := since(func() { got, err = s.Exec(t.Context(), session.ExecRequest{Command: "id", Timeout: time.Hour}) })
					if took > 1200*time.Millisecond {
						t.Errorf("took %v", took)
					}
					if output == "" {
						wantKind(t, err, term.AlreadyClosed)
					} else if err != nil || got.Done != session.DoneEOF || got.ExitReason != "connection_lost" || string(
						got.Stdout.Bytes()) != output {
						t.Errorf("%+v, %v", got, err)
					}
					_, err = s.Exec(t.Context(), session.ExecRequest{Command: "id"})
					wantKind(t, err, term.AlreadyClosed)
					time.Sleep(late)
				})
			})
		}
	}
}

// Output that was not fetched is kept for a limited time.
func TestExecRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			stdout.Write(make([]byte, 100))
			return term.Exit{Known: true}, nil
		}, session.Options{Retention: time.Minute})
		var ids []string
		for range 33 { // one more than is kept
			ids = append(ids, run(t, s, session.ExecRequest{Command: "id", MaxOutput: 10}).ID)
		}
		_, err := s.ContinueExec(t.Context(), ids[0], session.ContinueRequest{MaxOutput: 10})
		wantKind(t, err, term.NotFound)
		s.Close(t.Context(), session.CloseOptions{}) // which ends no retention
		if c, err := s.ReadExec(t.Context(), ids[1], "stdout",
			session.ReadRequest{Until: re("x"), Timeout: time.Hour}); err != nil ||
			!c.EOF ||
			len(c.Data) != 100 {
			t.Errorf("%s, EOF %v, %v", c.Reason, c.EOF, err)
		}
		time.Sleep(59 * time.Second)
		for _, id := range ids[1:] {
			if got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{MaxOutput: 10}); err != nil ||
				got.Stdout.Total != 100 ||
				got.Done != session.DoneExitStatus {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		time.Sleep(2 * time.Second)
		_, err = s.ContinueExec(t.Context(), ids[32], session.ContinueRequest{MaxOutput: 10})
		wantKind(t, err, term.NotFound)
	})
}

// A server that has no channel for a command, and that a person had to log in to, runs it in the terminal if the
// caller left the lane open, and not if the caller asked for a channel.
func TestExecWithoutChannel(t *testing.T) {
	srv, err := sshserver.Listen(sshserver.Config{
		MaxSessions: 1, Shell: "/bin/sh",
		KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			_, err := ask("", "", []string{"Code: "}, []bool{false})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	home := t.TempDir()
	known := home + "/known_hosts"
	if err := os.WriteFile(known, []byte(srv.KnownHostsLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(
		session.Config{
			Dialers: map[string]term.Dialer{
				"ssh": sshx.Dialer(sshx.Options{HomeDir: home, KnownHostsPath: known, NoConfig: true, IdentityAgent: "none"}),
			},
		},
	)
	t.Cleanup(func() { m.Close(t.Context()) })
	r, err := m.Open(
		t.Context(),
		session.OpenRequest{Target: term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: srv.Port(), User: "u"}},
	)
	if err != nil || r.Prompt == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	s := r.Session
	if _, err := s.Write(t.Context(), []byte("123\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Settle(t.Context(), 10*time.Second)
	_, err = s.Exec(t.Context(), session.ExecRequest{Command: "echo here; (exit 6)", Lane: session.LaneChannel})
	wantKind(t, err, term.LimitExceeded)
	got, err := s.Exec(t.Context(), session.ExecRequest{Command: "echo here; (exit 6)", Class: session.ClassPosix})
	if err != nil || got.Lane != session.LaneTerminal || got.Exit.Code != 6 || string(got.Stdout.Bytes()) != "here\n" {
		t.Errorf("%+v, %v", got, err)
	}
}

// ticking prints a line each second until it is stopped, or has printed n.
func ticking(n int) execFunc {
	return func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
		for i := range n {
			select {
			case <-time.After(time.Second):
				fmt.Fprintln(stdout, i)
			case <-ctx.Done():
				return term.Exit{Killed: "yes"}, nil
			}
		}
		return term.Exit{Known: true}, nil
	}
}

// TestContinueReturnsWhatIsNew: each result has the output since the caller's last one, and the whole output is in them
// without a gap or a repetition. Another caller's results are their own.
func TestContinueReturnsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, ticking(4), session.Options{})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: 1500 * time.Millisecond})
		id := got.ID
		other := term.WithActor(t.Context(), term.Actor{Transport: "http", Token: "other"})
		for _, step := range []struct {
			name  string
			ctx   context.Context
			r     session.ContinueRequest
			want  string
			start int64
			done  session.DoneReason
		}{
			{"at once", t.Context(), session.ContinueRequest{New: true}, "", 2, session.DoneRunning},
			{"a second later", t.Context(), session.ContinueRequest{New: true, Wait: time.Second}, "1\n", 2, session.DoneRunning},
			{"another caller", other, session.ContinueRequest{New: true, Wait: time.Second}, "0\n1\n2\n", 0, session.DoneRunning},
			{"to the end", t.Context(), session.ContinueRequest{New: true, Wait: time.Hour}, "2\n3\n", 4, session.DoneExitStatus},
			{"after the end", t.Context(), session.ContinueRequest{New: true}, "", 8, session.DoneExitStatus},
			{"all of it", t.Context(), session.ContinueRequest{}, "0\n1\n2\n3\n", 0, session.DoneExitStatus},
			{"the other caller's rest", other, session.ContinueRequest{New: true}, "3\n", 6, session.DoneExitStatus},
		} {
			got, err := s.ContinueExec(step.ctx, id, step.r)
			if err != nil || string(got.Stdout.Bytes()) != step.want || got.Stdout.Start != step.start ||
				got.Done != step.done || got.Stdout.Total > 8 {
				t.Errorf("%s: ContinueExec(%+v) = %s, %q from %d, %v; want %s, %q from %d",
					step.name, step.r, got.Done, got.Stdout.Bytes(), got.Stdout.Start, err, step.done, step.want, step.start)
			}
		}
		// The deadline does not matter to an ended command; neither does a new one.
		got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Hour})
		if err != nil || got.Moved || got.Done != session.DoneExitStatus {
			t.Errorf("ContinueExec with a timeout after the end = %+v, %v; want Moved false", got, err)
		}
	})
}

// TestContinueKeepsMaxOutput: the first call's budget counts until a call names another, and output that did not fit
// or was not kept is reported with its offset.
func TestContinueKeepsMaxOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string)
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			for text := range next {
				io.WriteString(stdout, text)
			}
			return term.Exit{Known: true}, nil
		}, session.Options{ExecBytes: 1 << 10})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second, MaxOutput: 10})
		id, off := got.ID, int64(0)
		cont := func(r session.ContinueRequest, text string) session.Output {
			t.Helper()
			next <- text
			synctest.Wait()
			off += int64(len(text))
			r.New = true
			got, err := s.ContinueExec(t.Context(), id, r)
			if err != nil || got.Stdout.Total != off || got.Stdout.Next() != off {
				t.Fatalf("ContinueExec(%+v) = %+v, %v; want output up to %d", r, got, err, off)
			}
			return got.Stdout
		}
		for _, c := range []struct {
			r                session.ContinueRequest
			text, head, tail string
			omitted          int64
		}{
			{session.ContinueRequest{}, "short", "short", "", 0},
			{session.ContinueRequest{}, "abcdefghijklmnopqrstuvwxyz", "abcde", "vwxyz", 16},
			{session.ContinueRequest{MaxOutput: 4}, "abcdefghijklmnopqrstuvwxyz", "ab", "yz", 22},
			{session.ContinueRequest{}, "0123456789", "0123456789", "", 0},
			{session.ContinueRequest{}, strings.Repeat("x", 64<<10) + "end", "xxxxx", "xxend", 64<<10 + 3 - 10},
			{session.ContinueRequest{}, "beyond what is kept of the start", "beyon", "start", 32 - 10},
			// More than is kept comes at once: its start is gone.
			{session.ContinueRequest{}, strings.Repeat("y", 2<<10) + "end", "", "yyend", 2<<10 + 3 - 5},
			{session.ContinueRequest{MaxOutput: 4 << 10}, strings.Repeat("z", 2<<10), "", strings.Repeat("z", 1<<10), 1 << 10},
		} {
			from := off
			o := cont(c.r, c.text)
			if o.Start != from || string(o.Head) != c.head || string(o.Tail) != c.tail || o.Omitted() != c.omitted ||
				o.Cut() != from+int64(len(c.head)) {
				t.Errorf("after %.40q: start %d, %q and %q, %d bytes left out at %d; want start %d, %q and %q, %d",
					c.text, o.Start, o.Head, o.Tail, o.Omitted(), o.Cut(), from, c.head, c.tail, c.omitted)
			}
		}
		close(next)
	})
}

// TestContinueCutsNoRune: while the command runs, an unfinished rune is left for the next result.
func TestContinueCutsNoRune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string)
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			for text := range next {
				io.WriteString(stdout, text)
			}
			return term.Exit{Known: true}, nil
		}, session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: 1}).ID
		for _, c := range []struct{ text, want string }{
			{"h\xc3", "h"}, {"\xa9llo \xe2\x82", "éllo "}, {"\xac\xff", "€\xff"}, {"\xe2", ""},
		} {
			next <- c.text
			synctest.Wait()
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{New: true})
			if err != nil || string(got.Stdout.Bytes()) != c.want {
				t.Errorf("after %q: %q, %v; want %q", c.text, got.Stdout.Bytes(), err, c.want)
			}
		}
		close(next)
		got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{New: true, Wait: time.Second})
		if err != nil || string(got.Stdout.Bytes()) != "\xe2" || got.Done != session.DoneExitStatus {
			t.Errorf("at the end: %q (%s), %v; want the rest of the rune", got.Stdout.Bytes(), got.Done, err)
		}
	})
}

// TestContinueFindsErrorsAcrossResults: a line that began in an earlier result is matched as a whole.
func TestContinueFindsErrorsAcrossResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			io.WriteString(stdout, "Access denied.\n% Inva")
			time.Sleep(time.Minute)
			io.WriteString(stdout, "lid input\n")
			return term.Exit{Known: true}, nil
		}, session.Options{Expect: session.Expect{Errors: []*regexp.Regexp{re("% Invalid input|denied")}}})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second})
		if len(got.ErrorHints) != 1 || got.ErrorHints[0] != "denied" {
			t.Errorf("the first result's hints are %q, want denied", got.ErrorHints)
		}
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{New: true, Wait: time.Hour})
		if err != nil || len(got.ErrorHints) != 1 || got.ErrorHints[0] != "% Invalid input" {
			t.Errorf("the second result's hints are %q (%v), want %% Invalid input", got.ErrorHints, err)
		}
	})
}

// TestDeadlineMoves: a continued command gets a new deadline, earlier or later than its own, and results have the
// time that is left.
func TestDeadlineMoves(t *testing.T) {
	for _, to := range []time.Duration{time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			began := time.Now()
			got := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: 10 * time.Second})
			if got.Done != session.DoneRunning || got.Remaining != 20*time.Second {
				t.Fatalf("after 10s of 30s: %s with %v left, want running with 20s", got.Done, got.Remaining)
			}
			id := got.ID
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: to})
			if err != nil || got.Done != session.DoneRunning || got.Remaining != to || !got.Moved {
				t.Fatalf("moved to %v: %s with %v left, moved %v, %v", to, got.Done, got.Remaining, got.Moved, err)
			}
			got, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
			if took, want := time.Since(began), 10*time.Second+to; err != nil || !got.TimedOut || took != want {
				t.Errorf("moved to %v: %s after %v (%v), want timeout after %v", to, got.Done, took, err, want)
			}
		})
	}
}

// TestDeadlineMovesUnderAWait: a call that waits sees the deadline that another one has moved.
func TestDeadlineMovesUnderAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
			<-ctx.Done()
			time.Sleep(time.Hour) // takes no signal
			return term.Exit{}, nil
		}, session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: time.Second}).ID
		go func() {
			time.Sleep(time.Second)
			if _, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Minute}); err != nil {
				t.Error(err)
			}
		}()
		var got session.ExecResult
		took := since(func() { got, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour}) })
		if want := time.Second + time.Minute; took < want || took > want+time.Second || !got.TimedOut {
			t.Errorf("the wait ended after %v (%s), want %v and a moment", took, got.Done, want)
		}
		time.Sleep(time.Hour)
	})
}

// TestDeadlineNeedsTheLock: who may not stop a command may not move its deadline either.
func TestDeadlineNeedsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: time.Second}).ID
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		_, err := s.ContinueExec(task("t2"), id, session.ContinueRequest{Timeout: time.Millisecond})
		wantKind(t, err, term.Locked)
		got, err := s.ContinueExec(task("t2"), id, session.ContinueRequest{})
		if err != nil || got.Done != session.DoneRunning || got.Remaining != 29*time.Second {
			t.Errorf("after the refusal: %s with %v left, %v; want running with 29s", got.Done, got.Remaining, err)
		}
		if got, err = s.ContinueExec(task("t1"), id, session.ContinueRequest{Timeout: time.Hour}); err != nil || !got.Moved {
			t.Errorf("the holder: %+v, %v; want Moved", got, err)
		}
	})
}

// TestNotTyped: a command that the terminal does not take ends for all calls that have found it.
func TestNotTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := session.New(&plain{ReadWriteCloser: near}, session.Options{WriteTimeout: 10 * time.Second})
		defer s.Close(t.Context(), session.CloseOptions{})
		if _, err := io.WriteString(far, "$ "); err != nil {
			t.Fatal(err)
		}
		var own error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, own = s.Exec(t.Context(), session.ExecRequest{Command: "make", Lane: session.LaneTerminal, Class: session.ClassPosix})
		})
		synctest.Wait() // far is not read
		running := s.Info().Running
		if len(running) != 1 {
			t.Fatalf("the commands %v run, want one", running)
		}
		began := time.Now()
		_, err := s.ContinueExec(t.Context(), running[0], session.ContinueRequest{Wait: time.Hour})
		e := wantKind(t, err, term.ExecTimeout)
		if took := time.Since(began); took > 11*time.Second || !strings.Contains(e.Msg, "this command was not started: ") {
			t.Errorf("another call has after %v: %v", took, err)
		}
		wg.Wait()
		wantKind(t, own, term.ExecTimeout)
	})
}

// TestUnattended: a command without a timeout from its caller is not stopped while a call waits for it, nor soon
// after.
func TestUnattended(t *testing.T) {
	const lease = 10 * time.Minute
	request := session.ExecRequest{Command: "x", Timeout: time.Minute, Unattended: lease, Wait: 50 * time.Second}
	start := func(t *testing.T) (*session.Session, string) {
		s := startExec(t, obedient("some"), session.Options{})
		got := run(t, s, request)
		if got.Done != session.DoneRunning || got.Remaining != lease {
			t.Fatalf("handed over: %s with %v left, want running with %v", got.Done, got.Remaining, lease)
		}
		return s, got.ID
	}
	t.Run("without a hand-over the deadline counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			r := request
			r.Wait = time.Hour
			var got session.ExecResult
			if took := since(func() { got = run(t, s, r) }); took != time.Minute || !got.TimedOut {
				t.Errorf("%s after %v, want timeout after 1m", got.Done, took)
			}
		})
	})
	t.Run("left alone it ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			time.Sleep(lease - time.Second)
			if r := s.Info().Running; len(r) != 1 {
				t.Fatalf("a second before: running %q", r)
			}
			time.Sleep(2 * time.Second)
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{})
			if err != nil || !got.TimedOut || got.Duration != 50*time.Second+lease {
				t.Errorf("%s after %v, %v; want timeout after %v", got.Done, got.Duration, err, 50*time.Second+lease)
			}
		})
	})
	t.Run("each call renews it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			for i := range 10 {
				time.Sleep(lease - time.Second)
				var err error
				if i%2 == 0 {
					_, err = s.ReadExec(t.Context(), id, "stdout", session.ReadRequest{NoWait: true})
				} else {
					_, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Second})
				}
				if r := s.Info().Running; len(r) != 1 || err != nil {
					t.Fatalf("call %d: running %q, %v", i, r, err)
				}
			}
		})
	})
	t.Run("a wait longer than it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			var brief, long session.ExecResult
			done := make(chan struct{})
			go func() {
				defer close(done)
				long, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: 3 * lease})
			}()
			synctest.Wait()
			brief, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: 2 * lease})
			if brief.Done != session.DoneRunning || brief.Remaining < lease {
				t.Errorf("beside another wait: %s with %v left", brief.Done, brief.Remaining)
			}
			<-done
			if long.Done != session.DoneRunning || long.Remaining != lease {
				t.Errorf("after it: %s with %v left, want running with %v", long.Done, long.Remaining, lease)
			}
		})
	})
	t.Run("a named time ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Minute, Wait: time.Second})
			if err != nil || got.Remaining != 59*time.Second {
				t.Errorf("%v left, %v; want 59s", got.Remaining, err)
			}
			got, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
			if err != nil || !got.TimedOut || got.Duration != 110*time.Second {
				t.Errorf("%s after %v, %v; want timeout after 1m50s", got.Done, got.Duration, err)
			}
		})
	})
	t.Run("a longer first deadline stays", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			r := request
			r.Timeout = time.Hour
			if got := run(t, s, r); got.Remaining != time.Hour-50*time.Second {
				t.Errorf("%v left, want what is left of the hour", got.Remaining)
			}
		})
	})
	t.Run("a canceled call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := s.Exec(ctx, request)
			wantKind(t, err, term.Canceled)
			time.Sleep(lease - time.Second)
			if r := s.Info().Running; len(r) != 1 {
				t.Errorf("running %q, want the command", r)
			}
		})
	})
}

// The event of a command's end follows that of its start, also if the command ends before the latter is out.
func TestExecEventsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []term.Verb
		slow := observed(func(e term.Event) {
			if e.Verb == term.VerbExec {
				time.Sleep(time.Second) // the command has ended by then
			}
			mu.Lock()
			defer mu.Unlock()
			if e.Verb == term.VerbExec || e.Verb == term.VerbExecEnd {
				got = append(got, e.Verb)
			}
		})
		s := startExec(t, func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{Known: true}, nil
		}, session.Options{Observers: []term.Observer{slow}})
		run(t, s, session.ExecRequest{Command: "true"})
		mu.Lock()
		defer mu.Unlock()
		if want := []term.Verb{term.VerbExec, term.VerbExecEnd}; !slices.Equal(got, want) {
			t.Errorf("events of true = %v, want %v", got, want)
		}
	})
}

// An execWatcher gets the output of commands, too.
type execWatcher struct {
	observed
	output func(term.Event)
}

func (w execWatcher) ObserveExec(e term.Event) { w.output(e) }

// The output of a command comes between the events of its start and its end.
func TestExecOutputObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		note := func(e term.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Exec != "" {
				got = append(got, string(e.Verb)+" "+e.Detail+" "+string(e.Data))
			}
		}
		slow := observed(func(e term.Event) {
			if e.Verb == term.VerbExec {
				time.Sleep(time.Second) // there is output by then
			}
			note(e)
		})
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
			io.WriteString(stdout, "out")
			io.WriteString(stderr, "err")
			return term.Exit{Known: true}, nil
		}, session.Options{Observers: []term.Observer{execWatcher{slow, note}}})
		run(t, s, session.ExecRequest{Command: "both"})
		mu.Lock()
		defer mu.Unlock()
		want := []string{"exec channel ", "exec_output stdout out", "exec_output stderr err", "exec_end channel "}
		if !slices.Equal(got, want) {
			t.Errorf("events of a command = %q, want %q", got, want)
		}
	})
}

// A command for PowerShell must get there whichever shell of Windows reads the line, and not change for a shell of Unix.
func TestExecForPowerShell(t *testing.T) {
	encoded := func(program, command, dir string, env ...string) string {
		line, err := marker.PowerShell(program, command, dir, env)
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for _, tc := range []struct {
		name, shell string // the answer to the question for the login shell
		class       session.Class
		r           session.ExecRequest
		want        string // the line; empty: it is as given
	}{
		{"cmd.exe", "$SHELL\r\n", "powershell", session.ExecRequest{Command: "Get-Date"}, encoded("powershell.exe", "Get-Date", "")},
		{
			"PowerShell of Windows", "\r\n", "powershell", session.ExecRequest{Command: "ls", Dir: `C:\x`, Env: []term.EnvVar{{Name: "A", Value: "b"}}},
			encoded("powershell.exe", "ls", `C:\x`, "A=b"),
		},
		{"PowerShell of Unix", "/usr/bin/pwsh\n", "powershell", session.ExecRequest{Command: "ls"}, encoded("pwsh", "ls", "")},
		{"words", "$SHELL\r\n", "powershell", session.ExecRequest{Argv: []string{"Get-Date", "-Year", "2026"}}, encoded("powershell.exe", "Get-Date -Year 2026", "")},
		{"bash", "/bin/bash\n", "powershell", session.ExecRequest{Command: "ls"}, ""},
		{"no class named", "$SHELL\r\n", "", session.ExecRequest{Command: "ls"}, ""},
		{"another class", "$SHELL\r\n", "cmd", session.ExecRequest{Command: "ls"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got term.ExecRequest
				s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
					if r.Command == "echo $SHELL" {
						_, _ = io.WriteString(stdout, tc.shell)
					} else {
						got = r
					}
					return term.Exit{Started: true, Known: true}, nil
				}, session.Options{})
				r := tc.r
				r.Class = tc.class
				run(t, s, r)
				if want := tc.want; want == "" && got.Command != r.Command || want != "" && (got.Command != want || got.Dir != "" || got.Env != nil) {
					t.Errorf("the far side has got %+v, want %q", got, want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			_, _ = io.WriteString(stdout, "$SHELL\r\n")
			return term.Exit{Started: true, Known: true}, nil
		}, session.Options{})
		_, err := s.Exec(t.Context(), session.ExecRequest{Command: strings.Repeat("x", 3000), Class: session.ClassPowerShell})
		wantKind(t, err, term.InvalidArgument)
	})
}
