package access_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

func TestTxEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{RecordTxEvents: true, AllowTakeOver: true})
		begin := time.Now()
		write := func(who, data string, o session.WriteOptions) {
			t.Helper()
			time.Sleep(time.Second)
			_, err := s.Write(task(who), []byte(data), o)
			if (err != nil) != (who == "refused") {
				t.Fatal(err)
			}
		}
		write("t1", "show version\r", session.WriteOptions{})
		write("t1", "", session.WriteOptions{Key: "arrow_up"})
		write("t2", "\x03", session.WriteOptions{})
		write("t2", typed+"\r", session.WriteOptions{Sensitive: true})
		write("t2", "\r", session.WriteOptions{Sensitive: true})
		write("t2", "", session.WriteOptions{}) // nothing went out
		s.TakeOver(task("t3"), time.Minute)
		write("refused", "x", session.WriteOptions{})
		want := []session.TxEvent{
			{Verb: term.VerbWrite, Task: "t1", Bytes: 13},
			{Verb: term.VerbWrite, Task: "t1", Bytes: 3, Key: "arrow_up"},
			{Verb: term.VerbWrite, Task: "t2", Bytes: 1, Key: "ctrl_c"},
			{Verb: term.VerbWrite, Task: "t2", Sensitive: true},
			{Verb: term.VerbWrite, Task: "t2", Sensitive: true},
		}
		for i := range want {
			want[i].Time = begin.Add(time.Duration(i+1) * time.Second)
		}
		if got := s.TxEvents(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		for i := range 150 {
			write("t3", strings.Repeat("x", i+1), session.WriteOptions{})
		}
		if got := s.TxEvents(); len(got) != 100 || got[0].Bytes != 51 || got[99].Bytes != 150 {
			t.Errorf("%d events, %+v ...", len(got), got[0])
		}
	})
}

func TestTxEventsOfALoginAndACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		m := manage(t, func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			if _, err := p.Prompt(ctx, term.Prompt{Text: "Password: "}); err != nil {
				return nil, err
			}
			return &plain{ReadWriteCloser: near}, nil
		}, session.Config{Input: session.InputOptions{RecordTxEvents: true}})
		r, err := m.Open(task("t1"), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Session
		if _, err := s.Write(task("t1"), []byte(typed), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		put(t, far, "sw1# ")
		res, err := s.Exec(
			task("t2"),
			session.ExecRequest{Command: "ping 10.0.0.1", Class: session.ClassDevice, Timeout: time.Second, Idle: time.Hour},
		)
		if err != nil || !res.TimedOut {
			t.Fatalf("%+v, %v", res, err)
		}
		want := []string{
			"{answer t1 0  true }", "{exec t2 14  false }",
			"{write t2 1 ctrl_c false to stop exec-}",
		}
		var got []string
		for _, e := range s.TxEvents() {
			reason, _, _ := strings.Cut(e.Reason, "-")
			if reason != "" {
				reason += "-"
			}
			got = append(got, fmt.Sprintf("{%s %s %d %s %v %s}", e.Verb, e.Task, e.Bytes, e.Key, e.Sensitive, reason))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestNoTxEventsUnlessAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{})
		if _, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := s.TxEvents(); got != nil {
			t.Errorf("inputs without RecordTxEvents = %+v, want nil", got)
		}
	})
}
