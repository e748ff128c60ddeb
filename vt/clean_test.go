package vt_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/vt"
)

type cleaned struct {
	text  string
	count vt.Sanitized
}

func clean(cols int, pieces ...string) cleaned {
	c := vt.Cleaner{Cols: cols}
	var out []byte
	for _, p := range pieces {
		out = c.Append(out, []byte(p))
	}
	out = c.Flush(out)
	return cleaned{string(out), c.Sanitized()}
}

// everyCut calls f with s in one piece, byte by byte, and cut in two at each position.
func everyCut(s string, f func(how string, pieces ...string)) {
	f("whole", s)
	var bytewise []string
	for i := range len(s) {
		bytewise = append(bytewise, s[i:i+1])
	}
	f("bytewise", bytewise...)
	for i := 1; i < len(s); i++ {
		f(fmt.Sprintf("cut at %d", i), s[:i], s[i:])
	}
}

func TestClean(t *testing.T) {
	tests := []struct {
		name, in, want string
		cols           int
		count          vt.Sanitized
	}{
		{name: "empty"},
		{name: "text", in: "hello", want: "hello"},
		{name: "LF", in: "a\nb\n", want: "a\nb\n"},
		{name: "CR LF", in: "a\r\nb\r\n", want: "a\nb\n"},
		{name: "CR CR LF", in: "a\r\r\nb", want: "a\nb"},
		{name: "HT", in: "a\tb", want: "a\tb"},
		{name: "UTF-8", in: "grüße 漢字 🙂\n", want: "grüße 漢字 🙂\n"},
		{name: "combining", in: "e\u0301a\u0323\u0302\n", want: "e\u0301a\u0323\u0302\n"},

		{name: "NUL BEL VT FF SO SI DEL", in: "a\x00b\ac\vd\fe\x0ef\x0fg\x7fh", want: "abcdefgh", count: vt.Sanitized{Controls: 7}},
		{name: "C1 in UTF-8", in: "a\u0085b\u009bc", want: "abc", count: vt.Sanitized{Controls: 2}},
		{name: "bad UTF-8", in: "a\xffb\xe2\x82c\x9b31m", want: "a\ufffdb\ufffd\ufffdc\ufffd31m", count: vt.Sanitized{BadUTF8: 4}},
		{name: "overlong", in: "\xc0\x80", want: "\ufffd\ufffd", count: vt.Sanitized{BadUTF8: 2}},
		{name: "surrogate", in: "\xed\xa0\x80", want: "\ufffd\ufffd\ufffd", count: vt.Sanitized{BadUTF8: 3}},
		{name: "rune cut by a sequence", in: "\xe2\x1b[m\x82\xac", want: "\ufffd\ufffd\ufffd", count: vt.Sanitized{CSI: 1, BadUTF8: 3}},
		{name: "rune cut by the end", in: "a\xe2\x82", want: "a\ufffd\ufffd", count: vt.Sanitized{BadUTF8: 2}},
		{name: "U+FFFD itself", in: "\ufffd", want: "\ufffd"},
		{name: "bidi", in: "a\u202eb\u2066c\u200ed\u200fe\u061cf\u202a\u2069", want: "abcdef", count: vt.Sanitized{Bidi: 7}},
		{name: "zero width", in: "a\u200bb\u200cc\u200dd\u2060e\ufefff", want: "abcdef", count: vt.Sanitized{ZeroWidth: 5}},
		{name: "tags", in: "a\U000e0041\U000e007fb\U000e0100c\ufe00d", want: "abcd", count: vt.Sanitized{ZeroWidth: 4}},
		{name: "emoji style", in: "\u2764\ufe0f", want: "\u2764\ufe0f"},

		{name: "SGR", in: "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[m\x1b[4:3mcurly", want: "red rgbcurly", count: vt.Sanitized{CSI: 5}},
		{name: "SGR 8", in: "\x1b[8mpass\x1b[28mword \x1b[8mgrüß\x1b[0mx\x1b[8my\x1b[mz", want: "password grüßxyz", count: vt.Sanitized{CSI: 6, Hidden: 9}},
		{name: "SGR 38;5;8 is a colour", in: "\x1b[38;5;8ma\x1b[48;2;8;8;8mb\x1b[38:5:8mc\x1b[4:8md", want: "abcd", count: vt.Sanitized{CSI: 4}},
		{name: "SGR 38;5;1;8", in: "\x1b[38;5;1;8mab", want: "ab", count: vt.Sanitized{CSI: 1, Hidden: 2}},
		{name: "SGR 08", in: "\x1b[1;08ma\x1b[18;80m\x1b[4294967304mb\x1b[0mc", want: "abc", count: vt.Sanitized{CSI: 4, Hidden: 2}},
		{name: "RIS ends SGR 8", in: "\x1b[8ma\x1bcb", want: "a\nb", count: vt.Sanitized{CSI: 1, Other: 1, Hidden: 1}},
		{name: "DECSTR ends SGR 8", in: "\x1b[8ma\x1b[!pb", want: "ab", count: vt.Sanitized{CSI: 2, Hidden: 1}},
		{name: "private modes", in: "\x1b[?2004ha\x1b[?25lb\x1b[>4;1mc\x1b[?1;2c", want: "abc", count: vt.Sanitized{CSI: 4}},
		{name: "malformed CSI", in: "a\x1b[1?2hb\x1b[ 1qc\x1b[!!!pd", want: "abcd", count: vt.Sanitized{Other: 3}},
		{name: "control within CSI", in: "a\x1b[3\n1mb", want: "a\nb", count: vt.Sanitized{CSI: 1}},
		{name: "CAN and SUB within CSI", in: "a\x1b[31\x18mb\x1b[31\x1amc", want: "ambmc", count: vt.Sanitized{Other: 2}},
		{name: "ESC within CSI", in: "a\x1b[31\x1b[32mb", want: "ab", count: vt.Sanitized{CSI: 1, Other: 1}},
		{name: "UTF-8 within CSI", in: "a\x1b[3éb", want: "aéb", count: vt.Sanitized{Other: 1}},
		{name: "ESC", in: "\x1b=a\x1b>b\x1b(Bc\x1b#8d\x1b%Ge", want: "abcde", count: vt.Sanitized{Other: 5}},
		{name: "ESC cut by the end", in: "a\x1b[31", want: "a"},

		{name: "OSC BEL", in: "\x1b]0;title\aa", want: "a", count: vt.Sanitized{OSC: 1}},
		{name: "OSC ST", in: "\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", want: "link", count: vt.Sanitized{OSC: 2}},
		{name: "OSC with UTF-8 that holds 0x9c", in: "\x1b]0;\u271c\aa", want: "a", count: vt.Sanitized{OSC: 1}},
		{name: "OSC broken by CAN", in: "\x1b]0;ti\x18tle", want: "tle", count: vt.Sanitized{Other: 1}},
		{name: "OSC broken by ESC", in: "\x1b]0;ti\x1b[1mtle", want: "tle", count: vt.Sanitized{CSI: 1, Other: 1}},
		{name: "OSC of any length", in: "\x1b]52;c;" + strings.Repeat("A", 10000) + "\aa", want: "a", count: vt.Sanitized{OSC: 1}},
		{name: "DCS", in: "\x1bPq#0;2;0\n~~@@\x1b\\a", want: "a", count: vt.Sanitized{DCS: 1}},
		{name: "DCS through tmux", in: "\x1bPtmux;\x1b\x1b]0;t\a\x1b\\a", want: "a", count: vt.Sanitized{OSC: 1, Other: 3}},
		{name: "SOS PM APC", in: "\x1bXa\x1b\\\x1b^b\x1b\\\x1b_Gc\x1b\\d", want: "d", count: vt.Sanitized{Other: 3}},
		{name: "BEL ends APC", in: "\x1b_x\ad", want: "d", count: vt.Sanitized{Other: 1}},

		{name: "CR overwrites", in: "10%\r20%\r30%\n", want: "30%\n", count: vt.Sanitized{Rewritten: 1}},
		{name: "CR overwrites in part", in: "abc\rX\n", want: "Xbc\n", count: vt.Sanitized{Rewritten: 1}},
		{name: "CR before the same text", in: "abc\rabc\n", want: "abc\n"},
		{name: "BS", in: "ab\b \b\bx\n", want: "x\n", count: vt.Sanitized{Controls: 3, Rewritten: 1}},
		{name: "overstrike", in: "N\bNA\bAM\bME\bE _\bx", want: "NAME x", count: vt.Sanitized{Controls: 5, Rewritten: 1}},
		{name: "BS at the start", in: "\b\ba", want: "a", count: vt.Sanitized{Controls: 2}},
		{name: "EL 0", in: "abc\r\x1b[Kx\n", want: "x\n", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "EL 0 at the end", in: "abc\x1b[K\n", want: "abc\n", count: vt.Sanitized{CSI: 1}},
		{name: "EL 1", in: "abc\b\x1b[1K\n", want: "\n", count: vt.Sanitized{CSI: 1, Controls: 1, Rewritten: 1}},
		{name: "EL 1 in part", in: "abcd\b\b\x1b[1K\n", want: "   d\n", count: vt.Sanitized{CSI: 1, Controls: 2, Rewritten: 1}},
		{name: "EL 2", in: "abc\x1b[2K\rx\n", want: "x\n", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "EL 2 keeps the column", in: "abc\x1b[2Kx\n", want: "   x\n", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "ED 0", in: "abc\r\x1b[Jx", want: "x", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "ED 2 keeps what was read", in: "abc\x1b[H\x1b[2Jx", want: "abc\nx", count: vt.Sanitized{CSI: 2}},
		{name: "clear", in: "\x1b[H\x1b[2J\x1b[3J$ ", want: "$ ", count: vt.Sanitized{CSI: 3}},
		{name: "CUF", in: "a\x1b[3Cb", want: "a   b", count: vt.Sanitized{CSI: 1}},
		{name: "CUF before wide characters", in: "ab\x1b[3C漢\x1b[4DX", want: "ab X 漢", count: vt.Sanitized{CSI: 2}},
		{name: "CUF, then HT and marks", in: "a\x1b[2Cb\tce\u0301", want: "a  b\tce\u0301", count: vt.Sanitized{CSI: 1}},
		{name: "gap that is erased again", in: "a\x1b[20Cb\b\x1b[K\n", want: "a\n", count: vt.Sanitized{CSI: 2, Controls: 1, Rewritten: 1}},
		{name: "CUB", in: "abc\x1b[2DX", want: "aXc", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "CHA", in: "abc\x1b[GX\x1b[5GY", want: "Xbc Y", count: vt.Sanitized{CSI: 2, Rewritten: 1}},
		{name: "HPA", in: "abc\x1b[2`X", want: "aXc", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "HPR", in: "a\x1b[ab", want: "a b", count: vt.Sanitized{CSI: 1}},
		{name: "ICH", in: "abc\r\x1b[2@X", want: "X abc", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "DCH", in: "abcde\r\x1b[2P", want: "cde", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "ICH and DCH after moves", in: "abc\x1b[3Cde\x1b[5D\x1b[@\x1b[2P", want: "abc  de", count: vt.Sanitized{CSI: 4, Rewritten: 1}},
		{name: "ECH", in: "abcde\r\x1b[2X", want: "  cde", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "REP", in: "-\x1b[4b+\x1b[b", want: "-----++", count: vt.Sanitized{CSI: 2}},
		{name: "IRM", in: "bc\r\x1b[4ha\x1b[4l\x1b[4GX", want: "abcX", count: vt.Sanitized{CSI: 3, Rewritten: 1}},
		{name: "CHT CBT", in: "a\x1b[Ib\x1b[Z\x1b[ZX", want: "X       b", count: vt.Sanitized{CSI: 3, Rewritten: 1}},
		{name: "HT over text", in: "a\tb\rX\ty", want: "X\ty", count: vt.Sanitized{Rewritten: 1}},
		{name: "HT cut in two", in: "a\tb\r\x1b[3CX", want: "a  X    b", count: vt.Sanitized{CSI: 1}},
		{name: "wide characters", in: "漢字\b\bX", want: "漢X", count: vt.Sanitized{Controls: 2, Rewritten: 1}},
		{name: "half of a wide character", in: "漢字\x1b[2GX", want: " X字", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "marks in an edited line", in: "e\u0301x\rE\n", want: "Ex\n", count: vt.Sanitized{Rewritten: 1}},
		{name: "marks kept in an edited line", in: "ae\u0323\u0302x\rE\n", want: "Ee\u0323\u0302x\n", count: vt.Sanitized{Rewritten: 1}},
		{name: "DECSC DECRC", in: "ab\x1b7cd\x1b8X", want: "abXd", count: vt.Sanitized{Other: 2, Rewritten: 1}},
		{name: "size probe", in: "user\x1b7\x1b[r\x1b[999;999H\x1b[6n\x1b8$ ", want: "user$ ", count: vt.Sanitized{CSI: 3, Other: 2}},

		{name: "CUP", in: "a\x1b[5;1Hb\x1b[5;4Hc\x1b[6;1Hd", want: "a\nb  c\nd", count: vt.Sanitized{CSI: 3}},
		{name: "VPA", in: "a\x1b[3db", want: "a\n b", count: vt.Sanitized{CSI: 1}},
		{name: "CUU CUD", in: "a\x1b[A\x1b[Bb\x1b[A\rc", want: "ab\nc", count: vt.Sanitized{CSI: 3}},
		{name: "CNL CPL", in: "ab\x1b[Ec\x1b[Fd", want: "ab\nc\nd", count: vt.Sanitized{CSI: 2}},
		{name: "IND NEL RI", in: "a\x1bDb\x1bEc\x1bM\rd", want: "a\n b\nc\nd", count: vt.Sanitized{Other: 3}},
		{name: "IL DL", in: "a\x1b[Lb\x1b[Mc", want: "a\nb\nc", count: vt.Sanitized{CSI: 2}},
		{name: "alternate screen", in: "$ vi\r\n\x1b[?1049h\x1b[1;1Htext\x1b[?1049l$ ", want: "$ vi\ntext\n$ ", count: vt.Sanitized{CSI: 3}},
		{name: "blanks drawn elsewhere leave nothing", in: "a\x1b[5;1H    \x1b[6;1Hb", want: "a\nb", count: vt.Sanitized{CSI: 2}},

		{name: "wrap", cols: 4, in: "abcdef\n", want: "abcdef\n"},
		{name: "full rows that are drawn one by one", cols: 4, in: "\x1b[1;1Ha  d\x1b[2;1Hb   \x1b[3;1Hc\x1b[1;1H", want: "a  d\nb\nc", count: vt.Sanitized{CSI: 4}},
		{name: "back in a full row", cols: 4, in: "\x1b[1;1Habcd\x1b[2;1H\x1b[1;2HX", want: "aXcd", count: vt.Sanitized{CSI: 3, Rewritten: 1}},
		{name: "below a full row and back", cols: 4, in: "\x1b[1;1Habcd\x1b7\x1b[2;1H\x1b8e", want: "abcde", count: vt.Sanitized{CSI: 2, Other: 2}},
		{name: "CUP within a wrapped line", cols: 4, in: "\x1b[1;1Habcdef\x1b[2;1HX", want: "abcdXf", count: vt.Sanitized{CSI: 2, Rewritten: 1}},
		{name: "CR in a wrapped line", cols: 4, in: "abcdef\rX\n", want: "abcdXf\n", count: vt.Sanitized{Rewritten: 1}},
		{name: "readline's wrap", cols: 4, in: "$ ab \rcd", want: "$ abcd"},
		{name: "CUU in a wrapped line", cols: 4, in: "abcdef\x1b[AX", want: "abXdef", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "EL in a wrapped line", cols: 4, in: "abcdef\x1b[A\x1b[Kx\n", want: "abx ef", count: vt.Sanitized{CSI: 2, Rewritten: 1}},
		{name: "LF in a wrapped line", cols: 4, in: "abcdef\x1b[A\r\n\rX\n", want: "abcdXf\n", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "wide character at the edge", cols: 4, in: "abc漢\b\bX\n", want: "abcX\n", count: vt.Sanitized{Controls: 2, Rewritten: 1}},
		{name: "zsh after an unfinished line", cols: 8, in: "out%       \r \r\r\x1b[J$ ", want: "out%\n$ ", count: vt.Sanitized{CSI: 1}},
		{name: "zsh after a finished line", cols: 8, in: "out\r\n%       \r \r\r\x1b[J$ ", want: "out\n$ ", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "progress bar as wide as the terminal", cols: 4, in: "10% \r20% \r30% \n", want: "30% \n", count: vt.Sanitized{Rewritten: 1}},
		{name: "one column", cols: 1, in: "漢a\rb", want: "漢b", count: vt.Sanitized{Rewritten: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everyCut(tt.in, func(how string, pieces ...string) {
				got := clean(tt.cols, pieces...)
				if got.text != tt.want {
					t.Errorf("%s: %q becomes\n%q, want\n%q", how, tt.in, got.text, tt.want)
				}
				if got.count != tt.count {
					t.Errorf("%s: %q counts\n%+v, want\n%+v", how, tt.in, got.count, tt.count)
				}
			})
		})
	}
}

