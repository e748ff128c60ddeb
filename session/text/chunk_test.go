package text_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/session"
)

// A reader that goes on from chunk to chunk sees every line that matches as a whole, wherever the chunks are cut, also
// where Filter.Max moves their ends.
func TestChunkMatchMissesNothing(t *testing.T) {
	const out = "needle 1\r\nhay\r\n\x1b[1mnee\x1b[mdle 2\r\n\r\n10%\r20% needle 3\r\nhay é needle 4\r\nhay\r\n$ "
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, out)
		synctest.Wait()
		for _, clean := range []bool{true, false} {
			want := []string{"needle 1", "needle 2", "20% needle 3", "hay é needle 4"}
			expr := "needle [1-4]$"
			if !clean {
				want = []string{"needle 1\r", "10%\r20% needle 3\r", "hay é needle 4\r"}
				expr = "needle [134]$"
			}
			for size := 1; size <= len(out); size++ {
				for _, most := range []int{0, 10, 40} {
					var lines []string
					for cursor := int64(0); cursor < int64(len(out)); {
						c := s.Read(t.Context(), session.ReadRequest{Cursor: cursor, MaxBytes: size, NoWait: true})
						f := session.Filter{Pattern: re(expr), Max: most, Clean: clean}
						got, counts := c.Match(t.Context(), f)
						if got.Next <= cursor || counts.Full && got.Next >= c.Next {
							t.Fatalf("%d bytes at %d: next is %d, without a filter %d; full %v", size, cursor, got.Next, c.Next, counts.Full)
						}
						lines = append(lines, strings.Split(strings.TrimSuffix(string(got.Data), "\n"), "\n")...)
						cursor = got.Next
					}
					for _, line := range want {
						found := false
						for _, l := range lines {
							found = found || l == line
						}
						if !found {
							t.Errorf("clean %v in pieces of %d bytes, at most %d: %q is missing in %q", clean, size, most, line, lines)
						}
					}
				}
			}
		}
	})
}
