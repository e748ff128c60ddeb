package r2

import (
	"fmt"
	"strings"
)

// mostLine is the longest command in bytes. The system keeps so much for a program that does not read.
const mostLine = 16 << 10

// leaving are the parts of a command line that lead out of the program, and their effects.
var leaving = []struct{ text, does string }{
	{"#!", "runs a script in another language"},
	{"!", "runs a command of the system"},
	{"|", "passes the output to a command of the system"},
	{">", "writes the output to a file"},
	{"`", "runs the output of another command, which is not seen here"},
	{"$(", "runs the output of another command, which is not seen here"},
}

// check returns the error in a command, or "". shell says that the operator lets commands leave the program.
func check(cmd string, shell bool) string {
	switch i := strings.IndexAny(cmd, "\x00\r\n"); {
	case strings.TrimSpace(cmd) == "":
		return "cmd is empty: give one command, such as pdf @ main"
	case i >= 0:
		return fmt.Sprintf("cmd has %s at byte %d: a line is one command, so give each in a call of its own, or separate them with ;",
			map[byte]string{0: "a NUL", '\r': "a carriage return", '\n': "a line end"}[cmd[i]], i)
	case len(cmd) > mostLine:
		return fmt.Sprintf("cmd has %d bytes, and at most %d are taken", len(cmd), mostLine)
	case shell:
		return ""
	}
	for _, out := range leaving {
		if i := strings.Index(cmd, out.text); i >= 0 {
			return fmt.Sprintf("cmd has %q at byte %d, which %s; the operator allows that with toolsets.r2.shell = true",
				out.text, i, out.does)
		}
	}
	// Of the commands themselves, . runs the lines of a file, or the output of a command.
	for part := range strings.SplitSeq(cmd, ";") {
		if name := strings.TrimLeft(part, " \t\"0123456789"); strings.HasPrefix(name, ".") {
			return fmt.Sprintf("the command %q runs the lines of a file or of another command, which are not seen here; "+
				"the operator allows that with toolsets.r2.shell = true", shorten(strings.TrimSpace(part), 40))
		}
	}
	return ""
}

// checkFile returns the error in the name of the file to open, or "".
func checkFile(file string, shell bool) string {
	switch i := strings.IndexAny(file, "\x00\r\n"); {
	case i >= 0:
		return fmt.Sprintf("file has a NUL or a line end at byte %d", i)
	case strings.HasPrefix(file, "-"):
		return "file begins with -, which makes it an option: give ./ before it"
	case strings.Contains(file, "://") && !shell:
		return "file is an address, by which the program may start others or connect to hosts; the operator allows that " +
			"with toolsets.r2.shell = true"
	}
	return ""
}

// shorten cuts text to the given number of bytes.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
