package owners_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// as is a context in which a task of a client calls.
func as(name, task string) context.Context {
	return term.WithActor(context.Background(), term.Actor{Transport: "stdio", Shim: name, Task: task})
}

// A far is the far side of sessions. Their commands end when the test says so.
type far struct {
	terminal chan net.Conn
	finish   chan struct{} // a command ends for each value
	stopped  chan error    // why a command was stopped
}

// manage makes a Manager for clients that come and go.
func manage(t *testing.T, c session.Config) (*session.Manager, *far) {
	f := &far{terminal: make(chan net.Conn, 8), finish: make(chan struct{}), stopped: make(chan error, 8)}
	dial := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		near, there := sessiontest.WidePipe()
		f.terminal <- there
		shell := &sessiontest.Shell{Plain: sessiontest.Plain{ReadWriteCloser: near}}
		shell.OnExec = func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			select {
			case <-f.finish:
				_, _ = io.WriteString(stdout, "built\n")
				return term.Exit{Known: true}, nil
			case <-ctx.Done():
				f.stopped <- context.Cause(ctx)
				return term.Exit{}, ctx.Err()
			}
		}
		return shell, nil
	}
	return sessiontest.Manage(t, dial, c), f
}

// open opens a session as a client.
func open(t *testing.T, m *session.Manager, ctx context.Context) *session.Session { //nolint:revive // t comes first
	t.Helper()
	res, err := m.Open(ctx, sessiontest.Target("web1"))
	if err != nil {
		t.Fatal(err)
	}
	return res.Session
}

// A command goes on when its client is gone, longer than a command without a deadline of its caller's may, and its
// result waits for the client that adopts the session, longer than the time of retention.
func TestExecOutlivesItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{Retention: 5 * time.Minute})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		call, gone := context.WithCancel(as("one", ""))
		begun := make(chan error, 1)
		go func() {
			_, err := s.Exec(call, session.ExecRequest{Command: "make", Timeout: time.Minute, Unattended: 10 * time.Minute})
			begun <- err
		}()
		synctest.Wait()
		gone()
		m.ServerView().Owners().Leave(shim("one"))
		sessiontest.WantKind(t, <-begun, term.Canceled)
		time.Sleep(30 * time.Minute)
		f.finish <- struct{}{}
		time.Sleep(20 * time.Minute)
		join(t, m.ServerView().Owners(), "two", web)
		i := s.Info()
		if len(i.Running) != 0 || len(i.Unfetched) != 1 || i.State != session.Open {
			t.Fatalf("after 50 minutes: running %v, unfetched %v, state %s, want one unfetched and open",
				i.Running, i.Unfetched, i.State)
		}
		if _, err := m.ServerView().Adopt(as("two", ""), s.ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		res, err := s.ContinueExec(as("two", ""), i.Unfetched[0], session.ContinueRequest{})
		if err != nil || string(res.Stdout.Bytes()) != "built\n" || !res.Exit.Known {
			t.Fatalf("ContinueExec = %+v, %v, want the output and exit status 0", res, err)
		}
		time.Sleep(2 * time.Minute)
		_, err = s.ContinueExec(as("two", ""), i.Unfetched[0], session.ContinueRequest{})
		if !errors.Is(err, term.NotFound) {
			t.Errorf("after the time of retention: %v, want NotFound", err)
		}
	})
}

// A result that may have been lost with its client is there for the next one; of an earlier one nothing is left.
func TestLastResultIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		pause time.Duration
		want  int
	}{"at once": {0, 1}, "later": {time.Minute, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := manage(t, session.Config{})
				join(t, m.ServerView().Owners(), "one", web)
				s := open(t, m, as("one", ""))
				for range 2 {
					go func() { f.finish <- struct{}{} }()
					if res, err := s.Exec(as("one", ""), session.ExecRequest{Command: "make"}); err != nil || res.ID != "" {
						t.Fatalf("Exec = %+v, %v, want a whole result", res, err)
					}
				}
				time.Sleep(tt.pause)
				m.ServerView().Owners().Leave(shim("one"))
				join(t, m.ServerView().Owners(), "two", web)
				if _, err := m.ServerView().Adopt(as("two", ""), s.ID()); err != nil {
					t.Fatal(err)
				}
				left := s.Info().Unfetched
				if len(left) != tt.want {
					t.Fatalf("unfetched: %v, want %d", left, tt.want)
				}
				for _, id := range left {
					res, err := s.ContinueExec(as("two", ""), id, session.ContinueRequest{})
					if err != nil || string(res.Stdout.Bytes()) != "built\n" {
						t.Errorf("ContinueExec = %+v, %v, want the output", res, err)
					}
				}
			})
		})
	}
}

