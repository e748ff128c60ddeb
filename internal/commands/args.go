package commands

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/quote"
)

// arguments returns the words after a command's flags. There must be at least least and at most most of them; most < 0
// means any number. The flag library takes a flag after the first word for another word; arguments refuses it.
func arguments(c *cli.Context, least, most int) ([]string, error) {
	words := c.Args()
	switch {
	case most == 0 && len(words) > 0:
		return nil, usageError{
			fmt.Errorf("%s takes no argument %q; see %s --help", c.Command.HelpName, words[0], c.Command.HelpName),
		}
	case slices.ContainsFunc(words, isFlag):
		return nil, misplaced(c, words)
	case len(words) < least:
		return nil, usageError{
			fmt.Errorf("%s needs %s; see %s --help", c.Command.HelpName, c.Command.ArgsUsage, c.Command.HelpName),
		}
	case most >= 0 && len(words) > most:
		return nil, usageError{
			fmt.Errorf("%s does not take %q; the order is %s", c.Command.HelpName, words[most], usageLine(c)),
		}
	}
	return words, nil
}

// ordered returns the words of a command line as the flag library understands them: -n5 as -n 5, and those flags first
// that follow the arguments of their command. Words from -- on are left alone. So is the order of a line with an
// unknown flag, or of one that ends with the command of another program without a --. In front, --version and -V are the
// command version.
func ordered(app *cli.App, words []string) []string {
	if len(words) > 1 && (words[1] == "--version" || words[1] == "-V") {
		words = slices.Clone(words)
		words[1] = "version"
	}
	command, begin := commandOf(app, words)
	if command == nil || command.SkipFlagParsing {
		return words
	}
	words = unglued(command, words, begin)
	end := slices.Index(words, "--")
	if end < 0 {
		if end = len(words); endsWithCommand(command, words) {
			return words
		}
	}
	var flags, others []string
	for i := begin; i < end; i++ {
		if !isFlag(words[i]) {
			others = append(others, words[i])
			continue
		}
		f := flagNamed(command, words[i])
		if f == nil {
			return words
		}
		flags = append(flags, words[i])
		switch {
		case !f.TakesValue() || strings.Contains(words[i], "="):
		case i+1 < end:
			i++
			flags = append(flags, words[i])
		case end == len(words): // no other word is its value
			return slices.Concat(words[:begin], flags)
		}
	}
	return slices.Concat(words[:begin], flags, others, words[end:])
}

// commandOf returns the command that a line names, and the index of the first word after its name; nil: no command.
func commandOf(app *cli.App, words []string) (command *cli.Command, begin int) {
	commands := app.Commands
	for begin = 1; begin < len(words); begin++ {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(words[begin]) })
		if i < 0 {
			break
		}
		command, commands = commands[i], commands[i].Subcommands
	}
	return command, begin
}

// unglued returns the words of a command line with flags of one letter apart, and their values too: -fn5 is -f -n 5, as
// getopt(3) reads it.
func unglued(command *cli.Command, words []string, begin int) []string {
	others := endsWithCommand(command, words)
	apart := slices.Clone(words[:begin])
	for i := begin; i < len(words); i++ {
		f := flagNamed(command, words[i])
		switch {
		case words[i] == "--" || others && !isFlag(words[i]):
			return append(apart, words[i:]...)
		case f == nil && isFlag(words[i]):
			apart = append(apart, letters(command, words[i])...)
			continue
		}
		apart = append(apart, words[i])
		if f != nil && f.TakesValue() && !strings.Contains(words[i], "=") && i+1 < len(words) {
			i++
			apart = append(apart, words[i])
		}
	}
	return apart
}

// letters takes a word such as -fn5 apart. A word with an unknown letter stays whole.
func letters(command *cli.Command, word string) []string {
	var apart []string
	for rest := word[1:]; rest != ""; rest = rest[1:] {
		flag := "-" + rest[:1]
		f := flagNamed(command, flag)
		if f == nil {
			return []string{word}
		}
		apart = append(apart, flag)
		if f.TakesValue() {
			if rest = rest[1:]; rest != "" {
				apart = append(apart, rest)
			}
			break
		}
	}
	return apart
}

// endsWithCommand reports whether the end of a line is the command of another program, without a -- before it.
func endsWithCommand(command *cli.Command, words []string) bool {
	return strings.Contains(command.ArgsUsage, "--") && !slices.Contains(words, "--")
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// misplaced says that there are flags among the words behind a command's flags, and shows the call as it should be.
func misplaced(c *cli.Context, words []string) error {
	var flags, others []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" { // the words after -- belong to another program
			others = append(others, words[i:]...)
			break
		}
		if !isFlag(w) {
			others = append(others, w)
			continue
		}
		f := flagNamed(c.Command, w)
		if f == nil {
			return usageError{fmt.Errorf("%w; the order is %s", unknownFlag(c.Command, w), usageLine(c))}
		}
		flags = append(flags, w)
		if f.TakesValue() && !strings.Contains(w, "=") && i+1 < len(words) {
			i++
			flags = append(flags, words[i])
		}
	}
	given := c.Parent().Args().Tail() // of this command, as they were typed
	right := slices.Concat(given[:len(given)-c.NArg()], flags, others)
	return usageError{fmt.Errorf("flags go before the arguments: %s %s", c.Command.HelpName, quote.Show(right))}
}

// unknownFlag is the error about a flag that the command does not have. It names the one whose value has that name: -n
// LINES is often meant by --lines.
func unknownFlag(command *cli.Command, word string) error {
	name, _, _ := strings.Cut(word, "=")
	meant := strings.ToUpper(strings.TrimLeft(name, "-"))
	for _, f := range command.Flags {
		if _, value, ok := strings.Cut(f.GetUsage(), "`"); ok && f.TakesValue() && strings.HasPrefix(value, meant+"`") {
			flag := f.Names()[0]
			return fmt.Errorf("%s has no flag %s; it has %s %s", command.HelpName, name,
				strings.Repeat("-", min(len(flag), 2))+flag, meant)
		}
	}
	return fmt.Errorf("%s has no flag %s", command.HelpName, name)
}

// flagNamed returns the flag of a command that a word such as --name=value names, or nil.
func flagNamed(c *cli.Command, word string) cli.Flag {
	if c == nil {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func usageLine(c *cli.Context) string {
	return strings.TrimSpace(c.Command.HelpName + " [flags] " + c.Command.ArgsUsage)
}
