package vt

import "bytes"

// Marks has the marks that a shell sends around its prompts, those of FinalTerm (OSC 133) or of
// VS Code (OSC 633): A and B are before and behind a prompt, C before the output of a command,
// D behind it.
type Marks struct {
	Prompts  int  // prompts shown so far
	AtPrompt bool // the last mark was of a prompt
}

// maxMark is the most bytes kept of a mark.
const maxMark = 64

// Marks returns the marks of the shell so far; zero: it has sent no mark.
func (t *Tracker) Marks() Marks { return t.marks }

// osc reads a mark. A mark of a continuation line (k=s) does not count: no command begins there.
func (t *Tracker) osc(tok *Token) {
	if asksColor(tok.Data) {
		t.queries.Others++
		return
	}
	rest, ok := bytes.CutPrefix(tok.Data, []byte("133;"))
	if !ok {
		if rest, ok = bytes.CutPrefix(tok.Data, []byte("633;")); !ok {
			return
		}
	}
	if len(rest) == 0 || len(rest) > 1 && rest[1] != ';' {
		return
	}
	secondary := bytes.Contains(rest, []byte(";k=s")) || bytes.Contains(rest, []byte(";k=c"))
	switch rest[0] {
	case 'A', 'P':
		t.marks.AtPrompt, t.more = !secondary, secondary
		if !secondary {
			t.marks.Prompts++
		}
	case 'B':
		if t.marks.Prompts == 0 && !t.more { // a shell that marks the end of its prompts alone
			t.marks.Prompts, t.marks.AtPrompt = 1, true
		}
	case 'C', 'D':
		t.marks.AtPrompt = false
	}
}
