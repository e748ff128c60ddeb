package prompt

import (
	"regexp"
	"testing"
	"time"

	"ptyctl/session/shell"
)

func TestSight(t *testing.T) {
	const none = 0
	for _, c := range []struct {
		line     string
		view     View
		rest     time.Duration // after which it is a prompt; none: it is no prompt
		question string        // its kind
	}{
		{"me@host:~$ ", View{}, likelyPrompt, ""},
		{"root@1f2e3d4c5b6a:/# ", View{}, likelyPrompt, ""},
		{"r1>", View{}, likelyPrompt, ""},
		{"r1(config)#", View{}, likelyPrompt, ""},
		{"[HUAWEI]", View{}, signQuiet, ""},
		{">>> ", View{}, likelyPrompt, ""},
		{"(gdb) ", View{}, likelyPrompt, ""},
		{"MySQL [test]> ", View{}, possiblePrompt, ""},
		{"λ ", View{}, signQuiet, ""},
		{"ready: ", View{Prompt: regexp.MustCompile(`^ready: $`)}, LeastRest, ""},
		{"me@host:~$ ", View{Prompt: regexp.MustCompile(`^ready: $`)}, signQuiet, ""},
		{"learned%", View{}, LeastRest, ""},
		{"", View{}, none, ""},
		{"  ", View{}, none, ""},
		{"compiling", View{}, none, ""},
		{"downloading 42% ", View{}, none, ""},
		{"$ ", View{AltScreen: true}, none, ""},
		{"Password: ", View{}, likelyPrompt, Password},
		{"host login: ", View{}, likelyPrompt, Login},
		{"Continue? [Y/n] ", View{}, likelyPrompt, YesNo},
		{"--More--", View{}, likelyPrompt, Pager},
		{"Your choice > ", View{}, possiblePrompt, Unknown},
		{"cmdand quote> ", View{}, likelyPrompt, Continuation},
	} {
		h := NewHistory()
		h.Learn("learned%")
		c.view.Line = c.line
		got := h.Sight(c.view)
		question := ""
		if got.Question != nil {
			question = got.Question.Kind
		}
		wantPrompt := c.question == "" && c.rest != none
		if got.Prompt != wantPrompt || question != c.question || got.Rest != c.rest {
			t.Errorf("Sight of %q is a prompt: %v, a question: %q, after %v; want %v, %q, %v",
				c.line, got.Prompt, question, got.Rest, wantPrompt, c.question, c.rest)
		}
	}
}

// The prompt at which a line was entered is not the prompt that comes after it.
func TestSightAfterInput(t *testing.T) {
	h := NewHistory()
	h.Touch(Input{Line: "$ ", End: 2, Text: []byte("ls\r")})
	for _, c := range []struct {
		view View
		want bool
	}{
		{View{Line: "$ ", End: 2}, false},
		{View{Line: "$ ls", End: 4}, false},
		{View{Line: "$ ", End: 10}, true},
	} {
		if got := h.Sight(c.view); got.Prompt != c.want {
			t.Errorf("Sight of %q at %d after a line was entered at 2: %+v, want a prompt: %v", c.view.Line, c.view.End, got, c.want)
		}
	}
	h.Touch(Input{Line: "$ ", End: 10, Text: []byte("echo '")})
	if got := h.Sight(View{Line: "$ echo '", End: 16}); got != (Sight{}) {
		t.Errorf("Sight of a half-typed line: %+v, want nothing", got)
	}
	if got := h.Sight(View{Line: "$ cat >", End: 16}); got != (Sight{}) {
		t.Errorf("Sight of a half-typed line that ends like a prompt: %+v, want nothing", got)
	}
	h.Touch(Input{Line: "$ ", End: 16, Text: []byte("\x15echo '\r")})
	if got := h.Sight(View{Line: "> ", End: 20, Shell: shell.Shell{Class: shell.Posix}}); got.Question == nil || got.Question.Kind != Continuation {
		t.Errorf("Sight of an unfinished command's rest: %+v, want the question %s", got, Continuation)
	}
	if got := h.Sight(View{Line: "$ ", End: 20}); !got.Prompt {
		t.Errorf("Sight of the first prompt: %+v, want a prompt", got)
	}
}
