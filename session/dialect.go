package session

import (
	"fmt"
	"strings"
)

// maxTypedLine is the longest line that is typed for an exec. A terminal in canonical mode takes 4,095 bytes and
// silently drops the rest (termios(3), MAX_CANON), and the shell would run what is left.
const maxTypedLine = 4000

// typedLine is what is typed for a command, without the line end: a start marker, the command, and its exit
// status between end markers. Everything is on one line, so that a command that reads its input does not
// swallow the markers; the leading blank keeps it out of histories that are set up so.
//
// The control characters of the markers are printed, never typed: what is typed holds their octal form, so the
// echo of the line can never pass for a marker. The command itself travels in octal, too, where a line editor or
// a shell would touch it: quotes, backslashes, tabs, line ends, "!".
func typedLine(sh shell, m marker, command string) string {
	end := m.printfArgument()
	switch sh.class {
	case ClassFish:
		return fmt.Sprintf(` printf '\036S=%%s\037\n' %s; eval (printf '%s' | string collect -N); printf '%s' %s`, m.nonce, printfOctal(command), end, m.statusArguments("$status"))
	case ClassCsh:
		return fmt.Sprintf(" printf '\\036S=%%s\\037\\n' %s; eval \"`printf '%s'`\"; printf '%s' %s", m.nonce, printfOctal(command), end, m.statusArguments("$status"))
	case ClassPowerShell:
		return powershellLine(m, command)
	case ClassCmd:
		return cmdLine(m, command)
	default:
		return fmt.Sprintf(` printf '\036S=%%s\037\n' %s; %s "$(printf '%s')"; printf '%s' %s`, m.nonce, evalWord(sh.name), printfOctal(command), end, m.statusArguments("$?"))
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
// mechanism touches between single quotes.
func printfOctal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '%':
			b.WriteString("%%")
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ' ' && b.Len() > 0, strings.IndexByte("/.,:;=+-_@()<>|&", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// powershellLine is typedLine for PowerShell. The status is that of the last native program, or 0 and 1 for the
// success of anything else.
func powershellLine(m marker, command string) string {
	quoted := strings.ReplaceAll(command, "'", "''")
	status := `$(if($?){if($LASTEXITCODE -ne $null){$LASTEXITCODE}else{0}}else{if($LASTEXITCODE){$LASTEXITCODE}else{1}})`
	prefix, suffix := psOctal(m.prefix), psOctal(m.suffix)
	line := fmt.Sprintf(`"$([char]30)S=%s$([char]31)"; $LASTEXITCODE=$null; Invoke-Expression '%s'; $r=%s; "%s$r%s"`, "$('"+m.nonce+"')", quoted, status, prefix, suffix)
	if m.ascii {
		line += fmt.Sprintf(`; "PTYCTL_RC_$('%s')=${r}:END_$('%s')"`, m.nonce, m.nonce)
	}
	return line
}

func psOctal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "$([char]%d)", s[i])
	}
	return b.String()
}

// cmdLine is typedLine for cmd.exe, which prints no control characters: only the ASCII marker is there. The
// caret keeps the echo apart from what is printed.
func cmdLine(m marker, command string) string {
	return fmt.Sprintf(`echo S^=%s& %s& call echo PTYCTL_RC_%s^=%%^errorlevel%%:END_%s`, m.nonce, command, m.nonce, m.nonce)
}
