package sshconfig

import (
	"errors"
	"strings"
)

// blanks are the characters between the words of a line.
const blanks = " \t\r\n"

// errQuotes is the error of splitArgs.
var errQuotes = errors.New("a quote is not closed: the line was skipped")

// splitLine separates the keyword of a configuration line from its arguments: blanks, at most
// one "=", blanks. The keyword is empty for a blank line and for a comment. The keyword may
// be quoted.
func splitLine(line string) (keyword, rest string) {
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	// A form feed counts as a blank only at the end of a line.
	line = strings.TrimRight(line, blanks+"\f")
	line = strings.TrimLeft(line, blanks)
	if line == "" || line[0] == '#' {
		return "", ""
	}
	// ssh(1) accepts "Keyword value", "Keyword=value" and "Keyword = value".
	i := strings.IndexAny(line, blanks+`"=`)
	if i < 0 {
		return line, ""
	}
	if line[i] == '"' {
		inside, after, closed := strings.Cut(line[i+1:], `"`)
		if !closed {
			return line[:i] + inside, ""
		}
		return line[:i] + inside, strings.TrimLeft(after, blanks)
	}
	keyword, rest = line[:i], strings.TrimLeft(line[i+1:], blanks)
	if line[i] != '=' && strings.HasPrefix(rest, "=") {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return keyword, rest
}

// splitArgs splits s at blanks. Single and double quotes group, a backslash escapes a quote,
// a backslash and, outside quotes, a space. A "#" at the start of an argument begins a
// comment.
func splitArgs(s string) ([]string, error) {
	var args []string
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || s[i] == '\t' {
			continue
		}
		if s[i] == '#' {
			break
		}
		var arg strings.Builder
		var quote byte
	argument:
		for ; i < len(s); i++ {
			c := s[i]
			switch {
			case c == '\\' && i+1 < len(s) && isEscaped(s[i+1], quote):
				i++
				arg.WriteByte(s[i])
			case quote == 0 && (c == ' ' || c == '\t'):
				break argument
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			default:
				arg.WriteByte(c)
			}
		}
		if quote != 0 {
			return nil, errQuotes
		}
		args = append(args, arg.String())
	}
	return args, nil
}

// isEscaped reports whether a backslash before c escapes it, inside quote or, for 0, outside
// quotes.
func isEscaped(c, quote byte) bool {
	return c == '"' || c == '\'' || c == '\\' || c == ' ' && quote == 0
}

// Quote returns s as one argument of a configuration line, for Override.Value.
func Quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\"'\\#=") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