func TestCleanFrom(t *testing.T) {
	tests := []struct {
		name, context, data, want string
		count                     vt.Sanitized
	}{
		{name: "no context", data: "a\x1b[mb", want: "ab", count: vt.Sanitized{CSI: 1}},
		{name: "text before", context: "abc", data: "def", want: "def"},
		{name: "lines before", context: "x\ny\nabc", data: "\r\ndef", want: "\ndef"},
		{name: "CSI begun before", context: "abc\x1b[3", data: "1mdef", want: "def", count: vt.Sanitized{CSI: 1}},
		{name: "OSC begun before", context: "\x1b]0;ti", data: "tle\adef", want: "def", count: vt.Sanitized{OSC: 1}},
		{name: "rune begun before", context: "abc\xe2\x82", data: "\xacdef", want: "€def"},
		{name: "context begins in a rune", context: "\x82\xacabc", data: "def", want: "def"},
		{name: "CR LF cut", context: "abc\r", data: "\ndef", want: "\ndef"},
		{name: "concealed before", context: "\x1b[8m", data: "x\x1b[my", want: "xy", count: vt.Sanitized{CSI: 1, Hidden: 1}},
		{name: "progress goes on", context: "10%\r20%", data: "\r30%", want: "30%", count: vt.Sanitized{Rewritten: 1}},
		{name: "rewritten before alone", context: "10%\r20%", data: " done\n", want: " done\n"},
		{name: "line is changed", context: "$ ls -k", data: "\bl", want: "$ ls -l", count: vt.Sanitized{Controls: 1, Rewritten: 1}},
		{name: "line is redrawn as it was", context: "$ ls", data: "\r\x1b[K$ ls -l", want: " -l", count: vt.Sanitized{CSI: 1, Rewritten: 1}},
		{name: "drawing goes on elsewhere", context: "$ ", data: "\x1b[5;1Hx", want: "\nx", count: vt.Sanitized{CSI: 1}},
		{name: "sequence cut by the end", data: "a\x1b[3", want: "a"},
		{name: "counts of the context do not count", context: "\x1b[m\x00\xff\u202e", data: "a", want: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, count := vt.CleanFrom([]byte(tt.context), []byte(tt.data))
			if string(text) != tt.want || count != tt.count {
				t.Errorf("after %q, %q becomes %q %+v, want %q %+v", tt.context, tt.data, text, count, tt.want, tt.count)
			}
		})
	}
}

