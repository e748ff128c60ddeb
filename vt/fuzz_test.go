package vt_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/vt"
)

func addSeeds(f *testing.F) {
	f.Helper()
	for _, r := range recordings {
		f.Add(recording(f, r.name), uint8(r.cols), uint16(100))
	}
	for _, s := range []string{
		"10%\r20%\x1b[K\n", "a\tb\r\x1b[3CX", "漢字\b\bX\xff\xe2\x82", "e\u0301x\b\b\x1b[4hy", "\x1b7\x1b[9;9Hq\x1b8-\x1b[40b",
		"\x1b]0;t\x07\x1bP\x1b\\\x1b[38:5:8;8mhid\x1b[m\u202e\u200b", "abcdef\x1b[A\x1b[1@X\x1b[2P\x1b[J\x1b[L", "\x1b[?1049hx\x1b[?1049l\x1bc\x1bEy",
	} {
		f.Add([]byte(s), uint8(0), uint16(3))
		f.Add([]byte(s), uint8(5), uint16(4))
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f ||
			0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
	}); i >= 0 {
		t.Errorf("%q has a control at %d", text, i)
	}
}

func FuzzClean(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, cols uint8, cut uint16) {
		whole := clean(int(cols), string(in))
		checkText(t, whole.text)
		if len(whole.text) > 4*len(in)+4<<10 {
			t.Errorf("%d bytes become %d", len(in), len(whole.text))
		}
		at := int(cut) % (len(in) + 1)
		if got := clean(int(cols), string(in[:at]), string(in[at:])); got != whole {
			t.Errorf("cut at %d: %+v, want %+v", at, got, whole)
		}
		var bytewise []string
		for i := range in {
			bytewise = append(bytewise, string(in[i:i+1]))
		}
		if got := clean(int(cols), bytewise...); got != whole {
			t.Errorf("bytewise: %+v, want %+v", got, whole)
		}
		text, _ := vt.CleanFrom(in[:at], in[at:])
		checkText(t, string(text))
		if len(text) > 4*len(in)+4<<10 {
			t.Errorf("from %d: %d bytes become %d", at, len(in), len(text))
		}

		var one, two vt.Tracker
		one.Write(in)
		two.Write(in[:at])
		two.Write(in[at:])
		if one.Modes() != two.Modes() || one.Queries() != two.Queries() {
			t.Errorf("tracker cut at %d: %+v %+v, want %+v %+v", at, two.Modes(), two.Queries(), one.Modes(), one.Queries())
		}
	})
}

func FuzzLastLine(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, cols uint8, cut uint16) {
		last := vt.LastLine(in)
		checkText(t, last)
		if strings.ContainsAny(last, "\n\t") {
			t.Errorf("%q is more than one line, or has a tab", last)
		}
		if lines := vt.Lines(in); len(lines) != 1+strings.Count(strings.Join(lines, "\n"), "\n") {
			t.Errorf("a line of %q has a line end", lines)
		}
		// Line must not change the state, and its cursor must be in the line and between runes.
		c := vt.Cleaner{Cols: int(cols)}
		at := int(cut) % (len(in) + 1)
		out := c.Append(nil, in[:at])
		text, cursor := c.Line()
		checkText(t, text)
		if !utf8.ValidString(text[:cursor]) {
			t.Errorf("the cursor is at %d in %q", cursor, text)
		}
		out = c.Append(out, in[at:])
		out = c.Flush(out)
		if want := clean(int(cols), string(in)).text; !bytes.Equal(out, []byte(want)) {
			t.Errorf("after a look at %d: %q, want %q", at, out, want)
		}
	})
}
