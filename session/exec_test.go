package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"
	"ptyctl/internal/sshserver"
	"ptyctl/session"
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
		if c, err := s.ReadExec(t.Context(), got.ID, "stdout", session.ReadRequest{Until: re(`1\n`), Timeout: time.Minute}); err != nil ||
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
		// Who knows the id may ask again, as long as it is kept.
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
			} else if err != nil || got.Done != session.DoneEOF || got.ExitReason != "connection_lost" || string(got.Stdout.Bytes()) != c.output {
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
					} else if err != nil || got.Done != session.DoneEOF || got.ExitReason != "connection_lost" || string(got.Stdout.Bytes()) != output {
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
		if c, err := s.ReadExec(t.Context(), ids[1], "stdout", session.ReadRequest{Until: re("x"), Timeout: time.Hour}); err != nil ||
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
