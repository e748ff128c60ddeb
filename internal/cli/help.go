package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// ErrNoTopic is the error of help about a command that does not exist.
var ErrNoTopic = errors.New("there is no help")

// helpFlag is a flag of every command.
var helpFlag = &BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"}

// helpCommand makes the command that shows the help of the program, or of one of its commands.
func helpCommand() *Command {
	return &Command{
		Name: "help", Aliases: []string{"h"}, Usage: "Shows a list of commands or help for one command", ArgsUsage: "[command]",
		Action: func(c *Context) error {
			command := c.parent.Command
			for _, topic := range c.Args() {
				sub := commandNamed(command.Subcommands, topic)
				if sub == nil {
					return fmt.Errorf("%w, because %s has no command %q; %[2]s --help shows what there is", ErrNoTopic,
						command.HelpName, topic)
				}
				command = sub
				command.setUp()
			}
			return c.App.showHelp(command)
		},
	}
}

// ShowHelp prints the help of a command, or of the program.
func ShowHelp(c *Context) error { return c.App.showHelp(c.Command) }

// showHelp prints the help of a command that is set up.
func (a *App) showHelp(c *Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "NAME:\n   %s", c.HelpName)
	if c.Usage != "" {
		b.WriteString(" - " + indented(c.Usage, len(c.HelpName)+6))
	}
	options := "OPTIONS"
	if c.HelpName == a.Name {
		options = "GLOBAL OPTIONS"
		fmt.Fprintf(&b, "\n\nUSAGE:\n   %s [global options] command [command options]", c.HelpName)
	} else {
		fmt.Fprintf(&b, "\n\nUSAGE:\n   %s [command options]", c.HelpName)
	}
	if c.ArgsUsage != "" {
		b.WriteString(" " + c.ArgsUsage)
	}
	if c.Description != "" {
		b.WriteString("\n\nDESCRIPTION:\n   " + indented(c.Description, 3))
	}
	if commands := slices.DeleteFunc(slices.Clone(c.Subcommands), func(c *Command) bool { return c.Hidden }); len(commands) > 0 {
		b.WriteString("\n\nCOMMANDS:")
		width := 0
		for _, sub := range commands {
			width = max(width, len(sub.names())+2)
		}
		for _, sub := range commands {
			fmt.Fprintf(&b, "\n   %-*s%s", width, sub.names(), indented(sub.Usage, width+3))
		}
	}
	b.WriteString("\n\n" + options + ":")
	for _, f := range c.Flags {
		if !f.hidden() {
			b.WriteString("\n   " + indented(describe(f), 6))
		}
	}
	b.WriteString("\n")
	aligned := tabwriter.NewWriter(a.Writer, 1, 8, 2, ' ', 0)
	if _, err := io.WriteString(aligned, b.String()); err != nil {
		return err
	}
	return aligned.Flush()
}

// describe returns the line of help about a flag, in two columns.
func describe(f Flag) string {
	usage := f.GetUsage()
	value := ""
	if before, rest, ok := strings.Cut(usage, "`"); ok {
		if name, after, closed := strings.Cut(rest, "`"); closed {
			value, usage = name, before+name+after
		}
	}
	if value = cmp.Or(value, "value"); f.TakesValue() {
		value = " " + value
	} else {
		value = ""
	}
	names := f.Names()
	for i, name := range names {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		names[i] = dashes + name + value
	}
	if text := f.defaultText(); text != "" && f != Flag(helpFlag) {
		usage += " (default: " + text + ")"
	}
	return strings.Join(names, ", ") + "\t" + strings.TrimSpace(usage)
}

// indented returns text with n blanks in front of each line after the first, except empty lines.
func indented(text string, n int) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = strings.Repeat(" ", n) + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
