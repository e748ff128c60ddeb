package match_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/buffer"
	"ptyctl/session"
	"ptyctl/session/match"
)

// In clean text, a pattern sees the text as a reader does, and the cursors count the bytes. The output is cut in two at
// each byte.
func TestUntilInCleanText(t *testing.T) {
	const debian = "echo hi\r\n\x1b[?2004l\rhi\r\n\x1b[?2004h\x1b]0;alice@vm: ~\aalice@vm:~$ "
	for _, c := range []struct{ name, text, expr, want string }{
		{"a prompt behind bracketed paste", debian, `(?m)^alice@\w+:~\$ $`, debian},
		{"a prompt, without (?m)", debian, `^alice@\w+:~\$ $`, debian},
		{"a line behind bracketed paste", debian, `(?m)^hi$`, debian[:strings.Index(debian, "hi\r\n\x1b[?2004h")+2]},
		{"a whole line, without (?m)", debian, `^hi$`, debian[:strings.Index(debian, "hi\r\n\x1b[?2004h")+2]},
		{"a word at the end of a line", debian, `hi$`, debian[:strings.Index(debian, "\r\n")]},
		{"colours inside a word", "a \x1b[31mRE\x1b[1mADY\x1b[m!\r\n", `READY`, "a \x1b[31mRE\x1b[1mADY"},
		{"a line drawn twice", "10%\r20%\r100% done\r\n$ ", `^100% done`, "10%\r20%\r100% done"},
		{"over two lines", "\x1b[1mone\x1b[m\r\n\x1b[1mtwo\x1b[m\r\n", `one\ntwo`, "\x1b[1mone\x1b[m\r\n\x1b[1mtwo"},
		{"bytes that no text is", "\xffok", "\uFFFDok", "\xffok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.text) + 1 {
				synctest.Test(t, func(t *testing.T) {
					s, far := start(t, 0, session.Options{})
					got := make(chan session.Chunk, 1)
					go func() {
						r := session.ReadRequest{Until: re(c.expr), Clean: true, Timeout: time.Minute}
						got <- s.Read(t.Context(), r)
					}()
					synctest.Wait()
					put(t, far, c.text[:cut])
					put(t, far, c.text[cut:])
					if g := <-got; g.Reason != session.ReasonMatched || string(g.Data) != c.want {
						t.Errorf("%q cut at %d, until %s: %s, %q; want a match and %q", c.text, cut, c.expr, g.Reason, g.Data, c.want)
					}
				})
			}
		})
	}
}

// A pattern for a prompt does not match a finished line that ends like one.
func TestPromptIsNoFinishedLine(t *testing.T) {
	for _, expr := range []string{`[#>] ?$`, `^.*[#>]$`, `^\S+[#>]$`, `(r1|r2)#$`, `^r1[#>]\s*$`} {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			got := make(chan session.Chunk, 1)
			go func() {
				got <- s.Read(t.Context(), session.ReadRequest{Until: re(expr), Clean: true, Timeout: time.Minute})
			}()
			const text = "<interface>\r\n r1#\r\n########\r\n"
			put(t, far, text)
			synctest.Wait()
			put(t, far, "r1#")
			if g := <-got; g.Reason != session.ReasonMatched || string(g.Data) != text+"r1#" {
				t.Errorf("until %s: %s, %q; want a match at the end of %q", expr, g.Reason, g.Data, text+"r1#")
			}
		})
	}
}

// The match does not depend on how the output is cut, unless a line changes after it was shown.
func TestCutsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"a", "b", "ab", " ", "\r\n", "\x1b[1m", "\x1b[2C", "\x1b]0;ab\a", "é", "\n"}
	for range 3000 {
		var text strings.Builder
		for range r.IntN(30) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		text.WriteString("\r\nEND\r\n")
		for _, expr := range []string{`ab+ `, `(?m)^ab`, `b\s+a`, `END`} {
			p := match.Compile(re(expr))
			find := func(cut func(n int) int) string {
				b := buffer.New(buffer.Options{})
				s := match.New(b, match.Options{Pattern: p, Clean: true, Cols: 80})
				for rest := text.String(); ; {
					n := cut(len(rest))
					_, _ = b.Write([]byte(rest[:n]))
					if rest = rest[n:]; len(rest) == 0 {
						_, stop, ok := s.Look()
						return fmt.Sprint(stop, ok)
					}
					if _, stop, ok := s.Look(); ok {
						return fmt.Sprint(stop, ok)
					}
				}
			}
			whole := find(func(n int) int { return n })
			lines := find(func(n int) int { return min(n, 1+r.IntN(6)) })
			if whole != lines {
				t.Fatalf("%s in %q: %s in one piece, %s in several", expr, text.String(), whole, lines)
			}
		}
	}
}

// Bytes that the buffer dropped before the search are counted, and the search goes on behind it with a whole line.
func TestUnsearchedIsCounted(t *testing.T) {
	b := buffer.New(buffer.Options{MaxBytes: 4096})
	for _, clean := range []bool{false, true} {
		from := b.Stat().End
		s := match.New(b, match.Options{Pattern: match.Compile(re(`^MARK`)), From: from, Clean: clean})
		line := strings.Repeat("x", 99) + "\n"
		_, _ = b.Write([]byte("MARK\n"))
		for range 100 {
			_, _ = b.Write([]byte(line))
		}
		if start, stop, ok := s.Look(); ok {
			t.Errorf("clean %v: a match at %d-%d, want none: it was dropped", clean, start, stop)
		}
		st := b.Stat()
		if got, least := s.Unsearched(), st.Start-from; got < least || got > least+100 {
			t.Errorf("clean %v: %d bytes unsearched, want the %d dropped and the rest of their last line", clean, got, least)
		}
		_, _ = b.Write([]byte("MARK\n"))
		if _, stop, ok := s.Look(); !ok || stop != st.End+4 {
			t.Errorf("clean %v: found %v up to %d, want up to %d", clean, ok, stop, st.End+4)
		}
	}
}
