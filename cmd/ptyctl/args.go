package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arguments returns what follows a command's flags: from least to most words (most < 0: any number), and, if the
// command's ArgsUsage has a "--", what stands behind that, which nobody has looked at. Commands must ask for their
// arguments here: the flag library reads no flag behind the first argument, and takes it for one more argument.
func arguments(c *cli.Context, least, most int) (words, rest []string, err error) {
	words = c.Args().Slice()
	if most == 0 && len(words) > 0 {
		return nil, nil, usageError{fmt.Errorf("%s takes no argument %q; see %s --help", c.Command.HelpName, words[0], c.Command.HelpName)}
	}
	if i := slices.Index(words, "--"); i >= 0 && strings.Contains(c.Command.ArgsUsage, "--") {
		words, rest = words[:i], words[i+1:]
	}
	var flags, others []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			others = append(others, w)
			continue
		}
		f := flagOf(c, w)
		if f == nil {
			return nil, nil, usageError{fmt.Errorf("%s has no flag %q; the order is %s", c.Command.HelpName, w, usageLine(c))}
		}
		flags = append(flags, w)
		if f.TakesValue() && !strings.Contains(w, "=") && i+1 < len(words) {
			i++
			flags = append(flags, words[i])
		}
	}
	if len(flags) > 0 {
		given := c.Lineage()[1].Args().Tail() // of this command, as they were typed
		right := slices.Concat(given[:len(given)-c.NArg()], flags, others)
		if rest != nil {
			right = append(append(right, "--"), rest...)
		}
		return nil, nil, usageError{fmt.Errorf("flags go before the arguments: %s %s", c.Command.HelpName, commandLine(right))}
	}
	switch {
	case len(words) < least:
		return nil, nil, usageError{fmt.Errorf("%s needs %s; see %s --help", c.Command.HelpName, c.Command.ArgsUsage, c.Command.HelpName)}
	case most >= 0 && len(words) > most:
		return nil, nil, usageError{fmt.Errorf("%s does not take %q; the order is %s", c.Command.HelpName, words[most], usageLine(c))}
	}
	return words, rest, nil
}

// flagOf returns the flag that a word such as --name=value names, or nil.
func flagOf(c *cli.Context, word string) cli.DocGenerationFlag {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	for _, f := range c.Command.Flags {
		if d, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return d
		}
	}
	return nil
}

func usageLine(c *cli.Context) string {
	return strings.TrimSpace(c.Command.HelpName + " [flags] " + c.Command.ArgsUsage)
}

// commandLine shows words as they could be typed into a POSIX shell.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("-_./:=@,%+", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
