package prompt

import (
	"testing"

	"ptyctl/session/shell"
)

// Where no shell can be asked for its name, as over Telnet, a marker at the terminal's first prompt shows the class of
// the login shell, and a shell started by hand does not change that.
func TestClassWhereItBegan(t *testing.T) {
	h := NewHistory()
	h.Touch(Input{Line: "demo$ ", Text: []byte("x\r")})
	at := func(line string, want shell.Class) {
		t.Helper()
		if got := h.ShellAt(line, ""); got.Class != want {
			t.Errorf("at %q: %q, want %q", line, got.Class, want)
		}
	}
	h.Marked(shell.Posix, "demo$ ", 0)
	at("demo$ ", shell.Posix)
	h.Marked(shell.Csh, "% ", 0)
	at("% ", shell.Csh)
	at("demo$ ", shell.Posix)
	h.Refused() // refused: it is another shell that shows the same prompt
	at("demo$ ", "")
}
