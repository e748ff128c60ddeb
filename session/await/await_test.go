package await_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/await"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A later is an action of a far side after a while.
type later struct {
	after time.Duration
	far   int
	text  string // "EOF" ends the stream
}

// said describes the result of an entry, for a message.
func said(r await.Result) string {
	if !r.Met {
		return fmt.Sprintf("no, %d", r.Next)
	}
	return fmt.Sprintf("%s %q, %d", r.Chunk.Reason, r.Chunk.Data, r.Next)
}

func TestWaits(t *testing.T) {
	read := func(r session.ReadRequest) await.Entry { return await.Entry{Read: r} }
	now := session.Latest
	for _, c := range []struct {
		name    string
		there   [2]string // output before the call
		then    []later
		entries [2]await.Entry
		all     bool
		limit   time.Duration // of the context; 0: none
		want    [2]string
		took    time.Duration
	}{
		{
			"the first to say something", [2]string{"old", ""}, []later{{time.Second, 1, "b"}},
			[2]await.Entry{read(session.ReadRequest{Cursor: now}), read(session.ReadRequest{Cursor: now})}, false, 0,
			[2]string{"no, 3", `data "b", 1`}, time.Second,
		},
		{
			"what is there", [2]string{"old", ""}, nil,
			[2]await.Entry{read(session.ReadRequest{Cursor: 1}), read(session.ReadRequest{Cursor: now})}, false, 0,
			[2]string{`data "ld", 3`, "no, 0"}, 0,
		},
		{
			"both at once", [2]string{"a", "b"}, nil,
			[2]await.Entry{read(session.ReadRequest{}), read(session.ReadRequest{Until: sessiontest.Re("b")})}, false, 0,
			[2]string{`data "a", 1`, `matched "b", 1`}, 0,
		},
		{
			"a pattern", [2]string{"", ""}, []later{{time.Second, 0, "wait "}, {time.Second, 0, "ready more"}},
			[2]await.Entry{
				read(session.ReadRequest{Cursor: now, Until: sessiontest.Re("ready")}),
				read(session.ReadRequest{Cursor: now, Until: sessiontest.Re("never")}),
			}, false, 0,
			[2]string{`matched "wait ready", 10`, "no, 0"}, 2 * time.Second,
		},
		{
			"what an entry without luck has seen stays to be read", [2]string{"", ""},
			[]later{{time.Second, 1, "half of it"}, {time.Second, 0, "a"}},
			[2]await.Entry{
				read(session.ReadRequest{Cursor: now}), read(session.ReadRequest{Cursor: now, Until: sessiontest.Re("whole")}),
			}, false, 0,
			[2]string{`data "a", 1`, "no, 0"}, 2 * time.Second,
		},
		{
			"all", [2]string{"", ""}, []later{{time.Second, 1, "b"}, {time.Second, 0, "a"}},
			[2]await.Entry{read(session.ReadRequest{Cursor: now}), read(session.ReadRequest{Cursor: now})}, true, 0,
			[2]string{`data "a", 1`, `data "b", 1`}, 2 * time.Second,
		},
		{
			"not all in time", [2]string{"", ""}, []later{{time.Second, 1, "b"}},
			[2]await.Entry{read(session.ReadRequest{Cursor: now}), read(session.ReadRequest{Cursor: now})}, true, time.Minute,
			[2]string{"no, 0", `data "b", 1`}, time.Minute,
		},
		{
			"none in time", [2]string{"", "x"}, nil,
			[2]await.Entry{read(session.ReadRequest{Cursor: now}), read(session.ReadRequest{Cursor: 99})}, false, time.Minute,
			[2]string{"no, 0", "no, 1"}, time.Minute,
		},
		{
			"quiet", [2]string{"a", ""}, []later{{time.Second, 1, "b"}, {2 * time.Second, 1, "c"}},
			[2]await.Entry{
				read(session.ReadRequest{Cursor: now, Until: sessiontest.Re("x")}),
				read(session.ReadRequest{Cursor: now, Idle: 1500 * time.Millisecond}),
			}, false, 0,
			[2]string{"no, 1", `idle "b", 1`}, 2500 * time.Millisecond,
		},
		{
			"the end, whatever is said before", [2]string{"", ""}, []later{{time.Second, 0, "last words"}, {time.Second, 0, "EOF"}},
			[2]await.Entry{read(session.ReadRequest{Cursor: now, End: true}), read(session.ReadRequest{Cursor: now})}, false, 0,
			[2]string{`eof "last words", 10`, "no, 0"}, 2 * time.Second,
		},
		{
			"the end of what was waited for in vain", [2]string{"a", ""}, []later{{time.Second, 0, "EOF"}},
			[2]await.Entry{
				read(session.ReadRequest{Until: sessiontest.Re("x")}), read(session.ReadRequest{Cursor: now, End: true}),
			}, false, 0,
			[2]string{`eof "a", 1`, "no, 0"}, time.Second,
		},
		{
			"the last bytes", [2]string{"0123456789", ""}, nil,
			[2]await.Entry{
				read(session.ReadRequest{MaxBytes: 4, Last: true, Until: sessiontest.Re("8")}), read(session.ReadRequest{Cursor: now}),
			}, false, 0,
			[2]string{`matched "5678", 9`, "no, 0"}, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var far [2]net.Conn
				for i := range far {
					c.entries[i].Session, far[i] = sessiontest.Start(t, 0, session.Options{})
					sessiontest.Put(t, far[i], c.there[i])
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					for _, l := range c.then {
						time.Sleep(l.after)
						if l.text == "EOF" {
							far[l.far].Close()
							continue
						}
						_, _ = io.WriteString(far[l.far], l.text)
					}
				}()
				ctx := t.Context()
				if c.limit > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, c.limit)
					defer stop()
				}
				join := await.Any
				if c.all {
					join = await.All
				}
				var got []await.Result
				var err error
				took := sessiontest.Since(func() { got, err = join(ctx, c.entries[:]) })
				if err != nil {
					t.Fatalf("the wait fails: %v", err)
				}
				for i, r := range got {
					if said(r) != c.want[i] {
						t.Errorf("entry %d ends with %s; want %s", i, said(r), c.want[i])
					}
				}
				if took != c.took {
					t.Errorf("the wait took %v, want %v", took, c.took)
				}
				<-done
			})
		})
	}
}

