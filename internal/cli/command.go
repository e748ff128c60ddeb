package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// An App is a program with commands.
type App struct {
	Name, Usage, Version string
	Commands             []*Command
	Flags                []Flag // without a command
	Action               ActionFunc
	// WrongFlag makes the error of a command line with a wrong flag; nil: the error of the package flag.
	WrongFlag func(*Context, error) error
	Writer    io.Writer // of output and help; nil: stdout
	ErrWriter io.Writer // nil: stderr
}

// An ActionFunc does the work of a command.
type ActionFunc func(*Context) error

// A Command is a word of the command line, with flags and arguments of its own.
type Command struct {
	Name        string
	Aliases     []string
	Usage       string // one line
	Description string // more lines, in the command's help alone
	ArgsUsage   string // the names of the arguments
	Flags       []Flag
	Subcommands []*Command
	Before      ActionFunc // runs before Action; nil: nothing does
	Action      ActionFunc // nil: print the help
	Hidden      bool       // it is in no help

	SkipFlagParsing bool // all words behind it are arguments

	HelpName string // with the names of the program and of the commands above; set by RunContext
}

// HasName reports whether name is the command's name or one of its aliases.
func (c *Command) HasName(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// names returns all names of the command, as help shows them.
func (c *Command) names() string { return strings.Join(append([]string{c.Name}, c.Aliases...), ", ") }

// commandNamed returns the command of that name, or nil.
func commandNamed(commands []*Command, name string) *Command {
	if i := slices.IndexFunc(commands, func(c *Command) bool { return c.HasName(name) }); i >= 0 {
		return commands[i]
	}
	return nil
}

// Run is RunContext with the background context.
func (a *App) Run(words []string) error { return a.RunContext(context.Background(), words) }

// RunContext runs the command that the words name. The first is the name of the program.
func (a *App) RunContext(ctx context.Context, words []string) error {
	if a.Writer == nil {
		a.Writer = os.Stdout
	}
	if a.ErrWriter == nil {
		a.ErrWriter = os.Stderr
	}
	if len(a.Commands) > 0 && commandNamed(a.Commands, "help") == nil {
		a.Commands = append(a.Commands, helpCommand())
	}
	root := &Command{
		Name: a.Name, HelpName: a.Name, Usage: a.Usage, Flags: a.Flags, Subcommands: a.Commands, Action: a.Action,
	}
	return (&Context{Context: ctx, App: a, Command: root}).run(words)
}

// run reads the flags behind the first word, which names the command, and runs it or the one that follows.
func (c *Context) run(words []string) error {
	command := c.Command
	command.setUp()
	if err := c.parse(words[1:]); err != nil {
		return c.wrongFlag(err)
	}
	next := commandNamed(command.Subcommands, c.Args().First())
	if help := cmp.Or(next, command); c.Bool("help") {
		help.setUp()
		return c.App.showHelp(help)
	}
	for _, f := range command.Flags {
		if f.required() && !c.IsSet(f.Names()[0]) {
			return c.wrongFlag(fmt.Errorf("%s needs --%s", command.HelpName, f.Names()[0]))
		}
	}
	switch {
	case next != nil:
		return (&Context{Context: c.Context, App: c.App, Command: next, parent: c}).run(c.Args())
	case command.Action == nil:
		return c.App.showHelp(command)
	case command.Before != nil:
		if err := command.Before(c); err != nil {
			return err
		}
	}
	return command.Action(c)
}

func (c *Context) wrongFlag(err error) error {
	if c.App.WrongFlag == nil {
		return err
	}
	return c.App.WrongFlag(c, err)
}

// setUp gives a command the flag --help, and those below it their full names.
func (c *Command) setUp() {
	if !slices.ContainsFunc(c.Flags, func(f Flag) bool { return f.Names()[0] == helpFlag.Name }) {
		c.Flags = append(slices.Clip(c.Flags), helpFlag)
	}
	for _, sub := range c.Subcommands {
		sub.HelpName = cmp.Or(sub.HelpName, c.HelpName+" "+sub.Name)
	}
}

// parse reads the flags of the command.
func (c *Context) parse(words []string) error {
	c.set = flag.NewFlagSet(c.Command.Name, flag.ContinueOnError)
	c.set.SetOutput(io.Discard)
	for _, f := range c.Command.Flags {
		f.define(c.set)
	}
	if c.Command.SkipFlagParsing {
		words = append([]string{"--"}, words...)
	}
	if err := c.set.Parse(words); err != nil {
		return c.Command.plainly(err)
	}
	for _, f := range c.Command.Flags {
		given := ""
		for _, name := range f.Names() {
			switch {
			case !isSet(c.set, name):
			case given != "":
				return fmt.Errorf("%s and %s are the same flag; give one of them", dashed(given), dashed(name))
			default:
				given = name
			}
		}
	}
	return nil
}