// A stream that only appends to its lines must give the same text in parts as in one piece.
func TestCleanFromJoins(t *testing.T) {
	s := "\x1b[32mgrün\x1b[0m text\r\n\x1b]0;title\x07second\tline \x1b[1m漢字\x1b[m\r\n$ "
	want := clean(0, s)
	everyCut(s, func(how string, pieces ...string) {
		var context, text []byte
		var count vt.Sanitized
		for i, p := range pieces {
			if !utf8.ValidString(p) { // a cut rune becomes U+FFFD, so a caller must cut between runes
				return
			}
			got, n := vt.CleanFrom(context, []byte(p))
			text = append(text, got...)
			count.CSI += n.CSI
			count.OSC += n.OSC
			context = []byte(strings.Join(pieces[:i+1], ""))
		}
		if string(text) != want.text || count != want.count {
			t.Errorf("%s: %q %+v, want %q %+v", how, text, count, want.text, want.count)
		}
	})
}

func TestCleanLongLine(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("x", 100_000),
		strings.Repeat("é", 50_000),
		strings.Repeat("漢", 30_000),
		strings.Repeat("\t", 10_000),
		"a\b" + strings.Repeat("y", 50_000),
		"a\b" + strings.Repeat("e\u0301\u0302", 30_000),
	} {
		want := strings.ReplaceAll(in, "a\b", "")
		if got := clean(0, in).text; got != want {
			t.Errorf("%.12q...: %d bytes become %d", in, len(in), len(got))
		}
		if got := clean(80, in).text; !strings.Contains(in, "\t") && got != want {
			t.Errorf("%.12q...: at 80 columns %d bytes become %d", in, len(in), len(got))
		}
	}
}

