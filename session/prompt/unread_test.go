package prompt

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/session/shell"
	"ptyctl/term"
)

// The last line where an answer was left unread, as shells show it, and the prompt in it.
func TestBare(t *testing.T) {
	const da1, cpr, mode, version = "\x1b[?62;22c", "\x1b[12;5R", "\x1b[?2026;2$y", "\x1bP>|ptyctl\x1b\\"
	for _, tt := range []struct{ name, prompt, answers, line, want string }{
		{"bash", "$ ", da1, "$ 62;22c", "$ "},
		{"bash, echoed before", "a@b:~$ ", da1, "^[[?62;22ca@b:~$ 62;22c", "a@b:~$ "},
		{"dash", "$ ", da1 + cpr, "^[[?62;22c^[[12;5R$ ", "$ "},
		{"fish", "a@b ~> ", da1, "a@b ~> [?62;22c", "a@b ~> "},
		{"a prompt of characters in the answer", "web2$", mode, "web2$2026;2$y", "web2$"},
		{"not known yet, but like a prompt", "", da1, "a@b:~$ 62;22c", "a@b:~$ "},
		{"a search", "$ ", version, ":>|ptyctl^[\\", "$ "},
		{"an earlier line recalled", "vm% ", version, "vm% ls -l>|ptyctl", "vm% "},
		{"fragments", "$ ", da1 + version, "$ ;ctyctl", "$ "},
		{"behind the mark of zsh", "vm% ", da1, "%                     vm% 62;22c", "vm% "},
		{"vi commands of zsh", "vm% ", da1 + mode, "^[[?62;22c%   vm% Sg0", "vm% "},
		{"vi commands of bash", "a@b:~$ ", da1, "a@b:~$0/0000/0000^[\\^[\\a@b:~$", "a@b:~$ "},
		{"vi commands at a short prompt", "$ ", da1, "$ Sg0", "$ Sg0"},
		{"drawn over the echo", "bash@vm:~$ ", da1 + "\x1b[8;40;120t", "bash120t~$ 0;120t", "bash@vm:~$ "},
		{"no answer beside it", "bash@vm:~$ ", da1 + "\x1b[8;40;120t", "bash120t~$ ", "bash120t~$ "},
		{"a host of another number", "bash@vm1:~$ ", da1, "^[[?62;22cbash@vm2:~$ 62;22c", "bash@vm2:~$ "},
		{"drawn over the echo, with more behind it", "bash@vm:~$ ", da1 + cpr, "bas[12;:~$ R", "bash@vm:~$ "},
		{"echoed before, and drawn over", "bash@vm:~$ ", da1 + "\x1b[8;40;120t", "^[[?62;22c^[[8;40;120tbash120t~$ ?62;22c^[[8;40;", "bash@vm:~$ "},
		{"another host", "bash@vm:~$ ", da1 + cpr, "bash@wm:~$ ", "bash@wm:~$ "},
		{"mostly something else", "bash@vm:~$ ", da1 + cpr, "2;22c[12;5$ ", "2;22c[12;5$ "},
		{"behind other text", "vm% ", da1, "a   b vm% x", "a   b vm% x"},
		{"no answer", "$ ", "", "$ 62;22c", "$ 62;22c"},
		{"other text", "$ ", da1, "$ make", "$ make"},
		{"output", "$ ", da1, "total 62;22c", "total 62;22c"},
		{"the prompt alone", "$ ", da1, "$ ", "$ "},
		{"nothing", "$ ", da1, "", ""},
	} {
		h := NewHistory()
		h.Learn(tt.prompt)
		if tt.answers != "" {
			h.Answered([]byte(tt.answers))
		}
		if got := h.Bare(tt.line); got != tt.want {
			t.Errorf("%s: %q without the answers %q is %q, want %q", tt.name, tt.line, tt.answers, got, tt.want)
		}
	}
}

// The line is cleared once: when it is entered or discarded, the answers are gone.
func TestDiscard(t *testing.T) {
	for _, text := range []string{"ls\r", "\x03", "\x15"} {
		h := NewHistory()
		if got := h.Discard(shell.Posix); got != "" {
			t.Errorf("without an answer %q would be typed", got)
		}
		h.Answered([]byte("\x1b[0n"))
		if got := h.Discard(shell.Posix); got != "\a\x15\b\x1b"+strings.Repeat("\x15", 16)+"S\x15" {
			t.Errorf("Discard(posix) = %q", got)
		}
		if got := h.Discard(shell.Device); got != "\x15" {
			t.Errorf("Discard(device) = %q, want ctrl_u alone", got)
		}
		h.Touch(Input{Line: "$ 0n", Text: []byte(text)})
		if got := h.Discard(shell.Posix); got != "" {
			t.Errorf("after %q %q would be typed", text, got)
		}
	}
}

