package pty

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ptyctl/session"
)

// A view holds the facts about a session that the tools show.
type view struct {
	id, title, command, workdir string

	pid     int
	status  status
	exit    *int // nil: the program still runs, or a signal ended it
	lines   int
	created time.Time
}

// view returns the facts about the terminal at the time of i. Callers other than the one
// that chose the title, command and folder may see them, so view makes them safe to
// print.
func (t *terminal) view(i session.Info) view {
	v := view{id: i.ID, status: t.status(i.State), lines: i.Buffer.Lines, created: i.Created}
	if p := i.About.Process; p != nil {
		v.pid, v.workdir, v.command, v.title = p.PID, visible(
			p.Dir,
		), visible(
			strings.Join(p.Argv, " "),
		), visible(
			p.Title,
		)
	}
	if v.title == "" {
		v.title = v.command
	}
	if exit := i.End.ProgramExit(); v.status == exited && exit.Known {
		v.exit = &exit.Code
	}
	return v
}

// isoTime is the format of Date.toISOString in JavaScript (ECMA-262 section 21.4.1.32).
const isoTime = "2006-01-02T15:04:05.000Z"

// entry returns the session's entry in the list.
func (v view) entry() string {
	exit := ""
	if v.exit != nil {
		exit = fmt.Sprintf(" (exit: %d)", *v.exit)
	}
	return fmt.Sprintf("[%s] %s%s\n  Command: %s\n  Status: %s\n  PID: %d | Lines: %d | Workdir: %s\n  Created: %s\n",
		v.id, v.title, exit, v.command, v.status, v.pid, v.lines, v.workdir, v.created.UTC().Format(isoTime))
}

// element returns lines as the content of an XML-like element. The name may carry
// attributes, for example `pty_output id="pty_a1b2c3d4"`; the end tag has the first word
// alone.
func element(name string, lines ...string) string {
	open := name
	name, _, _ = strings.Cut(name, " ")
	return "<" + open + ">\n" + strings.Join(lines, "\n") + "\n</" + name + ">"
}

// visible replaces characters that are not printable by their escapes in Go and
// JavaScript. A title or command with a line end could otherwise imitate another
// session's entry.
func visible(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, odd) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut returns the first n characters of s, with "..." if there are more.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "..."
		}
		n--
	}
	return s
}
