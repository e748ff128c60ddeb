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
				if c.want == "" && cut > 0 { // a line that was seen without its text shows it as new
					break
				}
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