// The text kept back must stay bounded, and so must the text that a few bytes of sequences
// produce.
func TestCleanBounds(t *testing.T) {
	for _, seq := range []string{
		"\x1b[9999Cx", "\x1b[9999Gx\n", "-\x1b[9999b\n", "x\r\x1b[9999@", "\x1b[1;9999Hx\x1b[2;1H", "漢\x1b[65535b", "x\t\r",
	} {
		for _, cols := range []int{0, 1, 80, 60000} {
			in := strings.Repeat(seq, 20_000)
			if n := len(clean(cols, in).text); n > 4*len(in)+4<<10 {
				t.Errorf("%q at %d columns: %d bytes become %d", seq, cols, len(in), n)
			}
		}
	}
}

// A resize within a line may misplace the text drawn after it, but must do no other harm.
func TestCleanResize(t *testing.T) {
	pieces := []string{
		"abcdefghij漢字\te\u0301", "\x1b[A\x1b[3CX", "\x1b[2@y\x1b[2P\x1b[K", "\x1b7\x1b[B\x1b[Jz\x1b8w", "\r\x1b[1K\x1b[5b", "\n\x1b[3;7Hq\x1b[4hr\x1b[X\b\b",
	}
	widths := []int{80, 3, 0, 1, 7, -1, 200, 2}
	for first := range widths {
		for step := 1; step < len(widths); step++ {
			var c vt.Cleaner
			var text []byte
			for i := range 60 {
				c.Cols = widths[(first+i*step)%len(widths)]
				text = c.Append(text, []byte(pieces[(first+i)%len(pieces)]))
				c.Line()
			}
			if text = c.Flush(text); !utf8.Valid(text) || len(text) == 0 {
				t.Errorf("from %d in steps of %d: %q", first, step, text)
			}
		}
	}
}

func TestCleanerAfterFlush(t *testing.T) {
	c := vt.Cleaner{Cols: 4}
	c.Flush(c.Append(nil, []byte("ab\x1b[8mcdef\x1b[4h\x1b[1")))
	if got := c.Flush(c.Append(nil, []byte("0mabcdef\rX"))); string(got) != "0mabXdef" {
		t.Errorf("the second stream becomes %q", got)
	}
	if got, want := c.Sanitized(), (vt.Sanitized{CSI: 2, Hidden: 4, Rewritten: 1}); got != want {
		t.Errorf("both streams count %+v, want %+v", got, want)
	}
}
