package frame

import (
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/screen"
)

// draw returns a frame of a screen after output.
func draw(s *screen.Screen, output string) *Frame {
	_, _ = s.Write([]byte(output))
	now, _ := s.Peek()
	return Of(now, false)
}

// patch returns the rows of a patch by their numbers, each as JSON.
func patch(t *testing.T, f, before *Frame) (p struct {
	Title string
	Full  bool
	L     map[string]json.RawMessage
}, changed bool,
) {
	t.Helper()
	text, changed := f.AppendPatch(nil, before)
	if !changed {
		if len(text) > 0 {
			t.Errorf("AppendPatch without a change appends %s, want nothing", text)
		}
		return p, false
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("AppendPatch = %s, want JSON: %v", text, err)
	}
	return p, true
}

func TestRuns(t *testing.T) {
	for output, want := range map[string]string{
		"":                            "",
		"plain  ":                     `[["plain"]]`,
		"\x1b[41m  \x1b[m":            `[["  ","B1"]]`,
		"a\x1b[1;31mb\x1b[mc":         `[["a"],["b","b F1"],["c"]]`,
		"\x1b[7mpick\x1b[m":           `[["pick","r"]]`,
		"\x1b[38;2;1;2;255mx":         `[["x","F#0102ff"]]`,
		"\x1b[4:3m\x1b[58;5;9mx":      `[["x","u3 L9"]]`,
		"a世b":                         `[["a"],["世","",2],["b"]]`,
		"e\u0301x":                    `[["é","",1],["x"]]`,
		"│─":                          `[["│─"]]`,
		"<b>&\x1b]0;t\x07":            `[["\u003cb\u003e\u0026"]]`,
		"\x1b]8;;http://x/\x07go\r\n": `[["go"]]`,
	} {
		s := screen.New(20, 2)
		p, _ := patch(t, draw(s, output), nil)
		got := string(p.L["0"])
		// The letter and its accent may be composed or not; a browser draws both the same.
		if got = strings.ReplaceAll(got, "e\u0301", "é"); got != want || !p.Full {
			t.Errorf("row 0 of the screen after %q = %s (full %t), want %s", output, got, p.Full, want)
		}
	}
}

func TestPatch(t *testing.T) {
	s := screen.New(10, 4)
	first := draw(s, "one\r\ntwo\r\nthree")
	if _, changed := patch(t, draw(s, ""), first); changed {
		t.Error("a patch without output = changed, want no change")
	}
	second := draw(s, "\x1b[2;1HTWO")
	p, _ := patch(t, second, first)
	if p.Full || len(p.L) != 1 || string(p.L["1"]) != `[["TWO"]]` {
		t.Errorf("the patch after row 2 was drawn again = %+v, want row 1 alone", p)
	}
	p, _ = patch(t, draw(s, "\x1b]0;name\x07"), second)
	if p.Title != "name" || len(p.L) != 0 {
		t.Errorf("the patch after a title = %+v, want the title alone", p)
	}
	p, _ = patch(t, draw(s, "\x1b[2J"), second)
	if string(p.L["0"]) != "[]" || len(p.L) != 3 {
		t.Errorf("the patch after the screen was cleared = %+v, want three empty rows", p)
	}
	s.Resize(12, 4)
	if p, _ = patch(t, draw(s, "x"), second); !p.Full {
		t.Errorf("the patch after another size = %+v, want all rows", p)
	}
}

// FuzzFrame: whatever a program sends, a frame is JSON, holds no control character, and a patch makes the earlier
// frame the later one.
func FuzzFrame(f *testing.F) {
	f.Add("\x1b[31mred\x1b[m", "\x1b[2J\x1b]0;<title>\x07")
	f.Add("世界\x1b[1;2Hx", "\x1b[?1049h\x1b[3;3H\x1b[7m \x1b[m")
	f.Fuzz(func(t *testing.T, a, b string) {
		s := screen.New(12, 3)
		first := draw(s, a)
		second := draw(s, b)
		text, changed := second.AppendPatch(nil, first)
		rows := append([]string(nil), first.rows...)
		if changed {
			var p struct {
				Full bool
				L    map[int]json.RawMessage
			}
			if err := json.Unmarshal(text, &p); err != nil {
				t.Fatalf("the patch of %q after %q = %s: %v", b, a, text, err)
			}
			if strings.ContainsFunc(string(text), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("the patch of %q after %q = %q, want no control character", b, a, text)
			}
			for y, row := range p.L {
				rows[y] = string(row)
			}
		}
		for y, row := range second.rows {
			if rows[y] != row {
				t.Fatalf("row %d after the patch of %q after %q = %s, want %s", y, b, a, rows[y], row)
			}
		}
	})
}

// BenchmarkFrame measures a frame of a full screen, and its patch.
func BenchmarkFrame(b *testing.B) {
	s := screen.New(120, 40)
	for range 40 {
		_, _ = s.Write([]byte(strings.Repeat("text \x1b[32mgreen\x1b[m ", 8) + "\r\n"))
	}
	now, _ := s.Peek()
	before := Of(now, false)
	b.ReportAllocs()
	for b.Loop() {
		Of(now, false).AppendPatch(nil, before)
	}
}

// A patch for a reader with a limit is JSON within it, and has the first rows.
func TestWithin(t *testing.T) {
	f := draw(screen.New(40, 10), strings.Repeat(strings.Repeat("x", 40), 10))
	whole, _, cut := f.AppendPatchWithin(nil, nil, 4<<10)
	if cut || !json.Valid(whole) || f.Size() > len(whole) {
		t.Errorf("AppendPatchWithin(4096) = %s, cut %t, want all of the %d bytes of rows", whole, cut, f.Size())
	}
	for most := 100; most < len(whole); most++ {
		text, changed, cut := f.AppendPatchWithin([]byte("before"), nil, most)
		var p struct{ L map[string]json.RawMessage }
		if err := json.Unmarshal(text[len("before"):], &p); err != nil || !changed || !cut {
			t.Fatalf("AppendPatchWithin(%d) = %s, changed %t, cut %t, %v, want a part as JSON", most, text, changed, cut, err)
		}
		if n := len(text) - len("before"); n > most {
			t.Errorf("AppendPatchWithin(%d) appends %d bytes, want at most that", most, n)
		}
		if _, last := p.L["9"]; last || len(p.L) > 0 && p.L["0"] == nil {
			t.Errorf("AppendPatchWithin(%d) has the rows %v, want the first ones", most, p.L)
		}
	}
}
