package policycheck

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// An Expectation is one line of a file: a query and the expected verdict.
type Expectation struct {
	Query
	Line    int
	Verdict string
}

// maxExpectation is the longest line of a file, in bytes.
const maxExpectation = 1 << 20

// ReadExpectations reads a whole file. The error says all that is wrong with it; file is its name there.
func ReadExpectations(r io.Reader, file string) ([]Expectation, error) {
	var list []Expectation
	var wrong []error
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxExpectation)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		e, err := parseExpectation(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", file, n, err))
			continue
		}
		e.Line = n
		list = append(list, e)
	}
	if err := lines.Err(); err != nil {
		wrong = append(wrong, fmt.Errorf("%s:%d: %w", file, n+1, err))
	}
	if len(list) == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("%s has no line to test; write some, such as: deny -- rm -rf /", file))
	}
	return list, errors.Join(wrong...)
}

// parseExpectation reads a line that is not empty.
func parseExpectation(text string) (Expectation, error) {
	e := Expectation{Query: Query{Protocol: "ssh", Class: "posix"}}
	argv, port := false, ""
	head, command, hasCommand := cutCommand(text)
	words := strings.Fields(head)
	if len(words) > 0 {
		e.Verdict = words[0]
	}
	switch e.Verdict {
	case Allow, Deny, Ask:
	default:
		return e, fmt.Errorf("the line begins with %q; begin it with allow, deny or ask", e.Verdict)
	}
	values := map[string]*string{
		"--host": &e.Host, "--user": &e.User, "--port": &port, "--jump": &e.Jump, "--protocol": &e.Protocol,
		"--cwd": &e.Dir, "--class": &e.Class,
	}
	for i := 1; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		to := values[name]
		switch {
		case words[i] == "--type":
			e.Typed = true
			continue
		case words[i] == "--argv":
			argv = true
			continue
		case to == nil && !isFlag(name):
			return e, fmt.Errorf("%q is no flag; write the command behind --", words[i])
		case to == nil:
			return e, fmt.Errorf(
				"there is no flag %s; the flags are --host, --user, --port, --jump, --protocol, --cwd, --class, "+
					"--argv and --type",
				name,
			)
		case !given && i+1 < len(words):
			i++
			value = words[i]
		}
		if value == "" || isFlag(value) {
			return e, fmt.Errorf("the flag %s has no value", name)
		}
		*to = value
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("--port is %q; give a number from 1 to 65535", port)
		}
		e.Port = int(n)
	}
	e.Command = command
	switch {
	case hasCommand && command == "":
		return e, errors.New("there is no command behind --")
	case !hasCommand && e.Host == "":
		return e, errors.New("it is about nothing; give a command behind --, or --host, or both")
	case !hasCommand && (e.Typed || argv || e.Dir != ""):
		return e, errors.New("--type, --argv and --cwd are about a command; give it behind --")
	case e.Typed && argv:
		return e, errors.New("--type and --argv exclude each other: what is typed is a line")
	case argv:
		e.Argv = strings.Fields(command)
	}
	return e, e.Check()
}

// cutCommand cuts a line at the first word --.
func cutCommand(text string) (head, command string, found bool) {
	for i := 0; ; {
		at := strings.Index(text[i:], "--")
		if at < 0 {
			return text, "", false
		}
		at += i
		before := at == 0 || text[at-1] == ' ' || text[at-1] == '\t'
		rest := text[at+2:]
		if before && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			return text[:at], strings.TrimSpace(rest), true
		}
		i = at + 2
	}
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }
