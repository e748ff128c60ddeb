package mcpapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplays()
		runs := 0
		slow := func(context.Context) (any, error) {
			runs++
			time.Sleep(time.Second)
			return runs, nil
		}
		// A retry joins the first call, which goes on though its caller gives up.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := r.do(ctx, "s", "1", []byte("a"), slow); term.KindOf(err) != term.Canceled {
			t.Errorf("the first caller: %v", err)
		}
		for range 3 {
			if v, err := r.do(t.Context(), "s", "1", []byte("a"), slow); text(v) != "1" || err != nil {
				t.Errorf("a retry: %v, %v", v, err)
			}
		}
		if _, err := r.do(t.Context(), "s", "1", []byte("b"), slow); term.KindOf(err) != term.InvalidArgument {
			t.Errorf("other arguments: %v", err)
		}
		// Another session, another id, and an id that is forgotten run again.
		for i, c := range []struct{ scope, id string }{{"t", "1"}, {"s", "2"}} {
			if v, err := r.do(t.Context(), c.scope, c.id, nil, slow); text(v) != fmt.Sprint(i+2) || err != nil {
				t.Errorf("%v: %v, %v", c, v, err)
			}
		}
		time.Sleep(replayMemory + time.Second)
		_, _ = r.do(t.Context(), "s", "3", nil, slow)
		if v, _ := r.do(t.Context(), "s", "1", []byte("a"), slow); text(v) != "5" {
			t.Errorf("after the memory: %v", v)
		}
	})
}

// text is a result in words.
func text(v any) string { return fmt.Sprint(v) }

// Remembered results take a bounded amount of memory over all sessions; the newest result is always kept.
func TestReplayBytes(t *testing.T) {
	r := newReplays()
	big := strings.Repeat("x", 1<<20)
	for i := range 100 {
		v, err := r.do(t.Context(), fmt.Sprint("s", i), "1", nil, func(context.Context) (any, error) { return big, nil })
		if err != nil || len(text(v)) != len(big) {
			t.Fatal(err)
		}
	}
	if r.bytes > replayBytes || len(r.order) != len(r.calls) || len(r.calls) > 32 {
		t.Errorf("%d bytes in %d of %d", r.bytes, len(r.order), len(r.calls))
	}
}

func TestReplayBounded(t *testing.T) {
	r := newReplays()
	f := func(context.Context) (any, error) { return nil, nil }
	for i := range 3 * maxReplays {
		_, _ = r.do(t.Context(), "s", fmt.Sprint(i), nil, f)
	}
	if n := len(r.calls["s"]); n != maxReplays {
		t.Errorf("%d remembered", n)
	}
}

// A failure of a call that did nothing is not remembered. A failure that leaves doubt is, and so is a panic.
func TestReplayOfFailures(t *testing.T) {
	for kind, again := range map[term.Kind]bool{
		term.Busy: true, term.Locked: true, term.ConnectFailed: true,
		term.IOError: false, term.RemoteClosed: false,
	} {
		r, runs := newReplays(), 0
		f := func(context.Context) (any, error) {
			runs++
			return nil, term.Errorf(kind, "x")
		}
		for range 2 {
			if _, err := r.do(t.Context(), "s", "1", nil, f); term.KindOf(err) != kind {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if (runs == 2) != again {
			t.Errorf("%s: ran %d times", kind, runs)
		}
	}
	for written, again := range map[int]bool{0: true, 1: false} { // of a write that lost the lock on its way
		r, runs := newReplays(), 0
		for range 2 {
			_, _ = r.do(t.Context(), "s", "1", nil, func(context.Context) (any, error) {
				runs++
				return nil, &term.Error{Kind: term.LockRequired, Msg: "x", Facts: term.Facts{term.PartialWrite{Written: written}}}
			})
		}
		if (runs == 2) != again {
			t.Errorf("%d bytes written: ran %d times", written, runs)
		}
	}
	r := newReplays()
	if _, err := r.do(t.Context(), "s", "1", nil, func(context.Context) (any, error) { panic("boom") }); term.KindOf(
		err,
	) != term.Internal {
		t.Errorf("a panic: %v", err)
	}
}
