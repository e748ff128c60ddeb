package screen_test

import (
	"strings"
	"testing"

	"ptyctl/screen"
)

// draw returns a screen of 10 by 5 after the output s.
func draw(s string) *screen.Screen {
	scr := screen.New(10, 5)
	scr.Write([]byte(s))
	return scr
}

// text is the rows of s, separated by "|", without blank ones at the end.
func text(s *screen.Snapshot) string {
	return strings.TrimRight(strings.ReplaceAll(s.Text(), "\n", "|"), "|")
}

// The sequences are those of xterm's "XTerm Control Sequences", in its order; the wanted rows
// and cursors were checked with xterm 379, DECCOLM as it is set with its resource c132.
func TestSequences(t *testing.T) {
	tests := []struct {
		name, in, want string
		row, col       int
	}{
		{"text", "abc", "abc", 0, 3},
		{"line ends", "ab\ncd\r\nef\vg", "ab|  cd|ef|  g", 3, 3},
		{"BS", "abc\b\bX", "aXc", 0, 2},
		{"BS at the edge", "\b\bX", "X", 0, 1},
		{"HT", "a\tb\tc", "a       bc", 0, 9},
		{"wrap", "0123456789ab", "0123456789|ab", 1, 2},
		{"pending wrap", "0123456789", "0123456789", 0, 9},
		{"pending wrap and CR", "0123456789\rX", "X123456789", 0, 1},
		{"pending wrap and BS", "0123456789\bX", "01234567X9", 0, 9},
		{"pending wrap and EL", "0123456789\x1b[KX", "0123456789|X", 1, 1},
		{"pending wrap and SGR", "0123456789\x1b[1mX", "0123456789|X", 1, 1},
		{"pending wrap and LF", "0123456789\nX", "0123456789|         X", 1, 9},
		{"no wrap", "\x1b[?7l0123456789ab", "012345678b", 0, 9},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2|3|4|5|6", 4, 1},
		{"DECBI at the margin", "abc\r\x1b6", " abc", 0, 0},
		{"DECFI at the margin", "abc\x1b[1;10H\x1b9", "bc", 0, 9},
		{"DECSC and DECRC", "ab\x1b7\x1b[3;3Hx\x1b8c", "abc||  x", 0, 3},
		{"DECRC with a pending wrap", "0123456789\x1b7\x1b[H\x1b8X", "0123456789|X", 1, 1},
		{"DECRC alone", "ab\r\ncd\x1b8X", "Xb|cd", 0, 1},
		{"IND, NEL, RI", "a\x1bDb\x1bEc\x1bMd", "a| d|c", 1, 2},
		{"RI scrolls", "a\x1bMb", " b|a", 0, 2},
		{"HTS and TBC", "\x1b[3g\x1b[4G\x1bH\ra\tb\tc", "a  b     c", 0, 9},
		{"DECALN", "\x1b[2;3r\x1b#8", "EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE", 0, 0},
		{"DECDWL", "\x1b#6abcdefg", "abcde|fg", 1, 2},
		{"DECDHL", "abcdefgh\x1b#3", "abcde", 0, 4},
		{"DECDWL and moves", "\x1b#6\x1b[9Ga\x1b[5Gc", "\x20   c", 0, 4},
		{"DECDWL and a scroll below the cursor", "\x1b[2H\x1b#6ab\x1b[1;9H\x1b[Sc", "ab  c", 0, 4},
		{"DECDWL and DECSWL", "\x1b#6\x1b#5abcdefg", "abcdefg", 0, 7},
		{"DECDWL and ICH", "\x1b#6abcde\r\x1b[2@\x1b[P", "\x20abc", 0, 0},
		{"DECDWL and ED", "\x1b#6\x1b[H\x1b[Jabcdefg", "abcdefg", 0, 7},
		{"DECDWL and DECSLRM", "\x1b#6\x1b[?69habcdefg\x1b#6", "abcdefg", 0, 7},
		{"RIS", "abc\x1b[2;3r\x1b[4h\x1bcd", "d", 0, 1},
		{"ICH", "abcdef\x1b[3G\x1b[2@", "ab  cdef", 0, 2},
		{"CUU and CUD", "\x1b[3;2H\x1b[Aa\x1b[2Bb", "|\x20a||  b", 3, 3},
		{"CUF and CUB", "\x1b[3Ca\x1b[3Db", " b a", 0, 2},
		{"CNL and CPL", "abc\x1b[2Ed\x1b[Fe", "abc|e|d", 1, 1},
		{"CHA, HPA, HPR", "\x1b[5Ga\x1b[2`b\x1b[3ac", " b  ac", 0, 6},
		{"VPA and VPR", "a\x1b[3db\x1b[ec", "a||\x20b|  c", 3, 3},
		{"CUP beyond the screen", "\x1b[99;99Ha\x1b[0;0Hb", "b||||         a", 0, 1},
		{"CHT and CBT", "\x1b[Ia\x1b[Zb", "        b", 0, 9},
		{"ED 0", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[J", "abc|d", 1, 1},
		{"ED 1", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", "|  f|ghi", 1, 1},
		{"ED 2", "abc\r\ndef\x1b[2J", "", 1, 3},
		{"DECSED", "\x1b[1\"qab\x1b[0\"qcd\x1b[?2J", "ab", 0, 4},
		{"DECSEL", "\x1b[1\"qab\x1b[0\"qcd\x1b[?1K\x1b[2K", "", 0, 4},
		{"EL 0, 1, 2", "abc\x1b[2G\x1b[K\r\nabc\x1b[2G\x1b[1K\r\nabc\x1b[2K", "a|  c", 2, 3},
		{"IL", "1\r\n2\r\n3\x1b[2;2H\x1b[L", "1||2|3", 1, 0},
		{"DL", "1\r\n2\r\n3\x1b[2;2H\x1b[M", "1|3", 1, 0},
		{"IL outside the margins", "1\r\n2\r\n3\x1b[1;2r\x1b[3;1H\x1b[L", "1|2|3", 2, 0},
		{"DCH", "abcdef\x1b[2G\x1b[2P", "adef", 0, 1},
		{"SU and SD", "1\r\n2\r\n3\x1b[S\x1b[2T", "||2|3", 2, 1},
		{"ECH", "abcdef\x1b[2G\x1b[3X", "a   ef", 0, 1},
		{"REP", "ab\x1b[3b", "abbbb", 0, 5},
		{"REP wraps", "ab\x1b[10b", "abbbbbbbbb|bb", 1, 2},
		{"REP after a move", "a\r\x1b[3b", "a", 0, 0},
		{"IRM", "abc\r\x1b[4hX\x1b[4lY", "XYbc", 0, 2},
		{"LNM", "ab\x1b[20h\ncd", "ab|cd", 1, 2},
		{"DECSTBM", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", "1|3|x|4", 2, 1},
		{"DECSTBM of one row", "\x1b[3;3r\x1b[5;1Ha", "||||a", 4, 1},
		{"DECOM", "\x1b[2;4r\x1b[?6h\x1b[1;1Ha\x1b[9;1Hb", "|a||b", 3, 1},
		{"DECSLRM", "\x1b[?69h\x1b[3;6s\x1b[1;3Habcdefg", "  abcd|  efg", 1, 5},
		{"DECSLRM and scrolling", "0123456789\r\nabcdefghij\x1b[?69h\x1b[3;6s\x1b[S", "01cdef6789|ab    ghij", 0, 0},
		{"SCOSC where there are no side margins", "ab\x1b[s\x1b[3;3H\x1b[uc", "abc", 0, 3},
		{"DECIC and DECDC", "abcd\x1b[2G\x1b[2'}X\x1b['~", "aXbcd", 0, 2},
		{"SL and SR", "abcd\x1b[2 @\x1b[ A", "\x20cd", 0, 4},
		{"reverse wrap", "0123456789ab\x1b[?45h\b\b\b\bX", "01234567X9|ab", 0, 9},
		{"no reverse wrap without a wrapped line", "ab\r\ncd\x1b[?45h\b\b\b\bX", "ab|Xd", 1, 1},
		{"DECSTR", "\x1b[4h\x1b[2;3rab\x1b[!p\rX", "Xb", 0, 1},
		{"C1 in UTF-8", "a\u0085b\u008dc\u009b5C", "abc5C", 0, 5},
		{"an unknown sequence", "a\x1b[?9999hb\x1b[>4;1mc\x1b[5$zd\x1b]999;x\x07e", "abcde", 0, 5},
		{"DECCOLM", "abc\x1b[?69h\x1b[3;9s\x1b[2;4r\x1b[?6h\x1b[?3hd\x1b[5;1He\x1b[1;8Hfg", "d      fg||||e", 0, 9},
		{"DECCOLM and back", "\x1b[?3habc\x1b[?3ld", "d", 0, 1},
		{"DECCOLM reset by tput init", "abc\r\n\x1b[!p\x1b[?3;4l\x1b[4l\x1b>\x1b[?69ld", "abc|d", 1, 1},
		{"DECCOLM with a pending wrap, DECDWL, DECSCA", "\x1b[1\"q\x1b#6abcde\x1b[?3hfghijk", "fghijk", 0, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := draw(tt.in).Snapshot()
			if got := text(s); got != tt.want || s.Cursor.Row != tt.row || s.Cursor.Col != tt.col {
				t.Errorf("%q draws %q with the cursor at %d,%d, want %q at %d,%d",
					tt.in, got, s.Cursor.Row, s.Cursor.Col, tt.want, tt.row, tt.col)
			}
		})
	}
}

// "XTerm Control Sequences", "Designate G0 Character Set", and the VT510 manual for the
// characters.
func TestCharacterSets(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b(0lqk\x1b(Bl":            "┌─┐l",
		"\x1b)0l\x0el\x0fl":           "l┌l",
		"\x1b*0l\x1bNll":              "l┌l",
		"\x1b+0\x1bol\x0fl":           "┌l",
		"\x1b(A#\x1b(B#":              "£#",
		"\x1b(0a~_`":                  "▒· ◆",
		"\x1b7\x1b(0\x0eq\x1b8\nq":    "q|q",
		"\x1b(0é":                     "é",
		"\x1b(0\x1b[3;1Hx\x1b[2b\x0f": "||│││",
	} {
		if got := text(draw(in).Snapshot()); got != want {
			t.Errorf("%q draws %q, want %q", in, got, want)
		}
	}
}

func TestWideCharacters(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		col            int
	}{
		{"two columns each", "漢字x", "漢字x", 5},
		{"no room in the last column", "012345678漢", "012345678|漢", 2},
		{"the first half overwritten", "漢字\rx", "x 字", 1},
		{"the second half overwritten", "漢字\x1b[2Gx", " x字", 2},
		{"both halves by a wide one", "漢字\x1b[2Gあ", " あ", 3},
		{"erased in the middle", "漢字\x1b[2G\x1b[K", "", 1},
		{"one half deleted", "漢字x\x1b[2G\x1b[P", " 字x", 1},
		{"pushed over the edge", "01234567漢\r\x1b[@", " 01234567", 0},
		{"combining mark", "e\u0301x", "e\u0301x", 2},
		{"a mark at the edge", "\u0301x", "x", 1},
		{"a mark on a wide character", "漢\u0301x", "漢\u0301x", 3},
		{"a mark in the last column", "0123456789\u0301x", "0123456789\u0301|x", 1},
		{"a flag by code points", "🇩🇪x", "🇩🇪x", 3},
		{"an emoji sequence by code points", "👩\u200d💻x", "👩\u200d💻x", 5},
		{"no wrap and no room", "\x1b[?7l012345678漢", "012345678", 9},
		{"soft hyphen", "a\u00adb", "a\u00adb", 3},
		{"bad UTF-8", "a\xff\xe6\xbcb", "a\ufffd\ufffdb", 4},
		{"bad UTF-8 before a control", "x\xf0\x9f\x91\r\xe6\xe6\xbcb", "\ufffd\ufffdb", 3},
		{"Hangul fillers and tags", "a\u3164b\U000e0001c\U000e0002d", "a bc\ufffdd", 7},
		{"zero-width and bidi characters", "a\u200bb\u202ec\u2066d", "abcd", 4},
	} {
		s := draw(tt.in).Snapshot()
		if got := text(s); got != tt.want || tt.col > 0 && s.Cursor.Col != tt.col {
			t.Errorf("%s: %q draws %q with the cursor in column %d, want %q in %d", tt.name, tt.in, got, s.Cursor.Col, tt.want, tt.col)
		}
	}
}

// Mode 2027 is off by default: programs count the columns of code points.
func TestClusters(t *testing.T) {
	for _, tt := range []struct {
		in  string
		col int
	}{
		{"👩\u200d💻", 2}, {"🇩🇪", 2}, {"🇩🇪🇫🇷", 4}, {"❤\ufe0f", 2}, {"👍🏽", 2}, {"e\u0301", 1}, {"한", 2}, {"कि", 1}, {"ab漢", 4},
	} {
		s := draw("\x1b[?2027h" + tt.in).Snapshot()
		if text(s) != tt.in || s.Cursor.Col != tt.col {
			t.Errorf("in mode 2027 %q draws %q in %d columns, want %d", tt.in, text(s), s.Cursor.Col, tt.col)
		}
	}
	c := draw("\x1b[?2027h👩\u200d💻").Snapshot().Cell(0, 0)
	if c.Rune != '👩' || c.Cluster != "👩\u200d💻" || c.Width != 2 {
		t.Errorf("the cell is %+v, want the whole cluster in two columns", c)
	}
}
