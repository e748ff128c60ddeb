package scene_test

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ptyctl/screen"
	"ptyctl/session/prompt"
	"ptyctl/session/scene"
)

// drawn returns the screen of 40 by 10 that shows the output.
func drawn(output string) *screen.Snapshot {
	s := screen.New(40, 10)
	_, _ = s.Write([]byte(output))
	return s.Snapshot()
}

func TestLine(t *testing.T) {
	for _, tt := range []struct{ name, output, left, right string }{
		{"nothing", "", "", ""},
		{"a prompt", "one\r\n$ ", "$ ", ""},
		{"in the middle", "$ abc\b\b", "$ a", "bc"},
		{"a right prompt", "$ \x1b[36G<-x\x1b[3G", "$ ", strings.Repeat(" ", 33) + "<-x"},
		{"drawn again above", "\x1b[9H$ \x1b[10Hstatus\x1b[9;3H", "$ ", ""},
		{"wrapped", strings.Repeat("a", 45), strings.Repeat("a", 45), ""},
		{"wrapped, the cursor above", strings.Repeat("a", 45) + "\x1b[A", strings.Repeat("a", 5), strings.Repeat("a", 40)},
		{"behind the last column", strings.Repeat("a", 40), strings.Repeat("a", 40), ""},
		{"wide characters", "日本: ", "日本: ", ""},
		{"combining marks", "e\u0301: ", "e\u0301: ", ""},
	} {
		left, right, ok := scene.Line(drawn(tt.output))
		if left != tt.left || right != tt.right || !ok {
			t.Errorf("%s: the line is %q, %q (known: %v), want %q, %q", tt.name, left, right, ok, tt.left, tt.right)
		}
	}
	if left, _, ok := scene.Line(drawn(strings.Repeat("a", 420))); ok {
		t.Errorf("a line whose beginning has left the screen is known: %q", left)
	}
}

func TestAsks(t *testing.T) {
	const alt = "\x1b[?1049h\x1b[2J\x1b[H"
	const box = "\x1b[2;5H┌───┤ Who ├───┐\x1b[3;5H│ Your name   │\x1b[4;5H│ " + "             \x1b[4;19H│\x1b[5;5H│             │\x1b[6;5H└─────────────┘"
	for _, tt := range []struct{ name, output, kind, text string }{
		{"nothing", alt, prompt.Editor, ""},
		{"a field of a form", alt + "Installer\x1b[5;5HName: \x1b[7;5HPassword: \x1b[10HF1 Help\x1b[7;15H", prompt.Password, "    Password: "},
		{"a hidden cursor", alt + "Password: \x1b[?25l", prompt.Editor, "Password: "},
		{"a question below", alt + "text\x1b[10;1H[Y]es, (N)o, (C)ancel: ", prompt.YesNo, "[Y]es, (N)o, (C)ancel: "},
		{"a question in a text", alt + "text\x1b[10;1HDelete it all?", prompt.Editor, "Delete it all?"},
		{"a question in reverse", alt + "text\x1b[9;1H\x1b[7mDelete it all?\x1b[m\x1b[10;1Hhelp\x1b[9;16H", prompt.YesNo, "Delete it all? "},
		{"a box", alt + box + "\x1b[4;7H___\x1b[4;7H", prompt.Editor, "Who | Your name"},
		{"text in a field", alt + box + "\x1b[4;7Hab__\x1b[4;9H", prompt.Editor, "Who | Your name | ab"},
		{"a box for a password", alt + strings.Replace(box, "name", "pin ", 1) + "\x1b[4;7H**_\x1b[4;9H", prompt.Password, "Who | Your pin | **"},
		{"a button", alt + box + "\x1b[?25l\x1b[4;7H<Yes> \x1b[7m<No>\x1b[m", prompt.Editor, "Who | Your name | highlighted: <No>"},
		{
			"the mark of an entry", alt + "\x1b[2;5H┌─────────┐\x1b[3;5H│ \x1b[44m(*) one\x1b[m │\x1b[4;5H│ \x1b[44m(\x1b[41m \x1b[44m) two\x1b[m │" +
				"\x1b[5;5H│ \x1b[44m( ) 333\x1b[m │\x1b[6;5H│ \x1b[44m( ) 444\x1b[m │\x1b[7;5H└─────────┘\x1b[?25l\x1b[4;8H",
			prompt.Editor, "(*) one | highlighted: ( ) two",
		},
		{"an entry by its colour", alt + "one\r\n\x1b[33mtwo\x1b[m\r\nthree\r\nfour\r\nfive\x1b[?25l", prompt.Editor, "highlighted: two"},
		{"a forged button", alt + box + "\x1b[?25l\x1b[4;7H\x1b[7mA | <No>\x1b[m", prompt.Editor, "Who | Your name | highlighted: A ¦ <No>"},
		{"a forged entry", alt + "one\r\n\x1b[7mConfirm | highlighted: <Yes>\x1b[m\r\ntwo\x1b[?25l", prompt.Editor, "highlighted: Confirm ¦ highlighted: <Yes>"},
		{"a forged line", alt + "text\x1b[10;1HName | highlighted: <Yes> ", prompt.YesNo, "Name ¦ highlighted: <Yes> "},
		{"a status line", alt + "text\x1b[10;1H\x1b[7m-- INSERT --\x1b[m\x1b[1;3H", prompt.Editor, "text | highlighted: -- INSERT --"},
		{"long", alt + strings.Repeat("é", 100) + "\x1b[H", prompt.Editor, strings.Repeat("é", 100)},
	} {
		w := scene.Asks(drawn(tt.output))
		if w.Kind != tt.kind || w.Text != tt.text {
			t.Errorf("%s: the program asks %s %q, want %s %q", tt.name, w.Kind, w.Text, tt.kind, tt.text)
		}
	}
}