// A deadline set by the caller stays, and a command that the adopter leaves has the usual time again.
func TestDeadlinesOfOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		start := func(r session.ExecRequest) {
			r.Command, r.Wait = "make", time.Millisecond
			if _, err := s.Exec(as("one", ""), r); err != nil {
				t.Fatal(err)
			}
		}
		start(session.ExecRequest{Timeout: 20 * time.Minute})
		start(session.ExecRequest{Timeout: time.Minute, Unattended: 10 * time.Minute})
		m.ServerView().Owners().Leave(shim("one"))
		time.Sleep(21 * time.Minute)
		if n := len(f.stopped); n != 1 {
			t.Errorf("after 21 minutes %d commands were stopped, want the one with a deadline of its own", n)
		}
		join(t, m.ServerView().Owners(), "two", web)
		if _, err := m.ServerView().Adopt(as("two", ""), s.ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Minute)
		if n := len(f.stopped); n != 1 {
			t.Errorf("nine minutes after the adoption %d commands were stopped, want 1", n)
		}
		time.Sleep(2 * time.Minute)
		if n := len(f.stopped); n != 2 {
			t.Errorf("eleven minutes after the adoption %d commands were stopped, want 2", n)
		}
	})
}

// An orphan ends after its time, with its end on record.
func TestOrphanEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &sessiontest.Diary{}
		m, _ := manage(t, session.Config{Observers: []term.Observer{seen}, Retention: time.Minute})
		m.ServerView().Owners().SetTTL(time.Hour)
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		m.ServerView().Owners().Leave(shim("one"))
		if events := seen.Of(term.VerbOrphan); len(events) != 1 || events[0].Detail != web.String() {
			t.Errorf("events of the orphan: %+v, want one that names the client", events)
		}
		time.Sleep(time.Hour - 1)
		if s.State() != session.Open {
			t.Fatalf("state before the hour is over = %s, want open", s.State())
		}
		time.Sleep(time.Nanosecond)
		<-s.Ended()
		synctest.Wait()
		states := seen.Of(term.VerbState)
		last := states[len(states)-1]
		if end := s.Info().End; end.Code != session.EndOrphaned || last.State != "closed" ||
			!strings.Contains(last.Detail, "no client had it for 1h0m0s") {
			t.Errorf("the session has ended with %+v, on record %+v, want EndOrphaned and the reason", end, last)
		}
		join(t, m.ServerView().Owners(), "two", web)
		_, err := m.ServerView().Adopt(as("two", ""), s.ID())
		sessiontest.WantKind(t, err, term.AlreadyClosed)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := m.Get(s.ID()); !errors.Is(err, term.NotFound) {
			t.Errorf("after the time of retention Get = %v, want NotFound", err)
		}
	})
}

// If a session's program ends while no client is there, the session can be adopted for its output, until its time is
// over.
func TestEndsAsOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{Retention: time.Minute})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		_ = open(t, m, as("one", "")) // which no client comes for
		m.ServerView().Owners().Leave(shim("one"))
		for range 2 {
			there := <-f.terminal
			sessiontest.Put(t, there, "upgrade done\r\n")
			there.Close()
		}
		time.Sleep(30 * time.Minute)
		join(t, m.ServerView().Owners(), "two", web)
		a, err := m.ServerView().Adopt(as("two", ""), s.ID())
		if err != nil || a.Left != 0 || !s.State().Ended() {
			t.Fatalf("Adopt of a session that has ended by itself = %+v, %v, want it from cursor 0", a, err)
		}
		if k := s.Read(as("two", ""), session.ReadRequest{Cursor: a.Left}); string(k.Data) != "upgrade done\r\n" {
			t.Errorf("it has left %q, want its last output", k.Data)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, err := m.Get(s.ID()); !errors.Is(err, term.NotFound) {
			t.Errorf("after the time of retention Get = %v, want NotFound", err)
		}
		if m.Ended() != 1 {
			t.Errorf("%d sessions are kept, want the one without a client", m.Ended())
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if m.Ended() != 0 {
			t.Errorf("after the time of orphans %d sessions are kept, want none", m.Ended())
		}
	})
}

