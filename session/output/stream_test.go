package output_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/output"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// What all tests of sessions share.
var (
	start     = sessiontest.Start
	startExec = sessiontest.StartExec
	run       = sessiontest.Run
	put       = sessiontest.Put
	re        = sessiontest.Re
)

// A result that does not hold everything holds the start and the end, exact totals, and a way to the middle.
func TestExecBudget(t *testing.T) {
	text := func(n int) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "%d é\n", i)
		}
		return b.Bytes()[:n]
	}
	for _, c := range []struct{ size, budget, keep int }{
		{0, 0, 0},
		{10, 0, 0},
		{16 << 10, 0, 0},
		{16<<10 + 1, 0, 0},
		{200 << 10, 0, 0},
		{200 << 10, 300 << 10, 0},
		{100, 1, 0},
		{100, 7, 0},
		{100, -5, 0},
		{200 << 10, 190 << 10, 0},
		{10_000, 1000, 2000},
		{10_000, 20_000, 2000},
		{100_000, 200_000, 2000},
		{100_000, 10_000, 2000},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := text(c.size)
				s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
					for p := all; len(p) > 0; p = p[min(len(p), 1000):] {
						stdout.Write(p[:min(len(p), 1000)])
					}
					return term.Exit{Known: true}, nil
				}, session.Options{ExecBytes: c.keep})
				got := run(t, s, session.ExecRequest{Command: "id", MaxOutput: c.budget})
				o := got.Stdout
				budget := c.budget
				if budget <= 0 {
					budget = 16 << 10
				}
				if o.Total != int64(c.size) || o.TailStart+int64(len(o.Tail)) != o.Total || o.Omitted() < 0 ||
					len(o.Head)+len(o.Tail) > budget {
					t.Fatalf("total %d, head %d, tail %d at %d", o.Total, len(o.Head), len(o.Tail), o.TailStart)
				}
				if !bytes.Equal(o.Head, all[:len(o.Head)]) || !bytes.Equal(o.Tail, all[o.TailStart:]) {
					t.Fatal("head or tail is not of the output")
				}
				if len(o.Tail) > 0 && o.Omitted() > 0 && !utf8.RuneStart(o.Tail[0]) || o.Omitted() > 0 && !utf8.Valid(o.Head) {
					t.Error("a rune is cut")
				}
				if fits := c.size <= budget && (c.keep == 0 || c.size <= 64<<10); fits != o.Complete() {
					t.Fatalf("complete %v: head %d, tail %d", o.Complete(), len(o.Head), len(o.Tail))
				}
				if o.Complete() {
					if got.ID != "" {
						t.Error("an id for nothing")
					}
					return
				}
				if budget > 100 && c.keep == 0 && len(o.Head)+len(o.Tail) < min(budget/2, 64<<10)+budget/2-8 {
					t.Errorf("only %d bytes of a budget of %d", len(o.Head)+len(o.Tail), budget)
				}
				var middle []byte
				cursor := int64(len(o.Head))
				for cursor < o.TailStart {
					chunk, err := s.ReadExec(
						t.Context(),
						got.ID,
						"stdout",
						session.ReadRequest{Cursor: cursor, MaxBytes: int(min(o.TailStart-cursor, 5000)), NoWait: true},
					)
					if err != nil {
						t.Fatal(err)
					}
					if chunk.Dropped > 0 != (c.keep > 0 && cursor < int64(c.size-c.keep)) {
						t.Fatalf("dropped %d at %d", chunk.Dropped, cursor)
					}
					middle = append(middle, chunk.Data...)
					if !bytes.Equal(chunk.Data, all[chunk.Start:chunk.Next]) {
						t.Fatal("a chunk is not of the output")
					}
					cursor = chunk.Next
				}
				if whole := slices.Concat(o.Head, middle, o.Tail); c.keep == 0 && !bytes.Equal(whole, all) {
					t.Error("the parts do not make the whole")
				}
			})
		})
	}
}

// An excerpt says how much of what it leaves out is no longer held, wherever it begins.
func TestExcerptLost(t *testing.T) {
	const head, keep, total = 64 << 10, 1000, 100_000
	st := output.NewStream(keep, nil, nil)
	for range total / 10 {
		_, _ = st.Write([]byte("ééééé"))
	}
	const hole = total - keep - head // the head ends between two runes
	for _, c := range []struct {
		from   int64
		budget int
		lost   int64
	}{
		{0, 2 * total, hole},
		{0, 1000, hole},
		{head - 100, 1000, hole},
		{head + 1000, 100, hole - 1000},
		{total - keep, 100, 0},
		{total, 100, 0},
	} {
		if o := st.Since(c.from, c.budget); o.Lost(o.Cut(), o.TailStart) != c.lost || o.Omitted() < c.lost {
			t.Errorf("from %d with %d bytes: %d of the %d bytes left out are lost, want %d",
				c.from, c.budget, o.Lost(o.Cut(), o.TailStart), o.Omitted(), c.lost)
		}
	}
	short := output.NewStream(keep, nil, nil)
	_, _ = short.Write(make([]byte, head))
	if o := short.Excerpt(100); o.Omitted() != head-100 || o.Lost(0, o.Total) != 0 {
		t.Errorf("a stream that its head has: %d of %d bytes are lost, want none", o.Lost(0, o.Total), o.Omitted())
	}
}
