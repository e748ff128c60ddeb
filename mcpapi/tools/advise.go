package tools

import (
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// advise warns about a command when its caller may misread the result: if it changed only a shell that has ended, or
// failed because it has no terminal.
func advise(c *toolset.Call, in *execArgs, res session.ExecResult, about term.Description) {
	if !res.Exit.Known || res.Lane != session.LaneChannel {
		return
	}
	switch word := changesShell(in.Cmd); {
	case res.Exit.Code == 0 && word != "":
		text := word + " had no lasting effect: in lane channel each command has a shell of its own; " +
			"give cwd or env with the commands that need it, or join them with &&"
		if about.PTY {
			text += ", or use lane terminal, whose shell keeps it"
		}
		c.Warn(text)
	case res.Exit.Code != 0 && in.Stdin == "" && wantsTerminal(res):
		c.Warn("the command needs a terminal, and " + toTerminal(about))
	}
}

// toTerminal says how a command of a session that about describes gets a terminal.
func toTerminal(about term.Description) string {
	switch {
	case about.PTY:
		return "has none in lane channel; run it with lane terminal, and answer what it asks (waiting_for) with " +
			"ptyctl_session_io write"
	case about.NoTerminal == "" || about.NoTerminal == term.OpenedForCommands:
		return "this session has none; open one that has (no session_type exec), and run it there with lane terminal"
	default:
		return "this account gives none (" + about.NoTerminal + "); use the form of the command that needs none " +
			"(for example sudo -n), or ask the host's operator"
	}
}

// noTerminal has the words with which programs say that they need a terminal.
var noTerminal = lazyregexp.New(`(?i)a terminal is required|must be run from a terminal|must have a tty|` +
	`no tty present|not a tty\b|not a terminal|connected to a terminal|pseudo-terminal will not be allocated|` +
	`failed tty get|error opening terminal|TERM environment variable not set|no value for \$TERM|/dev/tty'?:|` +
	`authentication token manipulation error`)

// wantsTerminal reports whether the end of a command's output says that it needs a terminal.
func wantsTerminal(res session.ExecResult) bool {
	const last = 4 << 10
	for _, stream := range []session.Output{res.Stderr, res.Stdout} {
		text := stream.Bytes()
		if noTerminal.Match(text[max(0, len(text)-last):]) {
			return true
		}
	}
	return false
}

// shellWords are commands that change only the shell that runs them. Those with false change it only with an operand:
// without one they print.
var shellWords = map[string]bool{
	"cd": true, "pushd": true, "popd": true, "export": false, "source": false, ".": false, "alias": false, "set": false,
	"umask": false, "ulimit": false, "unset": false, "unalias": false, "setenv": false, "shopt": false, "setopt": false,
}

// assignment is a variable that is set without a command.
var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// changesShell returns the first word of a line if all its commands change only the shell that runs them, or "".
func changesShell(line string) string {
	first := ""
	for _, command := range commands(line) {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		alone, known := shellWords[words[0]]
		operands := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w[0] == '-' })
		switch {
		case assignment.MatchString(words[0]) &&
			!slices.ContainsFunc(words, func(w string) bool { return !assignment.MatchString(w) }):
		case !known:
			return ""
		case words[0] == "set" && len(words) > 1 && words[1] != "-o":
		case !alone && len(operands) == 0, strings.ContainsAny(command, "|<>`("):
			return ""
		}
		if first == "" {
			first = words[0]
		}
	}
	return first
}

// commands splits a line at ;, && and line ends outside quotes.
func commands(line string) (list []string) {
	quote, begin := rune(0), 0
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ';' || r == '\n' || r == '&':
			list, begin = append(list, line[begin:i]), i+1
		}
	}
	return append(list, line[begin:])
}

// inMilliseconds warns about a timeout that has passed and that the caller may have given in seconds.
func inMilliseconds(c *toolset.Call, field string, ms int64, over bool) {
	if text := toolset.InMilliseconds(field, ms); over && text != "" {
		c.Warn(text)
	}
}
