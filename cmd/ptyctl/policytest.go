package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
)

func policyTestCommand() *cli.Command {
	return &cli.Command{
		Name: "test", Usage: "compare the rules with a file of commands and expected verdicts; the status is 1 if any differs",
		ArgsUsage:    "FILE",
		OnUsageError: wrongFlag, HideHelpCommand: true,
		Description: "Each line of FILE is a verdict, what it is about, and behind -- a command line as it is, without quotes of its own:\n\n" +
			"    allow -- systemctl status nginx\n" +
			"    deny --host db1 -- rm -rf /var/lib/mysql\n" +
			"    ask --type -- git push\n" +
			"    deny --host core1\n\n" +
			"The verdict is allow, deny, or ask, where the person at the client decides. The flags are those of policy check:\n" +
			"--host, --user, --port, --jump, --protocol, --cwd, --class and --type; with --argv, the words between blanks are given\n" +
			"one by one, and no shell reads them. Without a command, it is about opening the host. Empty lines and lines that begin with # are left\n" +
			"out. Each line that the rules judge in another way is printed with its place, the rule and the\n" +
			"reason. The status is 2 if a line cannot be read, or if there is none. With policy.mode = report the verdicts are\n" +
			"those of rules that are enforced.",
		Flags: []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 1, 1)
			if err != nil {
				return err
			}
			return testPolicy(c, words[0])
		},
	}
}

// An expectation is one line of a file for policy test.
type expectation struct {
	question
	line    int
	verdict string
}

func testPolicy(c *cli.Context, file string) error {
	cfg, err := policyConfig(c)
	if err != nil {
		return err
	}
	p, err := app.NewPolicy(cfg)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	list, err := readExpectations(f, file)
	if err != nil {
		return usageError{err}
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		if _, err := fmt.Fprintln(c.App.Writer, "NOT ENFORCED: "+app.NotEnforced); err != nil {
			return err
		}
	}
	differ := 0
	for _, e := range list {
		got := e.ask(c.Context, cfg, p)
		if got.verdict == e.verdict {
			continue
		}
		differ++
		why := "no rule is against it"
		if got.reason != nil {
			why = fmt.Sprintf("%s: %v", got.rule, got.reason)
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s:%d: expected %s, got %s: %s\n", file, e.line, e.verdict, got.verdict, tty.Printable(why)); err != nil {
			return err
		}
	}
	if differ > 0 {
		return fmt.Errorf("policy test: %d of %d verdicts differ", differ, len(list))
	}
	_, err = fmt.Fprintf(c.App.Writer, "ok: %s\n", tty.Count(len(list), "verdict"))
	return err
}

// maxExpectation is the longest line of a file for policy test.
const maxExpectation = 1 << 20

// readExpectations reads a whole file, and says all that is wrong with it.
func readExpectations(r io.Reader, file string) ([]expectation, error) {
	var list []expectation
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
		e.line = n
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
func parseExpectation(text string) (expectation, error) {
	e := expectation{question: question{protocol: "ssh", class: "posix"}}
	argv, port := false, ""
	head, command, hasCommand := cutCommand(text)
	words := strings.Fields(head)
	if len(words) > 0 {
		e.verdict = words[0]
	}
	switch e.verdict {
	case verdictAllow, verdictDeny, verdictAsk:
	default:
		return e, fmt.Errorf("the line begins with %q; begin it with allow, deny or ask", e.verdict)
	}
	values := map[string]*string{
		"--host": &e.host, "--user": &e.user, "--port": &port, "--jump": &e.jump, "--protocol": &e.protocol, "--cwd": &e.dir, "--class": &e.class,
	}
	for i := 1; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		to := values[name]
		switch {
		case words[i] == "--type":
			e.typed = true
			continue
		case words[i] == "--argv":
			argv = true
			continue
		case to == nil && !isFlag(name):
			return e, fmt.Errorf("%q is no flag; write the command behind --", words[i])
		case to == nil:
			return e, fmt.Errorf(
				"there is no flag %s; the flags are --host, --user, --port, --jump, --protocol, --cwd, --class, --argv and --type",
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
		e.port = int(n)
	}
	e.command = command
	switch {
	case hasCommand && command == "":
		return e, errors.New("there is no command behind --")
	case !hasCommand && e.host == "":
		return e, errors.New("it is about nothing; give a command behind --, or --host, or both")
	case !hasCommand && (e.typed || argv || e.dir != ""):
		return e, errors.New("--type, --argv and --cwd are about a command; give it behind --")
	case e.typed && argv:
		return e, errors.New("--type and --argv exclude each other: what is typed is a line")
	case argv:
		e.argv = strings.Fields(command)
	}
	return e, e.check()
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
