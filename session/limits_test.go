package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 1)
		m := manage(t, dialed(far), session.Config{MaxAge: 10 * time.Second, IdleTimeout: 6 * time.Second})
		s := opened(t, m, "web1")
		f := <-far
		took := since(func() {
			for range 3 {
				time.Sleep(3 * time.Second)
				put(t, f, "still at work")
			}
			<-s.Ended()
		})
		if took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
		if i := s.Info(); i.State != session.Closed || !strings.Contains(i.End.Reason, "10s, the longest age") {
			t.Errorf("%s, %+v", i.State, i.End)
		}
		quiet := opened(t, m, "web2")
		if took := since(func() { <-quiet.Ended() }); took != 6*time.Second {
			t.Errorf("the idle one ended after %v", took)
		}
	})
}

// A session can have less time than the others, and no more.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, dialed(make(chan net.Conn, 2)), session.Config{MaxAge: 10 * time.Second})
		for life, says := range map[time.Duration]string{4 * time.Second: "4s, its timeout", time.Minute: "10s, the longest age"} {
			r, err := m.Open(t.Context(), session.OpenRequest{Target: target("web1").Target, Life: life})
			if err != nil {
				t.Fatal(err)
			}
			took := since(func() { <-r.Session.Ended() })
			if i := r.Session.Info(); took != min(life, 10*time.Second) || !strings.Contains(i.End.Reason, says) {
				t.Errorf("after %s: %+v", took, i.End)
			}
		}
	})
}

// Age counts from the start, and also while a login waits for an answer.
func TestMaxAgeOfALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			_, err := p.Prompt(ctx, term.Prompt{Text: "Password: "})
			return nil, err
		}, session.Config{MaxAge: 10 * time.Second, PromptTimeout: time.Hour})
		r, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		if took := since(func() { <-r.Session.Ended() }); took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestMaxReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 2)
		m := manage(t, dialed(far), session.Config{MaxReads: 2})
		a, b := opened(t, m, "a"), opened(t, m, "b")
		put(t, <-far, "prompt> ")
		wait := session.ReadRequest{Until: re("never"), Timeout: time.Minute}
		reasons := make(chan session.Reason, 2)
		for _, s := range []*session.Session{a, b} {
			go func() { reasons <- s.Read(t.Context(), wait).Reason }()
		}
		synctest.Wait()
		if c := a.Read(t.Context(), wait); c.Reason != session.ReasonLimit || string(c.Data) != "prompt> " || c.Next != 8 {
			t.Errorf("Read over the limit = %+v, want ReasonLimit with the output held", c)
		}
		e := wantKind(t, a.TooManyReads(), term.LimitExceeded)
		if term.FactOf[term.LimitReached](e).Limit != term.LimitWaitingReads || term.FactOf[term.LimitReached](e).Value != 2 {
			t.Errorf("details = %+v, want a limit of 2 waiting reads", e.Facts)
		}
		// Reads that have no need to wait are not concerned.
		for name, r := range map[string]session.ReadRequest{
			"there is something": {Timeout: time.Minute},
			"it matches":         {Until: re(">"), Timeout: time.Minute},
			"no time":            {Until: re("never")},
			"tail":               {Tail: true, Timeout: time.Minute},
		} {
			if c := a.Read(t.Context(), r); c.Reason == session.ReasonLimit {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for range 2 {
			if r := <-reasons; r != session.ReasonTimeout {
				t.Errorf("a waiting read ended for %s, want its timeout", r)
			}
		}
		if c := b.Read(t.Context(), wait); c.Reason != session.ReasonTimeout {
			t.Errorf("after the others: %s", c.Reason)
		}
	})
}

const kib = 1 << 10

