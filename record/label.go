package record

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"ptyctl/internal/scrub"
	"ptyctl/term"
	"ptyctl/vt"
)

const (
	maxLine  = 4 << 10 // bytes of a command's line
	maxLabel = 512     // bytes of a marker
	maxWho   = 64      // of the name of a caller's program or task
)

// labels makes markers.
type labels struct {
	command func(line string) string // the form in which a command's line may be kept
}

// line is a command's line as it may be kept.
func (l labels) line(e term.Event) string {
	if e.Command == "" {
		return ""
	}
	return clip(plain(l.command(e.Command)), maxLine)
}

// scrubbed is a command's line without text that looks like a secret.
func scrubbed(line string) string { return scrub.Text(plain(cut(line, 2*maxLine))) }

// of returns the marker of an event, or "" if it has none.
func (l labels) of(e term.Event) string {
	var b strings.Builder
	b.WriteString(string(e.Verb))
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	switch e.Verb {
	case term.VerbOutput, term.VerbExecOutput, term.VerbRead, term.VerbGone, term.VerbHeartbeat:
		return ""
	case term.VerbExec:
		add(" %s", cmp.Or(e.Exec, "-"))
		if e.Detail != "" {
			add(" (%s)", l.text(e.Detail))
		}
		add(": %s", clip(strings.Join(splitLines(l.line(e)), " "), 200))
	case term.VerbExecEnd:
		add(" %s: %s", e.Exec, ended(e))
	case term.VerbState:
		add(" %s", e.State)
		if e.Detail != "" {
			add(": %s", l.text(e.Detail))
		}
		if x := e.Exit; x != nil && x.Known && x.Signal == "" {
			add(", exit %d", x.Code)
		}
	case term.VerbWrite, term.VerbAnswer:
		if e.Detail != "" {
			add(" %s", l.text(e.Detail))
		}
		add(" %s bytes", grouped(int64(e.Size)))
		if e.Sensitive {
			b.WriteString(", sensitive")
		}
		if e.Step != nil {
			add(", step %d", *e.Step)
		}
	case term.VerbFileRead, term.VerbFileWrite:
		add(" %s, %s bytes", l.text(e.Path), grouped(int64(e.Size)))
		if e.Copy != "" {
			add(" (%s)", e.Copy)
		}
	default:
		if e.Detail != "" {
			add(" %s", l.text(e.Detail))
		}
		if e.Plan != nil {
			add(" %s", l.text(e.Plan.String()))
		}
		if e.Exec != "" {
			add(" %s", e.Exec)
		}
		if e.Command != "" {
			add(": %s", clip(strings.Join(splitLines(l.line(e)), " "), 200))
		}
	}
	if who := l.who(e.Actor); who != "" {
		b.WriteString(" by " + who)
	}
	switch {
	case e.Refused != nil:
		add(": refused, %s", term.KindOf(e.Refused))
	case e.Err != nil && e.Verb != term.VerbExecEnd:
		add(": failed, %s", term.KindOf(e.Err))
	}
	if e.Actor.Call != "" {
		add(" [%s]", clip(plain(e.Actor.Call), maxWho))
	}
	return clip(b.String(), maxLabel)
}

// text is a text of the session or its caller as it may be kept.
func (labels) text(s string) string {
	return clip(strings.Join(splitLines(scrub.Text(plain(cut(s, maxText)))), " "), maxLabel)
}

// who names a caller.
func (labels) who(a term.Actor) string {
	if a.Operator || a.Attachment != (term.Attachment{}) {
		return "a person"
	}
	name := clip(plain(cmp.Or(a.Client, a.Token, a.Transport)), maxWho)
	if a.Task != "" {
		name += "/" + clip(plain(a.Task), maxWho)
	}
	return name
}

// plain returns text without sequences and controls, for a person.
func plain(text string) string {
	clean, _ := vt.CleanFrom(nil, []byte(text))
	return strings.ReplaceAll(string(clean), "\t", " ")
}

// splitLines returns the lines of text, without empty ones.
func splitLines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

// cut cuts s to n bytes, before a word: a part of a secret may not look like one.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	return strings.ToValidUTF8(s[:strings.LastIndexAny(s, " \t\r\n")+1], "") + "..."
}

// clip cuts s to n bytes. There must be no secret in it any more.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// sizeText is a size as asciicast has it.
func sizeText(cols, rows int) string { return strconv.Itoa(cols) + "x" + strconv.Itoa(rows) }

// sizeOf reads a size from the front of text.
func sizeOf(text string) (cols, rows int, ok bool) {
	n, err := fmt.Sscanf(text, "%dx%d", &cols, &rows)
	return cols, rows, n == 2 && err == nil && cols > 0 && rows > 0
}
