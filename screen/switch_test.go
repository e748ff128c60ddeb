package screen_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/screen"
)

// "XTerm Control Sequences", "The Alternate Screen Buffer".
func TestAlternateScreen(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		row, col int
		alt      bool
	}{
		{"main\x1b[?1049halt", "    alt", 0, 7, true},
		{"main\x1b[?1049h\x1b[3;3Halt\x1b[?1049lx", "mainx", 0, 5, false},
		{"main\x1b[?47h\x1b[3;3Halt\x1b[?47lx", "main||     x", 2, 6, false},
		{"main\x1b[?1047hx\x1b[?1047l\x1b[?1047hy", "     y", 0, 6, true},
		{"ab\x1b7\x1b[3;3Hcd\x1b[?1049lx", "abx||  cd", 0, 3, false}, // on the main screen already
		{"ab\x1b[?1048h\x1b[3;3H\x1b[?1048lx", "abx", 0, 3, false},
		{"ab\x1b7\x1b[?47h\x1b[2;2H\x1b7\x1b[H\x1b8x\x1b[?47l\x1b8y", "aby", 0, 3, false}, // DECSC of each screen
		{"\x1b[?1049hx\x1bcy", "y", 0, 1, false},
		{"\x1b[?1049hx\x1b[?1049hy", " y", 0, 2, true},
	} {
		s := draw(tt.in).Snapshot()
		if text(s) != tt.want || s.Cursor.Row != tt.row || s.Cursor.Col != tt.col || s.AltScreen != tt.alt {
			t.Errorf("%q draws %q, cursor %d,%d, alternate %v; want %q, %d,%d, %v",
				tt.in, text(s), s.Cursor.Row, s.Cursor.Col, s.AltScreen, tt.want, tt.row, tt.col, tt.alt)
		}
	}
}

// Synchronized output, https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036.
func TestSynchronizedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := draw("one\x1b[?2026h\rtwo")
		if got := s.Snapshot(); text(got) != "one" || !got.Drawing || !s.Drawing() {
			t.Errorf("within a frame a reader sees %q, drawing %v; want the frame before it", text(got), got.Drawing)
		}
		s.Write([]byte("\x1b[?2026l"))
		if got := s.Snapshot(); text(got) != "two" || got.Drawing {
			t.Errorf("after the frame a reader sees %q, drawing %v; want the frame", text(got), got.Drawing)
		}

		s.Write([]byte("\x1b[?2026h\rabc"))
		time.Sleep(600 * time.Millisecond)
		s.Write([]byte("\x1b[?2026hd")) // does not make it last longer
		time.Sleep(300 * time.Millisecond)
		if got := text(s.Snapshot()); got != "two" {
			t.Errorf("after 0.9 s a reader sees %q, want the frame before", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := text(s.Snapshot()); got != "abcd" {
			t.Errorf("after a second without an end of the frame a reader sees %q, want what was drawn", got)
		}
		s.Write([]byte("\x1b[?2026h\rxyz\x1bcq"))
		if got := s.Snapshot(); text(got) != "q" {
			t.Errorf("after a reset within a frame a reader sees %q, want q", text(got))
		}
	})
}

func TestModes(t *testing.T) {
	s := draw("\x1b[?1;5;1000;1002;1004;1006;2004h\x1b=\x1b[?25l\x1b[4 q").Snapshot()
	want := screen.Modes{
		AppCursor: true, AppKeypad: true, BracketedPaste: true, FocusEvents: true,
		Mouse: screen.MouseDrags, MouseForm: screen.MouseDigits, ReverseScreen: true,
	}
	if s.Modes != want || !s.Cursor.Hidden || s.Cursor.Shape != 4 {
		t.Errorf("the modes are %+v, cursor %+v; want %+v, hidden, shape 4", s.Modes, s.Cursor, want)
	}
	if got := draw("\x1b[?1;1000;2004h\x1b[?25l\x1bc").Snapshot(); got.Modes != (screen.Modes{}) || got.Cursor.Hidden {
		t.Errorf("after RIS the modes are %+v, cursor %+v", got.Modes, got.Cursor)
	}
}

// mc keeps mouse modes this way.
func TestKeptModes(t *testing.T) {
	s := draw("\x1b[?1000;2004h\x1b[?1000;1004;6s\x1b[?1000;2004l\x1b[?1004h\x1b[2;3r\x1b[?6h\x1b[?1000;1004;2004;6rx").Snapshot()
	if want := (screen.Modes{Mouse: screen.MouseClicks}); s.Modes != want || text(s) != "x" {
		t.Errorf("after XTRESTORE the modes are %+v, the text is %q; want %+v, x in the first row, because DECOM was off", s.Modes, text(s), want)
	}
}

func TestReplies(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[c":                           "\x1b[?62;22c",
		"\x1b[0c\x1bZ":                     "\x1b[?62;22c\x1b[?62;22c",
		"\x1b[>c":                          "\x1b[>1;10;0c",
		"\x1b[5n":                          "\x1b[0n",
		"ab\x1b[6n":                        "\x1b[1;3R",
		"\x1b[2;4r\x1b[?6h\x1b[2H\x1b[?6n": "\x1b[?2;1R",
		"\x1b[?7$p\x1b[?2026$p\x1b[?77$p\x1b[4$p": "\x1b[?7;1$y\x1b[?2026;2$y\x1b[?77;0$y\x1b[4;2$y",
		"\x1b[?1049h\x1b[?1049$p":                 "\x1b[?1049;1$y",
		"\x1b[?3$p\x1b[?3h\x1b[?3$p":              "\x1b[?3;2$y\x1b[?3;1$y",
		"\x1b[>q":                                 "\x1bP>|ptyctl\x1b\\",
		"\x1b]10;?\x07\x1b]11;?\x1b\\":            "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x1b\\",
		"\x1b[1;4:3;31;48;5;208m\x1bP$qm\x1b\\":   "\x1bP1$r0;1;4:3;31;48:5:208m\x1b\\",
		"\x1b[2;4r\x1bP$qr\x1b\\":                 "\x1bP1$r2;4r\x1b\\",
		"\x1b[3 q\x1bP$q q\x1b\\":                 "\x1bP1$r3 q\x1b\\",
		"\x1b[1\"q\x1bP$q\"q\x1b\\":               "\x1bP1$r1\"q\x1b\\",
		"\x1bP$qx\x1b\\":                          "\x1bP0$r\x1b\\",
		"\x1b[19$p\x1b[20h\x1b[20$p":              "\x1b[19;4$y\x1b[20;1$y",
		"\x1b[?u":                                 "\x1b[?0u",
		"\x1b[18t":                                "\x1b[8;5;10t",
		// A query gets no answer if the answer could put the far side's words into the input.
		"\x1b]2;rm -rf\x07\x1b[21t\x1b[20t\x1b]52;c;?\x07\x1b[1;1;1;1;1;1*y\x05\x1b]4;1;?\x07": "",
	} {
		s := draw(in)
		if got := string(s.Replies()); got != want {
			t.Errorf("%q is answered by %q, want %q", in, got, want)
		}
		if got := s.Replies(); got != nil {
			t.Errorf("the answers to %q are returned again: %q", in, got)
		}
	}
	s := screen.New(10, 5)
	for range 10_000 {
		s.Write([]byte("\x1b[c"))
	}
	if got := len(s.Replies()); got > 1100 {
		t.Errorf("10000 questions leave %d bytes of answers, want at most about 1 KiB", got)
	}
}
