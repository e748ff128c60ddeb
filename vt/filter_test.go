package vt_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"ptyctl/vt"
)

func TestFilter(t *testing.T) {
	for _, c := range []struct{ name, in, want, input string }{ // input: with Filter.Input and Questions, if that differs
		{"text", "plain ünïcode 漢字 \u2502\r\n\tx\b", "plain ünïcode 漢字 \u2502\r\n\tx\b", ""},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;8mgrey\x1b[48:2::1:2:3m\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38;5;8mgrey\x1b[48:2::1:2:3m\x1b[m", ""},
		{"concealed text is shown", "\x1b[8mseen\x1b[1;8;4mtoo\x1b[28m", "seen\x1b[1;4mtoo\x1b[28m", ""},
		{"movement", "\x1b[2;3H\x1b[A\x1b[10C\x1b[K\x1b[2J\x1b[;5f\x1b7\x1b8\x1bM\x1b[2;9r\x1b[3b", "\x1b[2;3H\x1b[A\x1b[10C\x1b[K\x1b[2J\x1b[;5f\x1b7\x1b8\x1bM\x1b[2;9r\x1b[3b", ""},
		{"modes of the picture", "\x1b[?25l\x1b[?7l\x1b[?1049h\x1b[?47l\x1b[4h\x1b(0q\x1b(B", "\x1b[?25l\x1b[?7l\x1b[?1049h\x1b[?1049l\x1b[4h\x1b(0q\x1b(B", ""},
		{"modes of the keys", "\x1b[?1h\x1b=\x1b[?1000;1006h\x1b[?2004h\x1b[3 q", "", "\x1b[?1h\x1b=\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[3 q"},
		{"questions without a choice", "\x1b[6n\x1b[5n\x1b[c\x1b[>c", "", "\x1b[6n\x1b[5n\x1b[c\x1b[>c"},
		{"questions without a choice that are strings", "\x1b]10;?\a\x1b]11;?\x1b\\\x1bP$qm\x1b\\\x1bP$qr\a\x1bP$q q\x1b\\", "", "\x1b]10;?\a\x1b]11;?\x1b\\\x1bP$qm\x1b\\\x1bP$qr\x1b\\\x1bP$q q\x1b\\"},
		{"questions of today's programs", "\x1b[>q\x1b[>0q\x1b[?2026$p\x1b[4;1$p\x1b[?u\x1b[18;1t", "", "\x1b[>q\x1b[>q\x1b[?2026$p\x1b[4$p\x1b[?u\x1b[18t"},
		{"bell", "a\ab", "ab", "a\ab"},

		{"title and clipboard", "a\x1b]0;title\ab\x1b]52;c;ZXZpbA==\x1b\\c\x1b]52;c;?\ad", "abcd", ""},
		{"links and colours of the terminal", "\x1b]8;;http://evil\ax\x1b]8;;\a\x1b]11;red\a\x1b]4;1;red\a\x1b]4;1;?\a", "x", ""},
		{"strings", "a\x1bPq#0\x1b\\b\x1b_Gx\x1b\\c\x1b^p\x1b\\d\x1bXs\x1b\\e", "abcde", ""},
		{"a string without an end", "a\x1b]0;and all that follows", "a", ""},
		{"questions with a choice", "\x1b[21t\x1b[14t\x1bP$q|rm\x1b\\\x1bP$qmm\x1b\\\x1bP+q544e\x1b\\\x1b[?6n\x1b]10;?;?\a\x1b[>1u\x1bZ\x05\x1b[x\x1b[1*y", "", ""},
		{"window, printer, keyboard", "\x1b[8;1;1t\x1b[5i\x1b[?5i\x1b[2h\x1b[20h\x1b[>4;2m\x1b[>1u\x1b[?3h\x1b[?9001h\x1b[?2026h", "", ""},
		{"what was scrolled out", "\x1b[3J\x1b[?3J", "", ""},
		{"sticky things", "\x1b%@\x1b*0\x1bn\x1bH\x1b[3g\x1b#3\x1b[?69h\x1b[1;2s\x1b[1;2;3;4;5T", "", ""},
		{"C1", "a\u009b31mb\x9b31mc\u0090d", "a31mb\uFFFD31mcd", ""},
		{"deceiving characters", "a\u202eb\u2066c\u200bd\U000e0041e", "abcde", ""},
		{"controls", "a\x00\x11\x13\x7f\x18\x1ab\x0e\x0f", "ab\x0e\x0f", ""},
		{"repeats are bounded", "x\x1b[65535b", "x\x1b[1024b", ""},
		{"reset", "\x1b[?25l\x1b[31mx\x1bcy", "\x1b[?25l\x1b[31mx\x1b[m\x1b[?25h\x1b[H\x1b[2Jy", ""},
		{"soft reset", "\x1b[?1049h\x1b[4hx\x1b[!py", "\x1b[?1049h\x1b[4hx\x1b[4ly", ""},
		{"broken", "\x1b[31\x1b[1mx\x1b[3\x184m", "\x1b[1mx4m", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f vt.Filter
			if got := string(f.Append(nil, []byte(c.in))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.input == "" {
				c.input = c.want
			}
			f = vt.Filter{Input: true, Questions: true}
			if got := string(f.Append(nil, []byte(c.in))); got != c.input {
				t.Errorf("with input: %q, want %q", got, c.input)
			}
		})
	}
}

// hostile has every effect on a terminal that a file should not have, and leaves it in a bad
// state.
const hostile = "\x1b]0;pwned\a\x1b]52;c;ZXZpbA==\a\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h" +
	"\x1b[4h\x1b[?7l\x1b[2;5r\x1b[?6h\x1b(0\x1b[31;1;7;8m\x1b[6n\x1b[c\x1b[>c\x1b[21t\x1bP$qm\x1b\\\x05\x1b[20h\x1b[2h\x1b[?5h" +
	"lqqk\u202egnp.exe\u2069\x1b[8;2;2t\x1b]0;and all that"

// After Restore, a terminal must be in its first state again, even after the worst output.
// Another implementation of a terminal is the judge.
func TestFilterLeavesATerminalSane(t *testing.T) {
	for _, input := range []bool{false, true} {
		var replies bytes.Buffer
		screen := vt10x.New(vt10x.WithSize(40, 10), vt10x.WithWriter(&replies))
		write := func(p []byte) {
			if _, err := screen.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte("\r\nbefore"))
		clean, title := screen.Mode(), screen.Title()
		f := vt.Filter{Input: input, Questions: input}
		for i := range hostile {
			write(f.Append(nil, []byte(hostile[i:i+1])))
		}
		if screen.Mode()&vt10x.ModeAltScreen == 0 || screen.CursorVisible() || !f.AltScreen() {
			t.Fatal("the output had no effect at all")
		}
		if !input && replies.Len() > 0 {
			t.Errorf("the terminal was made to say %q", replies.String())
		}
		write(f.Restore(nil))
		if got := screen.Mode(); got != clean {
			t.Errorf("input %v: the mode is %b, was %b", input, got, clean)
		}
		if screen.Title() != title || !screen.CursorVisible() {
			t.Errorf("title %q, cursor %v", screen.Title(), screen.CursorVisible())
		}
		write([]byte("\r\nq after"))
		if text := screen.String(); !strings.Contains(text, "before") || !strings.Contains(text, "q after") {
			t.Errorf("the screen shows %q", text)
		}
		at := screen.Cursor()
		if g := screen.Cell(at.X-1, at.Y); g.Char != 'r' || g.Mode != screen.Cell(0, 9).Mode || g.FG != vt10x.DefaultFG ||
			g.BG != vt10x.DefaultBG {
			t.Errorf("text after it is drawn as %+v", g)
		}
		if rest := f.Restore(nil); len(rest) > 0 {
			t.Errorf("restored twice: %q", rest)
		}
	}
}

// A replay that starts in the middle of a picture must begin in the state of that moment.
func TestFilterResume(t *testing.T) {
	var f vt.Filter
	f.Append(nil, []byte("\x1b[1m\x1b[0;32m\x1b[4mgone\x1b[?25l\x1b[?1049h\x1b[?7l\x1b(0\x1b)0\x0e"))
	if got, want := string(f.Resume(nil)), "\x1b[?1049h\x1b[?7l\x1b(0\x1b)0\x0e\x1b[0;32m\x1b[4m\x1b[?25l"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Append(nil, []byte(strings.Repeat("\x1b[38;5;200m", 1000)))
	if n := len(f.Resume(nil)); n > 400 {
		t.Errorf("%d bytes are kept of the colours", n)
	}
}

// fixedStrings takes the questions out that are strings.
var fixedStrings = strings.NewReplacer(
	"\x1b]10;?\x1b\\", "", "\x1b]11;?\x1b\\", "", "\x1b]10;?\a", "", "\x1b]11;?\a", "",
	"\x1bP$qm\x1b\\", "", "\x1bP$qr\x1b\\", "", "\x1bP$qs\x1b\\", "", "\x1bP$q\"q\x1b\\", "", "\x1bP$q q\x1b\\", "",
)

func FuzzFilter(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(hostile), uint8(0), uint16(40))
	f.Fuzz(func(t *testing.T, in []byte, _ uint8, cut uint16) {
		for _, input := range []bool{false, true} {
			whole := vt.Filter{Input: input, Questions: input}
			out := whole.Append(nil, in)
			at := int(cut) % (len(in) + 1)
			parts := vt.Filter{Input: input, Questions: input}
			if got := parts.Append(parts.Append(nil, in[:at]), in[at:]); !bytes.Equal(got, out) {
				t.Errorf("cut at %d: %q, want %q", at, got, out)
			}
			again := vt.Filter{Input: input, Questions: input}
			if got := again.Append(nil, out); !bytes.Equal(got, out) || again.Dropped() > 0 {
				t.Errorf("filtered twice: %q, once: %q", got, out)
			}
			for i, c := range out {
				if c < 0x20 && strings.IndexByte("\b\t\n\v\f\r\x0e\x0f\x1b", c) < 0 && (!input || c != '\a') || c == 0x7f {
					t.Errorf("%q has %#x at %d", out, c, i)
				}
			}
			drawn := fixedStrings.Replace(string(out))
			for _, bad := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1bc", "\x1bZ", "\xc2\x9b", "\u202e"} {
				if strings.Contains(drawn, bad) {
					t.Errorf("%q has %q", out, bad)
				}
			}
			restored := whole.Restore(nil)
			if len(restored) > 400 || len(whole.Restore(nil)) > 0 {
				t.Errorf("restoring takes %q", restored)
			}
		}
	})
}
