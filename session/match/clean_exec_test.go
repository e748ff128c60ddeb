package match_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/buffer"
	"ptyctl/session"
	"ptyctl/session/match"
)

// A terminal that changes the line which the cursor is in shows something new, also where the line was longer before.
func TestRedrawnLineIsNew(t *testing.T) {
	for _, c := range []struct{ name, before, after, expr, want string }{
		{"a counter", "fetch 10%", "\rfetch 100%", `\b100%`, "\rfetch 100%"},
		{"a shorter text", "working on it", "\r\x1b[Kdone", `^done`, "\r\x1b[Kdone"},
		{"a line that ends", "waiting.....", "\r\x1b[Kready\r\nnext", `^ready$`, "\r\x1b[Kready"},
		{"the same text", "user$ ", "\r\x1b[Kuser$ ", `user\$ `, ""},
		{"the same, and more", "user$ ", "\r\x1b[Kuser$ ls", `user\$`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.after) + 1 {
				synctest.Test(t, func(t *testing.T) {
					s, far := start(t, 0, session.Options{})
					put(t, far, c.before)
					synctest.Wait()
					got := make(chan session.Chunk, 1)
					go func() {
						r := session.ReadRequest{Cursor: session.Latest, Until: re(c.expr), Clean: true, Timeout: time.Minute}
						got <- s.Read(t.Context(), r)
					}()
					synctest.Wait()
					put(t, far, c.after[:cut])
					synctest.Wait()
					put(t, far, c.after[cut:])
					g := <-got
					if c.want == "" && g.Reason == session.ReasonMatched || c.want != "" && string(g.Data) != c.want {
						t.Errorf("after %q, %q cut at %d, until %s: %s, %q; want %q", c.before, c.after, cut, c.expr, g.Reason, g.Data, c.want)
					}
				})
			}
		})
	}
}

// Output that was made for no terminal has no line that CR changes: only colours are not seen.
func TestUntilWithoutTerminal(t *testing.T) {
	const text = "10%\r20%\rab\bc \x1b[31mre\x1b[1md\x1b[m \x1b[2Jend\r\n"
	for _, c := range []struct{ expr, want string }{
		{`^10%\r20%`, "10%\r20%"},
		{`b\x08c red `, "10%\r20%\rab\bc \x1b[31mre\x1b[1md\x1b[m "},
		{`\\x1b\[2J`, "10%\r20%\rab\bc \x1b[31mre\x1b[1md\x1b[m \x1b[2J"},
		{`end\r\n`, text},
		{`^20%`, ""},
		{`\[31m`, ""},
	} {
		for cut := range len(text) + 1 {
			b := buffer.New(buffer.Options{})
			s := match.New(b, match.Options{Pattern: match.Compile(re(c.expr)), Clean: true, NoTerminal: true, Cols: 80})
			_, _ = b.Write([]byte(text[:cut]))
			_, stop, ok := s.Look()
			if !ok {
				_, _ = b.Write([]byte(text[cut:]))
				_ = b.Close()
				_, stop, ok = s.Look()
			}
			if ok != (c.want != "") || ok && text[:stop] != c.want {
				t.Errorf("%s in %q cut at %d: found %v up to %q, want %q", c.expr, text, cut, ok, text[:stop], c.want)
			}
		}
	}
}

// A program that ends may leave a shorter line than it had: the prompt behind it is as new as any, also for a write that
// passes over the echo of its data.
func TestPromptBehindAShorterLine(t *testing.T) {
	const before, after = "one\r\n\x1b[7mlong.txt lines 1-22/200 11%\x1b[m", "\r\x1b[K:q\r\x1b[K\r\n\x1b[?1049l$ "
	for _, typed := range []string{"", "\x1b:q\r", ":q\r", "q"} {
		for cut := range len(after) + 1 {
			b := buffer.New(buffer.Options{})
			_, _ = b.Write([]byte(before))
			s := match.New(b, match.Options{
				Pattern: match.Compile(re(`\$ $`)), From: int64(len(before)), Clean: true, Cols: 80,
				Echo: match.EchoOf([]byte(typed), "long.txt lines 1-22/200 11%"), IsPrompt: func(line string) bool { return line == "$ " },
			})
			_, _ = b.Write([]byte(after[:cut]))
			_, stop, ok := s.Look()
			if ok && cut < len(after) {
				t.Errorf("%q typed: a match at %d in %q, want none before the prompt", typed, stop, after[:cut])
			}
			_, _ = b.Write([]byte(after[cut:]))
			if _, stop, ok = s.Look(); !ok || stop != int64(len(before)+len(after)) {
				t.Errorf("%q typed, cut at %d: found %v up to %d, want a match up to %d", typed, cut, ok, stop, len(before)+len(after))
			}
		}
	}
}