// All output counts against the one limit, and forgotten output counts no more.
func TestMaxBufferBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 10)
		m := manage(t, dialed(far), session.Config{MaxBufferBytes: 32 * kib, BufferBytes: 1 << 20, Retention: time.Minute})
		limited := func(err error) {
			t.Helper()
			if e := wantKind(t, err, term.LimitExceeded); term.FactOf[term.LimitReached](e).Limit != term.LimitOutput ||
				term.FactOf[term.LimitReached](e).Value != 32*kib {
				t.Errorf("details = %+v, want an output limit of 32 KiB", e.Facts)
			}
		}
		greedy := opened(t, m, "greedy")
		opened(t, m, "b")
		opened(t, m, "c")
		text := bytes.Repeat([]byte("0123456789abcdef"), 4*kib)
		put(t, <-far, string(text)) // 64 KiB: 24 KiB fit, and b and c have 4 KiB each
		st := greedy.Info().Buffer
		if st.Allocated != 24*kib || !st.Capped || st.End != 64*kib {
			t.Errorf("buffer = %+v, want 24 KiB held of 64 KiB", st)
		}
		if c := greedy.Read(t.Context(), session.ReadRequest{}); c.Dropped != 40*kib || !bytes.Equal(c.Data, text[40*kib:]) {
			t.Errorf("%d bytes after %d", len(c.Data), c.Dropped)
		}
		_, err := m.Open(t.Context(), target("d"))
		limited(err)
		if l := m.List(); len(l) != 3 {
			t.Errorf("%d sessions", len(l))
		}

		// An ended session counts as long as it can be read.
		greedy.Close(t.Context(), session.CloseOptions{})
		_, err = m.Open(t.Context(), target("d"))
		limited(err)
		time.Sleep(time.Minute + 1)
		opened(t, m, "d")
		if c := greedy.Read(t.Context(), session.ReadRequest{}); !c.EOF || len(c.Data) != 0 || c.Dropped != 64*kib {
			t.Errorf("a forgotten session is read: %+v", c)
		}
	})
}

func TestMaxBufferBytesOfExecs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := bufpipe.New(0)
		var seen diary
		out := strings.Repeat("x", 100*kib)
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return &shell{
				Plain: plain{ReadWriteCloser: near},
				OnExec: func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
					n, err := io.WriteString(stdout, out)
					if n != len(out) || err != nil {
						t.Errorf("%d, %v", n, err)
					}
					return term.Exit{Known: true}, nil
				},
			}, nil
		}, session.Config{MaxBufferBytes: 30 * kib, Retention: time.Minute, Observers: []term.Observer{&seen}})
		s := opened(t, m, "web1")
		req := session.ExecRequest{Command: "big", Lane: session.LaneChannel}
		r := run(t, s, req)
		if r.ID == "" || r.Stdout.Total != 100*kib || r.Stdout.Complete() || r.Exit.Code != 0 {
			t.Errorf("exec = %+v, want exit code 0 and an incomplete output of 100 KiB", r)
		}
		got := len(r.Stdout.Head) + len(r.Stdout.Tail)
		if got == 0 || got > 30*kib || strings.Trim(string(r.Stdout.Head)+string(r.Stdout.Tail), "x") != "" {
			t.Errorf("%d bytes are kept", got)
		}
		var err error
		for n := 0; err == nil && n < 10; n++ {
			_, err = s.Exec(t.Context(), req)
		}
		e := wantKind(t, err, term.LimitExceeded)
		if term.FactOf[term.LimitReached](e).Limit != term.LimitOutput {
			t.Errorf("details = %+v, want the output limit", e.Facts)
		}
		execs := seen.Of(term.VerbExec)
		if last := execs[len(execs)-1]; !errors.Is(last.Refused, term.LimitExceeded) || last.Err != nil {
			t.Errorf("the last exec was refused, and the event says %+v", last)
		}
		time.Sleep(time.Minute + 1) // all that was not fetched is forgotten
		out = "short"
		for range 50 { // fetched output is given back at once
			if r := run(t, s, req); string(r.Stdout.Head) != "short" || !r.Stdout.Complete() {
				t.Fatalf("exec = %+v, want the complete output \"short\"", r)
			}
		}
	})
}
