package marker

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"ptyctl/session/shell"
)

// maxTypedLine is the longest line that is typed for an exec. A terminal in canonical mode takes 4,095 bytes and
// silently drops the rest (termios(3), MAX_CANON), and the shell would run the truncated line.
const maxTypedLine = 4000

// maxEditedLine is the same for busybox: its line editor takes 1,023 bytes (FEATURE_EDITING_MAX_LEN).
const maxEditedLine = 1000

// LineLimit returns the longest line that may be typed.
func LineLimit(sh shell.Shell) int {
	if sh.Name == "ash" || sh.Name == "busybox" {
		return maxEditedLine
	}
	return maxTypedLine
}

// Line returns the line to type for a command, without the line end: a start marker, the command, and its exit status
// between end markers. Everything is on one line, so that a command that reads its input does not swallow the markers;
// the leading blank keeps it out of histories that ignore such lines.
//
// The control characters of the markers are printed, never typed: the line holds their octal form, so its echo can
// never pass for a marker. The command itself travels in octal, too, where a line editor or a shell would touch it:
// quotes, backslashes, tabs, line ends, "!".
func (m Marker) Line(sh shell.Shell, command string) string {
	end := m.printfArgument()
	switch sh.Class {
	case shell.Fish:
		return fmt.Sprintf(
			` printf '\036S=%%s\037\n' %s; eval (printf '%s' | string collect -N); printf '%s' %s`,
			m.nonce,
			printfOctal(command),
			end,
			m.statusArguments("$status"),
		)
	case shell.Csh:
		return fmt.Sprintf(
			" printf '\\036S=%%s\\037\\n' %s; eval \"`printf '%s'`\"; printf '%s' %s",
			m.nonce,
			printfOctal(command),
			end,
			m.statusArguments("$status"),
		)
	case shell.PowerShell:
		return powershellLine(m, command)
	case shell.Cmd:
		return cmdLine(m, command)
	default:
		return fmt.Sprintf(
			` printf '\036S=%%s\037\n' %s; %s "$(printf '%s')"; printf '%s' %s`,
			m.nonce,
			evalWord(sh.Name),
			printfOctal(command),
			end,
			m.statusArguments("$?"),
		)
	}
}

// evalWord is how a POSIX shell is made to survive a syntax error in the command: in some, eval is a special
// built-in, an error in which ends the whole line (POSIX.1-2017, 2.8.1); "command" takes that property away. In
// zsh, "command" would look for a program.
func evalWord(shell string) string {
	switch shell {
	case "sh", "dash", "ash", "busybox", "mksh", "lksh", "pdksh", "oksh", "ksh", "yash":
		return "command eval"
	}
	return "eval"
}

// printfOctal writes text as a format for printf(1), in characters that no line editor, shell or history
// mechanism touches between single quotes. It never begins like an option.
func printfOctal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '%':
			b.WriteString("%%")
		case c >= 'a' && c <= 'z',
			c >= 'A' && c <= 'Z',
			c >= '0' && c <= '9',
			i > 0 && (c == ' ' || c == '-'),
			strings.IndexByte("/.,:;=+_@()<>|&", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// powershellLine is Line for PowerShell. The status is that of the last native program, or 0 and 1 for the
// success of anything else. It follows Microsoft's documentation (about_Automatic_Variables, about_Quoting_Rules)
// and was never tried on a real PowerShell.
func powershellLine(m Marker, command string) string {
	line := fmt.Sprintf(
		`"$([char]30)S=%s$([char]31)"; $LASTEXITCODE=$null; Invoke-Expression (%s); $r=%s; "%s$r%s"`,
		"$('"+m.nonce+"')",
		psQuoted(command),
		psStatus,
		psChars(m.prefix),
		psChars(m.suffix),
	)
	if m.ascii {
		line += fmt.Sprintf(`; "PTYCTL_RC_$('%s')=${r}:END_$('%s')"`, m.nonce, m.nonce)
	}
	return line
}

// psQuoted is text as an expression of printable ASCII: a tab would be completed, a line end would enter the line,
// and PowerShell takes typographic quotes for quotes.
func psQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range utf16.Encode([]rune(text)) {
		switch {
		case c == '\'':
			b.WriteString("''")
		case c >= ' ' && c <= '~':
			b.WriteByte(byte(c))
		default:
			fmt.Fprintf(&b, "'+[char]%d+'", c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// psChars is text inside a string between double quotes, in no character that the echo could show as itself.
func psChars(text string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, "$([char]%d)", c)
	}
	return b.String()
}