// A session that has ended by itself is offered to no client once its time as an orphan is over, although it is kept for
// a while. If a person reopens it then, its time begins again.
func TestTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{Retention: 5 * time.Minute})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		m.ServerView().Owners().Leave(shim("one"))
		_ = (<-f.terminal).Close()
		<-s.Ended()
		join(t, m.ServerView().Owners(), "two", web)
		time.Sleep(owners.DefaultTTL - time.Second)
		if !m.ServerView().Resumable(shim("two"), s.Info()) {
			t.Error("the session cannot be resumed before its time is over, want that it can")
		}
		time.Sleep(time.Minute)
		if m.ServerView().Resumable(shim("two"), s.Info()) {
			t.Error("the session can be resumed after its time is over, want that it cannot")
		}
		_, err := m.ServerView().Adopt(as("two", ""), s.ID())
		sessiontest.WantKind(t, err, term.AlreadyClosed)

		person := term.WithActor(context.Background(), term.Actor{Transport: "socket", Operator: true})
		res, err := m.Reopen(person, session.ReopenRequest{Session: s})
		if err != nil {
			t.Fatal(err)
		}
		again := res.Session
		time.Sleep(owners.DefaultTTL - time.Second)
		if i := again.Info(); i.State != session.Open || !m.ServerView().Resumable(shim("two"), i) {
			t.Errorf("the reopened session is %s of %+v, want open, and that it can be resumed", i.State, i.Owner)
		}
		time.Sleep(time.Second)
		<-again.Ended()
		if end := again.Info().End; end.Code != session.EndOrphaned {
			t.Errorf("the reopened session has ended with %q, want orphaned", end.Code)
		}
	})
}

// The lock passes to the task of the same name, with its epoch; a late input of the client that is gone is refused, and
// a person's lock stays the person's.
func TestLockPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := manage(t, session.Config{})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		before, err := s.Lock(as("one", "t1"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		m.ServerView().Owners().Leave(shim("one"))
		join(t, m.ServerView().Owners(), "two", web)
		if _, err := m.ServerView().Adopt(as("two", "t1"), s.ID()); err != nil {
			t.Fatal(err)
		}
		now, ok := s.Lease()
		if !ok || now.Holder.Task != "t1" || now.Holder.Principal != shim("two") || now.Epoch != before.Epoch {
			t.Errorf("after the adoption the lease is %+v, want that of t1 with epoch %d", now, before.Epoch)
		}
		write := func(ctx context.Context) error {
			_, err := s.Write(ctx, []byte("x"), session.WriteOptions{})
			return err
		}
		if err := write(as("two", "t1")); err != nil {
			t.Errorf("a write of the adopter's task: %v, want no error", err)
		}
		sessiontest.WantKind(t, write(as("one", "t1")), term.Locked)
		if err := s.Unlock(as("two", "t1")); err != nil {
			t.Fatal(err)
		}
		late := sessiontest.WantKind(t, write(as("one", "")), term.Locked)
		if e := late; !strings.Contains(e.Msg, "passed to another client") {
			t.Errorf("a late write of the client that is gone is refused with %q, want that another has the session", e.Msg)
		}
		if _, err := s.Lock(as("two", "t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		sessiontest.WantKind(t, write(as("two", "t2")), term.Locked)

		person := term.WithActor(context.Background(), term.Actor{
			Transport: "stdio", Shim: "two", Operator: true, Attachment: term.NewAttachment("id", "person"),
		})
		if _, _, err := s.TakeOver(person, time.Hour); err != nil {
			t.Fatal(err)
		}
		m.ServerView().Owners().Leave(shim("two"))
		join(t, m.ServerView().Owners(), "three", web)
		if _, err := m.ServerView().Adopt(as("three", "t1"), s.ID()); err != nil {
			t.Fatal(err)
		}
		e := sessiontest.WantKind(t, write(as("three", "t1")), term.Locked)
		if !strings.Contains(e.Msg, "took the lock over from this task") {
			t.Errorf("the adopter's task is told %q, want that a person took its lock", e.Msg)
		}
	})
}

// A stranger learns nothing from an error: a session of another and none at all have the same one.
func TestAdoptDisclosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := manage(t, session.Config{})
		join(t, m.ServerView().Owners(), "one", web)
		present := open(t, m, as("one", ""))
		join(t, m.ServerView().Owners(), "gone", web)
		orphan := open(t, m, as("gone", ""))
		closed := open(t, m, as("gone", ""))
		closed.Close(as("gone", ""), session.CloseOptions{Force: true})
		m.ServerView().Owners().Leave(shim("gone"))
		join(t, m.ServerView().Owners(), "stranger", owners.Place{Client: "agent", Dir: "/home", User: "1000"})
		said := func(id string) string {
			_, err := m.ServerView().Adopt(as("stranger", ""), id)
			return strings.ReplaceAll(sessiontest.WantKind(t, err, term.NotFound).Error(), id, "ID")
		}
		none := said("web1-00000000")
		for _, s := range []*session.Session{present, orphan, closed} {
			if got := said(s.ID()); got != none {
				t.Errorf("the error is %q, want as for none: %q", got, none)
			}
		}
		_, err := m.ServerView().Adopt(sessiontest.Task("t1"), orphan.ID())
		sessiontest.WantKind(t, err, term.Unsupported)
		_, err = m.ServerView().Give(as("stranger", ""), orphan.ID(), "stranger")
		sessiontest.WantKind(t, err, term.PolicyDenied)
	})
}

