package display_test

import (
	"strings"
	"testing"

	"ptyctl/screen"
	"ptyctl/session/display"
	"ptyctl/session/redact"
)

// FuzzDisplay checks that it does not matter when the screen is looked at, and that no part of a view shows a secret.
func FuzzDisplay(f *testing.F) {
	f.Add("user: \x01\r\n$ \x01", "hunter22-1138", []byte{3, 200, 1})
	f.Add("\x1b[2;3H\x01\x1b]0;\x01\a\x1b[?1049h\x01\x1b[5;5r\n\n", "correct horse 1138", []byte{1, 1})
	f.Add(strings.Repeat("line\r\n", 2000)+"\x01", "hunter22-1138", []byte{})
	f.Fuzz(func(t *testing.T, form, secret string, cuts []byte) {
		if len(secret) < 8 || len(secret) > 100 || len(form) > 1<<14 || strings.Count(form, "\x01") > 50 || strings.Trim(secret, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Skip()
		}
		out := []byte(strings.ReplaceAll(form, "\x01", secret))
		whole, cut := display.New(30, 6), display.New(30, 6)
		for _, d := range []*display.Display{whole, cut} {
			d.Expect([]byte(secret))
		}
		whole.Show(out, nil)
		for rest := out; len(rest) > 0; {
			n := len(rest)
			if len(cuts) > 0 {
				if n = min(1+int(cuts[0]), n); cuts[0]%3 == 0 {
					cut.View(0)
				}
				cuts = cuts[1:]
			}
			cut.Show(rest[:n], nil)
			rest = rest[n:]
		}
		a, b := whole.View(0), cut.View(0)
		o := screen.Options{Attributes: true, BoxDrawing: true}
		if a.Drawing || b.Drawing { // the frame may have begun at another time
			return
		}
		a.Version, b.Version = 0, 0
		if x, y := a.Render(o), b.Render(o); x != y && !alike(a.Snapshot, b.Snapshot) {
			t.Fatalf("%q shows\n%s, and in pieces\n%s", out, x, y)
		}
		all := a.Text() + "\n" + a.Title + "\n" + a.Dir
		for y := range a.Rows {
			for x := range a.Cols {
				all += "\n" + a.Cell(y, x).Link
			}
		}
		if strings.Contains(all, secret) {
			t.Errorf("%q shows the secret %q: %q", out, secret, all)
		}
	})
}

// alike reports whether two screens are equal except for the covered parts of one of them: a secret that was whole at
// a look stays covered.
func alike(a, b *screen.Snapshot) bool {
	for y := range a.Rows {
		for x := range a.Cols {
			c, d := a.Cell(y, x), b.Cell(y, x)
			if c.Rune != '*' && d.Rune != '*' && (c.Rune != d.Rune || c.Cluster != d.Cluster || c.Width != d.Width) {
				return false
			}
		}
	}
	return a.Cursor == b.Cursor && a.Title == b.Title && a.Dir == b.Dir
}

// FuzzEchoes checks that echoes are drawn as secrets, whatever else there is.
func FuzzEchoes(f *testing.F) {
	f.Add("a\x1b]0;", "12", "b\a\x1b[3;1H")
	f.Add("\x1b[", "1;2H", "x\x1bc\xe6\xbc")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		d := display.New(30, 6)
		text := before + redact.Mask + after
		d.Show([]byte(text), []redact.Echo{{From: len(before), To: len(before) + len(redact.Mask), Text: []byte(secret)}})
		d.View(0)
		d.Resize(10, 3)
		d.End()
		d.View(0)
	})
}