// A wait in vain is no read: the session's counters and its observers know nothing of it.
func TestVainWaitIsNoRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen sessiontest.Diary
		a, far := sessiontest.Start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		b, other := sessiontest.Start(t, 0, session.Options{})
		sessiontest.Put(t, far, "text")
		sessiontest.Put(t, other, "text")
		if _, err := await.Any(t.Context(), []await.Entry{
			{Session: a, Read: session.ReadRequest{Until: sessiontest.Re("never")}}, {Session: b},
		}); err != nil {
			t.Fatal(err)
		}
		if reads := seen.Of(term.VerbRead); len(reads) > 0 || !a.Info().Drained.IsZero() || b.Info().Drained.IsZero() {
			t.Errorf("observers of the session that said nothing see %+v; drained at %v, the other at %v", reads,
				a.Info().Drained, b.Info().Drained)
		}
	})
}

// Each entry takes a place among the reads that wait, unless it has no need to wait.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 1)
		m := sessiontest.Manage(t, sessiontest.Dialed(far), session.Config{MaxReads: 2})
		r, err := m.Open(t.Context(), sessiontest.Target("h"))
		if err != nil {
			t.Fatal(err)
		}
		s, line := r.Session, <-far
		entries := []await.Entry{{Session: s}, {Session: s}, {Session: s}}
		_, err = await.All(t.Context(), entries)
		sessiontest.WantKind(t, err, term.LimitExceeded)
		_, err = await.Any(t.Context(), entries)
		sessiontest.WantKind(t, err, term.LimitExceeded)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err = await.Any(ctx, entries[:2]); err != nil {
			t.Errorf("two waits with two places: %v", err)
		}
		sessiontest.Put(t, line, "x")
		got, err := await.Any(t.Context(), entries)
		if err != nil || !got[0].Met || !got[1].Met || !got[2].Met {
			t.Errorf("three entries that need not wait: %+v, %v", got, err)
		}
	})
}