// Backspaces clear the line where ctrl-u does not, and nothing is left of the keys themselves.
func TestDiscardInPowerShell(t *testing.T) {
	h := NewHistory()
	h.Answered([]byte("\x1b[0n"))
	if got, want := h.Discard(shell.PowerShell), "\x15\x7f\x7f\x7f\x7f\x7f"; got != want {
		t.Errorf("Discard(powershell) = %q, want %q", got, want)
	}
}

// Text that a caller has typed and not entered stays in the line, although its characters are in an answer: the keys of
// Discard would delete it.
func TestHalfTypedLikeAnAnswer(t *testing.T) {
	for _, tt := range []struct{ answers, typed string }{
		{"\x1b[?62;22c", "2"},
		{"\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\", "rg"},
		{"\x1bP>|ptyctl\x1b\\", "ptyctl"},
	} {
		h := NewHistory()
		h.Touch(Input{Line: "$ ", Text: []byte("x\r")})
		h.Answered([]byte(tt.answers))
		h.Touch(Input{Line: "$ ", End: 10, Text: []byte(tt.typed)})
		line := h.Bare("$ " + tt.typed)
		o := h.Judge(View{Line: line, End: 20, Marked: true, Shell: shell.Shell{Class: shell.Posix}})
		if o == nil || o.Reason != term.ReasonHalfTyped {
			t.Errorf("with %q typed after the answer %q, the line is %q and the obstacle %+v, want %s",
				tt.typed, tt.answers, line, o, term.ReasonHalfTyped)
		}
	}
}

// Text that a caller has typed behind an answer is not taken for the answer's.
func TestHalfTypedBehindAnAnswer(t *testing.T) {
	h := NewHistory()
	h.Learn("vm% ")
	h.Answered([]byte("\x1bP>|ptyctl\x1b\\"))
	h.Touch(Input{Line: "vm% ", Text: []byte("rm x")})
	if got := h.Bare("vm% rm x"); got != "vm% rm x" {
		t.Errorf("the line without answers is %q, want the typed text in it", got)
	}
}

// The far side chooses the line and how often it is judged.
func TestBareIsCheap(t *testing.T) {
	h := NewHistory()
	for i := range maxLearned {
		h.Learn(fmt.Sprintf("user%d@host:~/dir%d$ ", i, i))
	}
	for _, tt := range []struct{ answer, line string }{
		{"\x1b[?62;22c", strings.Repeat("62;22c", 33)},
		{"\x1b[0;0$y", strings.Repeat("0$", 90)},
	} {
		h.Answered([]byte(strings.Repeat(tt.answer, 100)))
		allocs := testing.AllocsPerRun(1, func() { h.Bare(tt.line) })
		if most := 3000.0; allocs > most { // a measure of the work that does not depend on the machine
			t.Errorf("Bare of %d bytes made %v allocations, want at most %v", len(tt.line), allocs, most)
		}
	}
}

func FuzzBare(f *testing.F) {
	f.Add("$ 62;22c", "\x1b[?62;22c", "$ ")
	f.Add("^[[?62;22c$ ", "\x1b[?62;22c", "$ ")
	f.Fuzz(func(t *testing.T, line, answers, prompt string) {
		h := NewHistory()
		h.Learn(prompt)
		h.Answered([]byte(answers))
		if got := h.Bare(line); h.Bare(got) != got {
			t.Errorf("%q becomes %q and then %q", line, got, h.Bare(got))
		}
	})
}

// A login is over once something was typed at a prompt. No question of it is one, however it asks for a second factor.
func TestLoggedIn(t *testing.T) {
	for _, login := range [][]string{
		{"login: ", "Password: ", "alice@web1:~$ "}, {"Username: ", "Enter your code: ", "r1#"},
		{"Enter PASSCODE:", "Your token? ", "➜  ~ "}, {"", "$ "},
	} {
		h := NewHistory()
		for i, line := range login {
			if h.LoggedIn() {
				t.Errorf("%q: over before %q was answered", login, line)
			}
			h.Touch(Input{Line: line, Text: []byte("x\r")})
			if over := i == len(login)-1; h.LoggedIn() != over {
				t.Errorf("%q: over is %v after something was typed at %q", login, !over, line)
			}
		}
	}
}
