package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arguments returns the positional arguments of a command, of which there must be least to most. The flag library reads
// no flag after the first of them, so one that stands there is refused, with the right order.
func arguments(c *cli.Context, least, most int) ([]string, error) {
	args := c.Args().Slice()
	if i := slices.IndexFunc(args, func(a string) bool { return len(a) > 1 && a[0] == '-' }); i >= 0 {
		return nil, misplaced(c, args, i)
	}
	usage := strings.TrimSpace(c.Command.HelpName + " [flags] " + c.Command.ArgsUsage)
	switch {
	case len(args) < least:
		return nil, usageError{fmt.Errorf("an argument is missing; call it as %s", usage)}
	case len(args) > most:
		return nil, usageError{fmt.Errorf("%s is too much; call it as %s", shellWord(args[most]), usage)}
	}
	return args, nil
}

// misplaced says that args[i] is a flag behind an argument, and shows the call as it should be: the flag, with the
// words behind it, before the arguments.
func misplaced(c *cli.Context, args []string, i int) error {
	var words []string
	for _, a := range slices.Concat(args[i:], args[:i]) {
		words = append(words, shellWord(a))
	}
	return usageError{fmt.Errorf("flags go before the arguments: %s %s", c.Command.HelpName, strings.Join(words, " "))}
}

// shellWord is a word as one types it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r == '/' || r == ':' || r == '@' || r == '=' || r == ',' || r == '%' || r == '+' ||
			'0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(printable(s), "'", `'\''`) + "'"
}