// A login's question ends the wait: it may be for the caller to answer.
func TestQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := make(chan struct{})
		m := sessiontest.Manage(t, func(
			ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve,
		) (term.Transport, error) {
			<-ask
			_, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptPassword, Text: "Password: "})
			return nil, err
		}, session.Config{})
		r := sessiontest.Target("h")
		r.Wait = time.Millisecond
		opened, err := m.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { close(ask) })
		entries := []await.Entry{{Session: opened.Session, Read: session.ReadRequest{Cursor: session.Latest, End: true}}}
		for _, want := range []time.Duration{time.Second, 0} { // as long as it waits for its answer
			var got []await.Result
			took := sessiontest.Since(func() { got, err = await.All(t.Context(), entries) })
			if err != nil || !got[0].Met || got[0].Chunk.Reason != session.ReasonAsked || took != want {
				t.Errorf("the wait for a login that asks = %+v, %v after %v; want ReasonAsked after %v", got, err, took, want)
			}
		}
	})
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessiontest.StartExec(t, func(
			_ context.Context, _ term.ExecRequest, stdout, _ io.Writer,
		) (term.Exit, error) {
			_, _ = io.WriteString(stdout, "listening\n")
			time.Sleep(10 * time.Second)
			_, _ = io.WriteString(stdout, "done\n")
			return term.Exit{Started: true, Known: true, Code: 3}, nil
		}, session.Options{})
		x, err := s.Exec(t.Context(), session.ExecRequest{Command: "serve", Wait: time.Second, Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		entries := []await.Entry{
			{Session: s, Exec: x.ID, Ends: true},
			{Session: s, Exec: x.ID, Read: session.ReadRequest{Until: sessiontest.Re("listening")}},
		}
		got, err := await.Any(t.Context(), entries)
		if err != nil || got[0].Met || !got[1].Met || got[1].Next != 9 {
			t.Errorf("a command that has said it: %+v, %v; want it met by its output", got, err)
		}
		entries[1].Read = session.ReadRequest{Cursor: session.Latest}
		took := sessiontest.Since(func() { got, err = await.All(t.Context(), entries) })
		if err != nil || !got[0].Met || string(got[1].Chunk.Data) != "done\n" || took != 9*time.Second {
			t.Errorf("the end of a command: %+v, %v after %v, want both met after 9 s", got, err, took)
		}
		// Nothing of it counts as delivered.
		res, err := s.ContinueExec(t.Context(), x.ID, session.ContinueRequest{New: true, Look: true})
		if err != nil || !res.Exit.Known || res.Exit.Code != 3 || string(res.Stdout.Bytes()) != "done\n" {
			t.Errorf("the result after the wait = %+v, %v, want exit 3 and the output not yet returned", res, err)
		}
		if i := s.Info(); len(i.Unfetched) != 1 {
			t.Errorf("a look counts as fetched: %v", i.Unfetched)
		}
		entries[0].Exec = "exec-none"
		_, err = await.Any(t.Context(), []await.Entry{entries[1], entries[0]})
		sessiontest.WantKind(t, err, term.NotFound)
		if e, ok := errors.AsType[*await.EntryError](err); !ok || e.Index != 1 || !strings.Contains(e.Error(), "exec-none") {
			t.Errorf("no such command: %v, want an error about entry 1", err)
		}
	})
}

// A call that ends gives up all its waits, and says so.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := sessiontest.Start(t, 0, session.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		entries := make([]await.Entry, 64)
		for i := range entries {
			entries[i].Session = s
		}
		got, err := await.All(ctx, entries)
		if err != nil || got[0].Met || s.Info().Readers != 0 {
			t.Errorf("a canceled wait = %+v, %v with %d readers left; want none met, none left", got[0], err, s.Info().Readers)
		}
	})
}
