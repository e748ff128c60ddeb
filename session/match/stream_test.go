package match_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/buffer"
	"ptyctl/session"
	"ptyctl/session/match"
)

// Wherever the writes are cut, the same match is found.
func TestUntilAcrossWrites(t *testing.T) {
	for _, c := range []struct{ name, text, expr, want string }{
		{"literal", "ls\r\na  b\r\nRC=0;END", `RC=0;END`, "ls\r\na  b\r\nRC=0;END"},
		{"prompt at the end", "ls\r\nfile\r\nroot@h:~# ", `[$#>] $`, "ls\r\nfile\r\nroot@h:~# "},
		{"start of a line", "say ok\r\nok.", `^ok\.`, "say ok\r\nok."},
		{"start of text is start of a line", "say ok\r\nok.", `\Aok\.`, "say ok\r\nok."},
		{"start of a line, multi-line mode", "say ok\r\nok.", `(?m)^ok\.`, "say ok\r\nok."},
		{"end of a line, multi-line mode", "ok, ok\nx", `(?m)ok$\nx`, "ok, ok\nx"},
		{"line end in a class", "one\r\n  two!", `one\s+two!`, "one\r\n  two!"},
		{"spanning with start of line", "xx one\none\n\ntwo!", `^one\s+two!`, "xx one\none\n\ntwo!"},
		{"dot over lines", "BEGIN\n1\n2\nEND", `(?s)BEGIN.*END`, "BEGIN\n1\n2\nEND"},
		{"negated class", "a=\n\n1;", `a=[^;]*;`, "a=\n\n1;"},
		{"runes", "größe: €5", `€5`, "größe: €5"},
		{"any rune", "\r\n€", `[^\r\n]`, "\r\n€"},
		{"case", "login PASSWORD:", `(?i)password:`, "login PASSWORD:"},
		{"alternation", "x\nwarn", `fail|warn`, "x\nwarn"},
		{"word", "okay\nok.", `\bok\.`, "okay\nok."},
		{"bytes that are no text", "\xff\xfe\x00ok", `ok`, "\xff\xfe\x00ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.text) + 1 {
				synctest.Test(t, func(t *testing.T) {
					s, far := start(t, 0, session.Options{})
					got := make(chan session.Chunk, 1)
					go func() {
						got <- s.Read(t.Context(), session.ReadRequest{Until: re(c.expr), Timeout: time.Minute})
					}()
					synctest.Wait()
					put(t, far, c.text[:cut])
					put(t, far, c.text[cut:])
					if g := <-got; g.Reason != session.ReasonMatched || string(g.Data) != c.want {
						t.Errorf("cut at %d: %s, %q", cut, g.Reason, g.Data)
					}
				})
			}
			synctest.Test(t, func(t *testing.T) { // every byte on its own
				s, far := start(t, 0, session.Options{})
				got := make(chan session.Chunk, 1)
				go func() { got <- s.Read(t.Context(), session.ReadRequest{Until: re(c.expr), Timeout: time.Minute}) }()
				for i := range len(c.text) {
					put(t, far, c.text[i:i+1])
				}
				if g := <-got; g.Reason != session.ReasonMatched || string(g.Data) != c.want {
					t.Errorf("byte by byte: %s, %q", g.Reason, g.Data)
				}
			})
		})
	}
}

// An anchor does not match where a window happens to begin.
func TestUntilAnchorIsNoWindowEdge(t *testing.T) {
	for _, expr := range []string{`^o+k`, `(?m)^o+k`, `^\s*o+k`, `(?m)^\s*o+k`, `\bo+k\s`} {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			got := make(chan session.Chunk, 1)
			go func() { got <- s.Read(t.Context(), session.ReadRequest{Until: re(expr), Timeout: time.Minute}) }()
			synctest.Wait()
			const line = "xoooook xok ok--\n" // 17 bytes: in 17 writes, the look back begins at each of them
			put(t, far, strings.Repeat(line, 1200))
			for range 17 {
				put(t, far, line)
			}
			if strings.HasPrefix(expr, `\b`) {
				put(t, far, "ok \n")
			} else {
				put(t, far, "ok")
			}
			if g := <-got; g.Reason != session.ReasonMatched || g.Next < 1217*17 {
				t.Errorf("%s: %s at %d", expr, g.Reason, g.Next)
			}
		})
	}
}

func TestUntilAndCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "a$ b$ c")
		for _, c := range []struct {
			name    string
			r       session.ReadRequest
			reason  session.Reason
			data    string
			next    int64
			exclude bool
		}{
			{"the first", session.ReadRequest{Until: re(`\$ `), NoWait: true}, session.ReasonMatched, "a$ ", 3, false},
			{"one that ends at the cursor does not count", session.ReadRequest{Cursor: 3, Until: re(`\$ `), NoWait: true}, session.ReasonMatched, "b$ ", 6, false},
			{"one that straddles the cursor does", session.ReadRequest{Cursor: 2, Until: re(`\$ `), NoWait: true}, session.ReasonMatched, " ", 3, false},
			{"none after the cursor", session.ReadRequest{Cursor: 6, Until: re(`\$ `), NoWait: true}, session.ReasonTimeout, "c", 7, false},
			{"excluded", session.ReadRequest{Until: re(`\$ `), ExcludeMatch: true, NoWait: true}, session.ReasonMatched, "a", 3, true},
			{"excluded, straddling", session.ReadRequest{Cursor: 2, Until: re(`\$ `), ExcludeMatch: true, NoWait: true}, session.ReasonMatched, "", 3, true},
			{"excluded, at the cursor", session.ReadRequest{Cursor: 1, Until: re(`\$ `), ExcludeMatch: true, NoWait: true}, session.ReasonMatched, "", 3, true},
			{"as long as MaxBytes", session.ReadRequest{Until: re(`\$ `), MaxBytes: 3, NoWait: true}, session.ReasonMatched, "a$ ", 3, false},
			{"beyond MaxBytes", session.ReadRequest{Until: re(`\$ `), MaxBytes: 2, NoWait: true}, session.ReasonFull, "a$", 2, false},
			{"then found by the next read", session.ReadRequest{Cursor: 2, Until: re(`\$ `), MaxBytes: 2, NoWait: true}, session.ReasonMatched, " ", 3, false},
			{"empty", session.ReadRequest{Cursor: 4, Until: re(``), NoWait: true}, session.ReasonMatched, "$", 5, false},
		} {
			got := s.Read(t.Context(), c.r)
			if got.Reason != c.reason || string(got.Data) != c.data || got.Next != c.next {
				t.Errorf("%s: %s, %q, next %d", c.name, got.Reason, got.Data, got.Next)
			}
		}
		if c := s.Read(t.Context(),
			session.ReadRequest{Cursor: session.Latest, Until: re(``), NoWait: true}); c.Reason != session.ReasonTimeout {
			t.Errorf("nothing new: %s", c.Reason)
		}
	})
}

// The two ends of a match may be any distance apart.
func TestUntilOverALongDistance(t *testing.T) {
	for _, gap := range []int{15 << 10, 17 << 10, 300 << 10} {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			got := make(chan session.Chunk, 1)
			go func() {
				got <- s.Read(t.Context(), session.ReadRequest{Until: re(`(?s)BEGIN.*END`), Timeout: time.Minute})
			}()
			put(t, far, "\nBEGIN")
			for range gap >> 10 {
				put(t, far, strings.Repeat("x", 1023)+"\n")
			}
			put(t, far, "END")
			if g := <-got; g.Reason != session.ReasonMatched {
				t.Errorf("BEGIN and END %d bytes apart: %s, want %s", gap, g.Reason, session.ReasonMatched)
			}
		})
	}
}

// Behind a break of the buffer a line begins, whatever was before; a match does not go over it, and the end of the
// output before it is an end.
func TestBreaks(t *testing.T) {
	for _, c := range []struct {
		name, before, after, expr string
		from, stop                int64 // -1: no match
	}{
		{"start of a line", "r1# ", "login: ", `^login`, 0, 9},
		{"start of a line, from the break", "r1# ", "login: ", `^login`, 4, 9},
		{"not over it", "r1# ", "login: ", `# login`, 0, -1},
		{"not over it, spanning lines", "r1# ", "\nlogin: ", `#\s*login`, 0, -1},
		{"not greedy over it", "aab", "bbc", `ab+`, 0, 3},
		{"the end before it", "r1# ", "login: ", `# $`, 0, 4},
		{"no end before the cursor", "r1# ", "login: ", `# $`, 4, -1},
		{"a cut sequence", "r1# \x1b]0;", "login: ", `^login`, 0, 13},
	} {
		for _, clean := range []bool{false, true} {
			b := buffer.New(buffer.Options{})
			_, _ = b.Write([]byte(c.before))
			_ = b.Close()
			b.Reopen()
			_, _ = b.Write([]byte(c.after))
			_, stop, ok := match.New(b, match.Options{
				Pattern: match.Compile(re(c.expr)), From: c.from, Clean: clean, Cols: 80,
			}).Look()
			if ok != (c.stop >= 0) || ok && stop != c.stop {
				t.Errorf("%s, clean %t: %q in %q, break, %q ends at %d, %t; want %d",
					c.name, clean, c.expr, c.before, c.after, stop, ok, c.stop)
			}
		}
	}
}
