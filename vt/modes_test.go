package vt_test

import (
	"testing"

	"ptyctl/vt"
)

func TestTracker(t *testing.T) {
	tests := []struct {
		name, in string
		modes    vt.Modes
		queries  vt.Queries
	}{
		{name: "text", in: "hello\r\nworld"},
		{name: "DECSET 1049", in: "\x1b[?1049h", modes: vt.Modes{AltScreen: true}},
		{name: "DECSET 47", in: "\x1b[?47h", modes: vt.Modes{AltScreen: true}},
		{name: "DECSET 1047", in: "\x1b[?1047h", modes: vt.Modes{AltScreen: true}},
		{name: "DECRST 1049", in: "\x1b[?1049hx\x1b[?1049l"},
		{name: "DECCKM", in: "\x1b[?1h", modes: vt.Modes{AppCursor: true}},
		{name: "DECCKM off", in: "\x1b[?1h\x1b[?1l"},
		{name: "DECKPAM", in: "\x1b=", modes: vt.Modes{AppKeypad: true}},
		{name: "DECKPNM", in: "\x1b=\x1b>"},
		{name: "DECNKM", in: "\x1b[?66h", modes: vt.Modes{AppKeypad: true}},
		{name: "bracketed paste", in: "\x1b[?2004h", modes: vt.Modes{BracketedPaste: true}},
		{name: "DECTCEM", in: "\x1b[?25l", modes: vt.Modes{CursorHidden: true}},
		{name: "DECTCEM on", in: "\x1b[?25l\x1b[?25h"},
		{name: "several at once", in: "\x1b[?1;25;2004h", modes: vt.Modes{AppCursor: true, BracketedPaste: true}},
		{name: "SM is not DECSET", in: "\x1b[1;47;2004h\x1b[>1h\x1b[?1$h"},
		{name: "within a string", in: "\x1b]0;[?1049h\x07\x1bP[?1h\x1b\\"},
		{name: "broken off", in: "\x1b[?1\x18h\x1b[?1"},
		{name: "RIS", in: "\x1b[?1049;1;2004h\x1b[?25l\x1b=\x1bc", modes: vt.Modes{Resets: 1}},
		{name: "DECSTR", in: "\x1b[?1049;1;2004h\x1b[?25l\x1b=\x1b[!p", modes: vt.Modes{AltScreen: true, Resets: 1}},
		{name: "on after a reset", in: "\x1bc\x1b[?1h\x1bc\x1b[?1h", modes: vt.Modes{AppCursor: true, Resets: 2}},
		{name: "DSR", in: "\x1b[5n\x1b[6n\x1b[?6n\x1b[6n\x1b[0n\x1b[?5n", queries: vt.Queries{Status: 1, CursorPosition: 3}},
		{name: "DA", in: "\x1b[c\x1b[0c\x1bZ\x1b[>c\x1b[=0c\x1b[?1;2c\x1b[1c", queries: vt.Queries{Primary: 3, Secondary: 1, Tertiary: 1}},
		{name: "other questions", in: "\x1b[?2026$p\x1b[4$p\x1b[>q\x1b[18t\x1b[?u\x1b]10;?\a\x1b]11;?\x1b\\\x1bP$qm\x1b\\", queries: vt.Queries{Others: 8}},
		{name: "no questions", in: "\x1b[21t\x1b[>1q\x1b[>1u\x1b[u\x1b[2 q\x1b]11;red\a\x1b]52;c;?\a\x1bP+q544e\x1b\\\x1b[!p", modes: vt.Modes{Resets: 1}},
		{name: "C1 is text in UTF-8", in: "\x9b?1h漢字"},
		{
			name: "vim starts", in: "\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[1;24r\x1b[?12h\x1b[?25l\x1b[>c",
			modes:   vt.Modes{AltScreen: true, AppCursor: true, AppKeypad: true, BracketedPaste: true, CursorHidden: true},
			queries: vt.Queries{Secondary: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everyCut(tt.in, func(how string, pieces ...string) {
				var tracker vt.Tracker
				for _, p := range pieces {
					if n, err := tracker.Write([]byte(p)); n != len(p) || err != nil {
						t.Fatalf("%s: Write of %q: %d, %v", how, p, n, err)
					}
				}
				if tracker.Modes() != tt.modes || tracker.Queries() != tt.queries {
					t.Errorf(
						"%s: after %q %+v %+v, want %+v %+v",
						how,
						tt.in,
						tracker.Modes(),
						tracker.Queries(),
						tt.modes,
						tt.queries,
					)
				}
			})
		})
	}
}

func TestTrackerMarks(t *testing.T) {
	tests := []struct {
		name, in string
		want     vt.Marks
	}{
		{"none", "$ ls\r\n\x1b]0;133;A\x07$ ", vt.Marks{}},
		{"prompt", "\x1b]133;A\x07$ \x1b]133;B\x07", vt.Marks{Prompts: 1, AtPrompt: true}},
		{"ended by ST", "\x1b]133;A;cl=m;aid=1\x1b\\$ ", vt.Marks{Prompts: 1, AtPrompt: true}},
		{"of VS Code", "\x1b]633;A\x07$ \x1b]633;B\x07", vt.Marks{Prompts: 1, AtPrompt: true}},
		{"command", "\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07", vt.Marks{Prompts: 1}},
		{"command with its line", "\x1b]133;A\x07> \x1b]133;C;cmdline_url=ls\x07", vt.Marks{Prompts: 1}},
		{"ended", "\x1b]133;A\x07$ \x1b]133;C\x07\x1b]133;D;0\x07", vt.Marks{Prompts: 1}},
		{"two", "\x1b]133;A\x07$ \x1b]133;C\x07\x1b]133;D\x07\x1b]133;A\x07$ ", vt.Marks{Prompts: 2, AtPrompt: true}},
		{"continuation", "\x1b]133;A\x07$ \x1b]133;B\x07'\r\n\x1b]133;A;k=s\x07> \x1b]133;B\x07", vt.Marks{Prompts: 1}},
		{"continuation alone", "\x1b]133;A;k=s\x07> \x1b]133;B\x07", vt.Marks{}},
		{"other", "\x1b]133;AB\x07\x1b]1337;A\x07\x1b]133;\x07", vt.Marks{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everyCut(tt.in, func(how string, pieces ...string) {
				var tracker vt.Tracker
				for _, p := range pieces {
					_, _ = tracker.Write([]byte(p))
				}
				if got := tracker.Marks(); got != tt.want {
					t.Errorf("%s: after %q %+v, want %+v", how, tt.in, got, tt.want)
				}
			})
		})
	}
}
