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

// Helpers for all tests of sessions.
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
				dropped, lost := int64(0), o.Lost(o.Cut(), o.TailStart)
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
					if dropped += chunk.Dropped; chunk.Dropped > 0 && chunk.Start < int64(c.size-c.keep) {
						t.Fatalf("dropped %d at %d, of which all is held", chunk.Dropped, cursor)
					}
					middle = append(middle, chunk.Data...)
					if !bytes.Equal(chunk.Data, all[chunk.Start:chunk.Next]) {
						t.Fatal("a chunk is not of the output")
					}
					cursor = chunk.Next
				}
				if dropped != lost {
					t.Errorf("the reads of the middle have dropped %d bytes, and the result says that %d are lost", dropped, lost)
				}
				if whole := slices.Concat(o.Head, middle, o.Tail); c.keep == 0 && !bytes.Equal(whole, all) {
					t.Error("the parts do not make the whole")
				}
			})
		})
	}
}

// An excerpt says how much of its omission is no longer held, wherever it begins.
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

// A read and a search by the id see the start and the end of a stream that lost its middle.
func TestReadHead(t *testing.T) {
	const keep, n = 1000, 20_000
	all := []byte(nil)
	for i := range n {
		all = fmt.Appendf(all, "%06d\n", i)
	}
	const head = 64 << 10
	tail := int64(len(all) - keep)
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			_, err := stdout.Write(all)
			return term.Exit{Known: true}, err
		}, session.Options{ExecBytes: keep})
		id := run(t, s, session.ExecRequest{Command: "id"}).ID
		for _, c := range []struct {
			name        string
			r           session.ReadRequest
			start, next int64
			dropped     int64
			reason      session.Reason
		}{
			{"from the start", session.ReadRequest{MaxBytes: 100}, 0, 100, 0, session.ReasonFull},
			{"within the start", session.ReadRequest{Cursor: 8192, MaxBytes: 1 << 20}, 8192, head, 0, session.ReasonFull},
			{"behind the start", session.ReadRequest{Cursor: head, MaxBytes: 100}, tail, tail + 100, tail - head, session.ReasonFull},
			{"within what is lost", session.ReadRequest{Cursor: 100_000}, tail, n * 7, tail - 100_000, session.ReasonData},
			{"the end", session.ReadRequest{Tail: true, MaxBytes: 70}, n*7 - 70, n * 7, 0, session.ReasonTail},
			{"a match in the start", session.ReadRequest{Until: re("^000300$"), MaxBytes: 9000}, 0, 300*7 + 6, 0, session.ReasonMatched},
			{"a match beyond MaxBytes", session.ReadRequest{Until: re("^000300$"), MaxBytes: 50}, 0, 50, 0, session.ReasonFull},
			{"the end of a match in the start", session.ReadRequest{Until: re("^000300$"), Last: true, MaxBytes: 6}, 300 * 7, 300*7 + 6, 0, session.ReasonMatched},
			{"a match in the end", session.ReadRequest{Until: re("^019999$")}, 0, head, 0, session.ReasonFull},
			{"its last bytes", session.ReadRequest{Until: re("^019999$"), Last: true, MaxBytes: 6}, n*7 - 7, n*7 - 1, tail - head, session.ReasonMatched},
		} {
			c.r.NoWait = true
			k, err := s.ReadExec(t.Context(), id, "stdout", c.r)
			if err != nil || k.Start != c.start || k.Next != c.next || k.Dropped != c.dropped || k.Reason != c.reason {
				t.Errorf("%s: %d to %d, %d dropped, %s, %v; want %d to %d, %d, %s",
					c.name, k.Start, k.Next, k.Dropped, k.Reason, err, c.start, c.next, c.dropped, c.reason)
				continue
			}
			if !bytes.Equal(k.Data, all[k.Start:k.Next]) {
				t.Errorf("%s: %.50q is not of the output", c.name, k.Data)
			}
			if k.EOF != (k.Next == n*7) {
				t.Errorf("%s: EOF is %v at %d of %d", c.name, k.EOF, k.Next, n*7)
			}
		}
		found, err := s.SearchExec(t.Context(), id, "stdout", session.SearchRequest{Pattern: re("^(000300|010000|019999)$"), Context: 1})
		var lines string
		for _, l := range found.Lines {
			lines += fmt.Sprintf("%d@%d ", l.Number, l.Cursor)
			if !bytes.Equal(l.Text, all[l.Cursor:l.Cursor+6]) {
				t.Errorf("line %d is %q, which is not at %d", l.Number, l.Text, l.Cursor)
			}
		}
		// 9,363 lines are in the start, the last of them unfinished, and 143 in the end.
		if want := "300@2093 301@2100 302@2107 9505@139986 9506@139993 "; lines != want || err != nil || found.Matches != 2 {
			t.Errorf("a search finds %s(%d, %v), want %s", lines, found.Matches, err, want)
		}
		if found.Dropped != tail-head || found.Next != n*7 {
			t.Errorf("a search has dropped %d and goes on at %d, want %d and %d", found.Dropped, found.Next, tail-head, n*7)
		}
		found, _ = s.SearchExec(t.Context(), id, "stdout", session.SearchRequest{Pattern: re("0$"), Cursor: 100_000, Max: 2})
		if len(found.Lines) != 2 || !found.More || found.Dropped != tail-100_000 || found.Lines[0].Cursor < tail {
			t.Errorf("a search from within what is lost: %+v, want two lines of the end", found)
		}
	})
}
