package prompt

import (
	"regexp"
	"testing"

	"ptyctl/session/shell"
	"ptyctl/term"
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

// A question is untouched until something is typed at it. Input entered before the question was shown is not typed at
// it, even if no line end has come back.
func TestUntouched(t *testing.T) {
	type input struct {
		text string
		end  int64
	}
	for name, tt := range map[string]struct {
		typed      []input
		start, end int64
		want       bool
	}{
		"nothing typed":                    {nil, 0, 10, true},
		"a command before":                 {[]input{{"sudo x\r", 2}}, 10, 30, true},
		"a key at it":                      {[]input{{"sudo x\r", 2}, {"h", 30}}, 10, 30, false},
		"a key at it, which was shown":     {[]input{{"sudo x\r", 2}, {"h", 30}}, 10, 31, false},
		"a key of a pager before":          {[]input{{"q", 5}}, 10, 30, true},
		"entered, and nothing came":        {[]input{{"sudo x\r", 10}}, 10, 10, false},
		"entered without a line end":       {[]input{{"sudo x\r", 10}}, 10, 30, true},
		"entered, and half of the next":    {[]input{{"sudo x\rabc", 10}}, 10, 30, false},
		"entered, then half of the next":   {[]input{{"sudo x\r", 10}, {"abc", 10}}, 10, 30, false},
		"entered at it, with no answer":    {[]input{{"word\r", 30}}, 10, 30, false},
		"an interrupt at it":               {[]input{{"\x03", 30}}, 10, 30, false},
		"a key of the protocol, a break":   {[]input{{"", 30}}, 10, 30, false},
		"typed at it and erased: not sure": {[]input{{"h", 30}, {"\x7f", 30}}, 10, 30, false},
	} {
		h := NewHistory()
		for _, in := range tt.typed {
			h.Touch(Input{Line: "$ ", End: in.end, Text: []byte(in.text)})
		}
		if got := Untouched(h, tt.start, tt.end); got != tt.want {
			t.Errorf("%s: Untouched = %t, want %t", name, got, tt.want)
		}
	}
}

// A blank last line is no prompt that an expression could be corrected to match: a program may still run there.
func TestBlankIsNoOtherPrompt(t *testing.T) {
	for line, want := range map[string]term.Reason{
		"":         term.ReasonNoPrompt,
		"  ":       term.ReasonNoPrompt,
		"Router>>": term.ReasonOtherPrompt,
	} {
		o := NewHistory().Judge(View{Line: line, End: 20, Prompt: regexp.MustCompile(`^r1# ?$`)})
		if o == nil || o.Reason != want {
			t.Errorf("Judge(%q) = %+v, want %q", line, o, want)
		}
	}
}