// A result that waits keeps an idle session; one without a result ends when it is idle, as any session.
func TestIdleOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{IdleTimeout: 10 * time.Minute})
		join(t, m.ServerView().Owners(), "one", web)
		quiet := open(t, m, as("one", ""))
		busy := open(t, m, as("one", ""))
		r := session.ExecRequest{Command: "make", Wait: time.Millisecond, Timeout: time.Hour}
		if _, err := busy.Exec(as("one", ""), r); err != nil {
			t.Fatal(err)
		}
		m.ServerView().Owners().Leave(shim("one"))
		f.finish <- struct{}{}
		time.Sleep(30 * time.Minute)
		if quiet.State() != session.Closed || busy.State() != session.Open {
			t.Errorf("after half an hour: without a result %s, with one %s, want closed and open", quiet.State(), busy.State())
		}
	})
}

// A session that is reopened stays its owner's, and ends when no client has it.
func TestReopenedKeepsItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := manage(t, session.Config{})
		join(t, m.ServerView().Owners(), "one", web)
		s := open(t, m, as("one", ""))
		m.ServerView().Owners().Leave(shim("one"))
		_ = (<-f.terminal).Close()
		<-s.Ended()
		join(t, m.ServerView().Owners(), "two", web)
		if _, err := m.ServerView().Adopt(as("two", ""), s.ID()); err != nil {
			t.Fatal(err)
		}
		res, err := m.Reopen(as("two", ""), session.ReopenRequest{Session: s})
		if err != nil {
			t.Fatal(err)
		}
		again := res.Session
		if i := again.Info(); i.State != session.Open || !i.Owner.Is(shim("two")) {
			t.Errorf("the reopened session is %s of %v, want open and the adopter's", i.State, i.Owner)
		}
		if _, err := again.Write(as("two", ""), []byte("x"), session.WriteOptions{}); err != nil {
			t.Errorf("a write of the owner: %v, want no error", err)
		}
		_, err = again.Write(as("one", ""), []byte("x"), session.WriteOptions{})
		sessiontest.WantKind(t, err, term.Locked)
		m.ServerView().Owners().Leave(shim("two"))
		time.Sleep(owners.DefaultTTL)
		<-again.Ended()
		if end := again.Info().End; end.Code != session.EndOrphaned {
			t.Errorf("the reopened session has ended with %q, want orphaned", end.Code)
		}
	})
}
