package lane

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"ptyctl/session/marker"
	"ptyctl/session/paced"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// A Request is a command to run in the terminal.
type Request struct {
	Command    string      // a line for the far side; or several, for Pace, a device, or with a marker
	WrittenFor shell.Class // the class that Command is written for; empty: as the caller gave it
	JudgedFor  shell.Class // the class for which the Gate has judged Command; empty: for any
	Asked      shell.Class // of the far side; empty: found out
	Expected   shell.Class // the class that the session expects; empty: none

	// Pace has the lines typed one by one, on any far side. The lane sets the parts that it finds by looking itself; and the
	// mode, if that is empty. Nil: they are if a device reads them.
	Pace   *paced.Options
	Errors []*regexp.Regexp // answers of the far side that refuse a line

	Prompt   *regexp.Regexp   // of the far side; nil: not known
	Pagers   []*regexp.Regexp // the prompts of pagers
	AutoPage *AutoPage        // nil: no page is turned

	NoMarker                   bool          // do not ask for the exit status
	MarkerPrefix, MarkerSuffix string        // in place of the default marker; both or none
	Idle                       time.Duration // silence that ends a wait without marker; 0: 2 s, or off with Prompt
	QuietLine                  time.Duration // after which an unfinished line is stalled; 0: DefaultQuietLine
	Timeout                    time.Duration // the command's deadline
	Wait                       time.Duration // how long the call waits
	Queue                      bool          // wait for the commands before this one, instead of Busy

	Actor term.Actor // who runs it
	Epoch uint64     // of the lock when it was permitted
}

// turnsPages reports whether r lets pages be turned.
func (r *Request) turnsPages() bool {
	return r.AutoPage != nil && r.AutoPage.Max > 0 && len(r.Pagers) > 0
}

// line returns the line to type for the command.
func (c *Command) line() (string, error) {
	refused := func(kind term.Kind, format string, args ...any) (string, error) {
		return "", &term.Error{Op: "exec", Session: c.l.session, Kind: kind, Msg: fmt.Sprintf(format, args...)}
	}
	r, class := c.r, c.sh.Class
	c.scan = nil
	if bad := marker.Check(r.MarkerPrefix, r.MarkerSuffix); bad != "" {
		return refused(term.InvalidArgument, "%s", bad)
	}
	marked := class.TakesMarker() && !r.NoMarker
	custom := marked && r.MarkerPrefix != ""
	if r.paces(class) {
		return "", c.cutLines()
	}
	line := strings.TrimRight(r.Command, "\r\n")
	lines := strings.ContainsAny(line, "\r\n")
	switch {
	case !marked && lines:
		return refused(
			term.Unsupported,
			"this terminal's far side is of class %s, which takes one line at a time; run the lines one by one",
			class,
		)
	case lines && (class == shell.Csh || class == shell.Cmd):
		return refused(
			term.Unsupported,
			"a command of several lines cannot be run in %s; join them with ;%s",
			class,
			c.l.beside(", or use the channel lane"),
		)
	case !marked && r.WrittenFor != "" && strings.ContainsFunc(line, func(c rune) bool { return c > '~' }):
		return refused(
			term.Unsupported,
			"the command holds characters beyond ASCII, which a line editor may take for keys; "+
				"leave them out, or run it with the exit code marker",
		)
	case (!marked || class == shell.Cmd) && strings.ContainsFunc(line, isUnseen):
		return refused(
			term.InvalidArgument,
			"the command holds a character that cannot be seen, which a line editor here would take for a key, "+
				"or drop; "+
				"leave it out",
		)
	case marked && class == shell.Cmd && marker.CmdProblem(line) != "":
		return refused(
			term.InvalidArgument,
			"cmd.exe would not come to the end of this command's line: %s; nothing was typed",
			marker.CmdProblem(line),
		)
	case custom && class == shell.Cmd:
		return "", &term.Error{
			Op: "exec", Session: c.l.session, Kind: term.Unsupported, Reason: term.ReasonCustomMarker,
			Msg: "cmd.exe cannot print a custom marker", Advice: "leave ExecRequest.MarkerPrefix and " +
				"MarkerSuffix empty",
		}
	}
	if marked {
		m := marker.New(r.MarkerPrefix, r.MarkerSuffix)
		c.scan = marker.NewScanner(m)
		c.scan.Runs(line)
		line = m.Line(c.sh, line)
	}
	if limit := marker.LineLimit(c.sh); len(line) > limit {
		return refused(
			term.InvalidArgument,
			"the command makes a line of %d bytes; this terminal may cut lines beyond %d, and what is left would run: "+
				"%sput the command into a file and run that",
			len(line),
			limit,
			c.l.beside("use the channel lane, or "),
		)
	}
	return line, nil
}

// isUnseen reports whether a line editor may do something else with a character than to insert it.
func isUnseen(r rune) bool { return !unicode.IsPrint(r) }
