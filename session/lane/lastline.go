package lane

import (
	"bytes"
	"strings"

	"ptyctl/screen"
	"ptyctl/session/scene"
	"ptyctl/term"
	"ptyctl/vt"
)

// LastLine returns the unfinished last line as a person sees it, without a right prompt and without the rest of an
// unread answer to a query. It is the line above the cursor if a shell left its prompt there for want of room.
func (l *Lane) LastLine() string {
	line, _ := l.lastLine()
	return l.history.Bare(line)
}

// lastLine is LastLine, and reports whether the line is above the cursor.
func (l *Lane) lastLine() (line string, above bool) {
	data := l.tail()
	var c vt.Cleaner
	finished := c.Append(nil, data)
	text, at := c.Line()
	left, right := text[:at], text[at:]
	if now := l.drawn(data); now != nil {
		// Where the two agree up to the cursor, the rest was drawn by the line itself, and is not something that was
		// there before, such as a clock.
		l, r, ok := scene.Line(now)
		if ok && strings.TrimRight(l, " ") != strings.TrimRight(left, " ") {
			left, right = l, r
			if strings.TrimSpace(l+r) == "" {
				left, right = "", ""
			}
		}
	}
	if left+right == "" {
		line = promptAbove(string(finished), l.t.Cols())
		return line, line != ""
	}
	if isRightPrompt(left, right, l.t.Cols()) {
		return left, false
	}
	return left + right, false
}

// masked returns w as callers may see it: a program may show a secret long after it was typed, where the output still
// has it.
func (l *Lane) masked(w *term.Waiting) *term.Waiting {
	if w == nil {
		return nil
	}
	masked := *w
	masked.Text = l.t.Mask(w.Text)
	return &masked
}

// tail returns the end of the output of this connection.
func (l *Lane) tail() []byte {
	end := l.out.Stat().End
	return l.out.At(max(end-lineBack, l.out.Begin(end)), lineBack).Data
}

// drawn returns the screen if data, the end of the output, is not enough to know the line at the cursor; nil: it is, or
// the screen is not known. To draw the screen is dear, and most shells only write on.
func (l *Lane) drawn(data []byte) *screen.Snapshot {
	if !l.t.Modes().AltScreen && !jumps(data) {
		return nil
	}
	return l.t.Screen()
}

// Asks returns the question of a full-screen program, as far as its screen shows it; nil: none has the terminal. On
// the main screen only a dialog distinguishes such a program from a shell.
func (l *Lane) Asks() *term.Waiting {
	now := l.drawn(l.tail())
	switch {
	case now == nil:
		return nil
	case now.AltScreen:
		return scene.Asks(now)
	}
	return scene.Dialog(now)
}

// jumps reports whether output moves the cursor to another row, or rows to another place, by other means than line ends.
// A false alarm costs a look at the screen.
func jumps(p []byte) bool {
	for {
		i := bytes.IndexByte(p, 0x1b)
		if i < 0 || i+1 == len(p) {
			return false
		}
		c := p[i+1]
		p = p[i+2:]
		switch c {
		case '7', '8', 'D', 'E', 'M', 'c': // DECSC, DECRC, IND, NEL, RI, RIS
			return true
		case '[':
		default:
			continue
		}
		n := 0
		for n < len(p) && p[n] >= ' ' && p[n] < '@' {
			n++
		}
		// CUU, CUD, CNL, CPL, CUP, HVP, VPA, VPR; IL, DL, SU, SD, DECSTBM; SCOSC, SCORC.
		if n < len(p) && strings.IndexByte("ABEFHfdeLMSTrsu", p[n]) >= 0 {
			return true
		}
		p = p[n:]
	}
}