func TestDialog(t *testing.T) {
	const box = "\x1b[2;5H┌─────────────┐\x1b[3;5H│ Really?     │\x1b[4;5H│             │\x1b[5;5H└─────────────┘"
	const button = "\x1b[4;7H<Yes> \x1b[7m<No>\x1b[m\x1b[4;14H"
	for _, tt := range []struct{ name, output, text string }{
		{"a button", box + button, "Really? | <Yes> <No> | highlighted: <No>"},
		{"a parked cursor", box + button + "\x1b[H", "Really? | highlighted: <No>"},
		{"no button", box, ""},
		{"a shell below", box + button + "\x1b[8;1H$ ", ""},
		{"text alone", "one\r\ntwo\x1b[A", ""},
	} {
		got := ""
		if w := scene.Dialog(drawn(tt.output)); w != nil {
			got = w.Text
		}
		if got != tt.text {
			t.Errorf("%s: the dialog asks %q, want %q", tt.name, got, tt.text)
		}
	}
}

// The screens of real programs.
func TestRealPrograms(t *testing.T) {
	for _, tt := range []struct{ name, kind, text string }{
		{"checklist", prompt.Editor, "Parts | Select | highlighted: [*] a one | highlighted: < OK >"},
		{"whiptail", prompt.Editor, "Menu | Choose | highlighted: b two | highlighted: <Ok>"},
		{"dialog", prompt.Editor, "Choose one | highlighted: a one | highlighted: < OK >"},
		{"less", prompt.Editor, ": | highlighted: delta | highlighted: delta"},
		{"vim", prompt.Editor, "1 #include <stdio.h>$ |115 115 beta eta kappa iota kappa kappa | highlighted: wide.txt 1,1 All | highlighted: prog.c 1,1 Top notes.txt [+] 119,1 Bot"},
		{"nano", prompt.Editor, "Main nano help text"},
		{"htop", prompt.Editor, "F3Next S-F3Prev EscCancel Search: | highlighted: 1 root 22 2 4360 3228 2956 S 0.0 0.0 0:00.00 bash -c hostn"},
		{"mc", prompt.Editor, "Left File Command Options Right | # | highlighted: /.. UP--DIR Nov 25 15:56"},
		{"fzf", prompt.Editor, "> 5 | highlighted: > entry 51"},
		{"tmux", prompt.Editor, "root@host:/home/me/project0# ls [0/0] | highlighted: [1] 0:[tmux]* 1:bash- \"host\" 15:56 25-Nov-26"},
		{"gdb", prompt.Editor, "(gdb) | highlighted: sum += i; // add | highlighted: multi-thre Thread 0x7ffff7dd27 In: main L7 PC: 0x555555555158"},
		{"tig", prompt.Editor, "2026-11-25 16:37 +0000 Unknown o Untracked changes | highlighted: Untracked files: | highlighted: [status] Press u to stage all files for addition 100%"},
		{"ncdu", prompt.Editor, "ncdu 1.18 ~ Use the arrow keys to navigate, press ? for help | highlighted: 8.0 KiB [ 28.6%] /a | highlighted: Total disk usage: 28.0 KiB Apparent size: 19.0 KiB Items: 5"},
		{"w3m", prompt.Editor, "highlighted: ≪ ↑ ↓ Viewing <p.html>"},
		{"joe", prompt.Editor, "int main(int argc, char **argv) | highlighted: I A prog.c (Modified)(c) int main(int argc, char **argv Row 4 Col 1"},
	} {
		f, err := os.Open("../../screen/testdata/" + tt.name + "-80x24.raw.gz")
		if err != nil {
			t.Fatalf("the recordings of package screen are not there: %v", err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(z)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		s := screen.New(80, 24)
		_, _ = s.Write(raw)
		if w := scene.Asks(s.Snapshot()); w.Kind != tt.kind || w.Text != tt.text {
			t.Errorf("%s asks %s %q, want %s %q", tt.name, w.Kind, w.Text, tt.kind, tt.text)
		}
	}
}

// Whatever is drawn, the text is short, printable and whole characters.
func FuzzAsks(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[2;5H┌──┐\x1b[3;5H│\x1b[7m a\x1b[m│\x1b[4;5H└──┘\x1b[3;6H"))
	f.Fuzz(func(t *testing.T, output []byte) {
		now := drawn(string(output))
		_, _, _ = scene.Line(now)
		_ = scene.Dialog(now)
		w := scene.Asks(now)
		if len(w.Text) > 240 || !utf8.ValidString(w.Text) || strings.ContainsFunc(w.Text, unicode.IsControl) {
			t.Errorf("a program that draws %q asks %q, want at most 240 bytes without controls", output, w.Text)
		}
	})
}
