package pty

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ptyctl/session"
)

// A view is what the tools show of a session.
type view struct {
	id, title, command, workdir string

	pid     int
	status  status
	exit    *int // status with which the program exited; nil: it has not, or was killed
	lines   int
	created time.Time
}

// view describes the terminal as i has it.
func (t *terminal) view(i session.Info) view {
	v := view{id: i.ID, status: t.status(i.State), lines: i.Buffer.Lines, created: i.Created}
	if p := i.About.Process; p != nil {
		v.pid, v.workdir, v.command, v.title = p.PID, visible(p.Dir), visible(strings.Join(p.Argv, " ")), visible(p.Title)
	}
	if v.title == "" {
		v.title = v.command
	}
	if v.status == exited && i.End.Exit.Known {
		v.exit = &i.End.Exit.Code
	}
	return v
}

// isoTime is the form of Date.toISOString in JavaScript (ECMA-262 section 21.4.1.32).
const isoTime = "2006-01-02T15:04:05.000Z"

// entry is the session's in the list.
func (v view) entry() string {
	exit := ""
	if v.exit != nil {
		exit = fmt.Sprintf(" (exit: %d)", *v.exit)
	}
	return fmt.Sprintf("[%s] %s%s\n  Command: %s\n  Status: %s\n  PID: %d | Lines: %d | Workdir: %s\n  Created: %s\n",
		v.id, v.title, exit, v.command, v.status, v.pid, v.lines, v.workdir, v.created.UTC().Format(isoTime))
}

// element sets lines between the tags of an element.
func element(name string, lines ...string) string {
	open := name
	name, _, _ = strings.Cut(name, " ")
	return "<" + open + ">\n" + strings.Join(lines, "\n") + "\n</" + name + ">"
}

// visible spells what would not be seen, or would look like another line, as an escape of Go and JavaScript. Titles and
// commands are shown to other callers than those who gave them.
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

// cut returns the first n characters of s, and marks that there were more.
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
