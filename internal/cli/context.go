package cli

import (
	"context"
	"flag"
	"slices"
	"time"
)

// A Context is one run of a command: its flags and arguments, and those of the commands above it.
type Context struct {
	context.Context

	App     *App
	Command *Command

	set    *flag.FlagSet
	parent *Context // nil: this is the program itself
}

// Parent returns the run of the command above this one, or nil.
func (c *Context) Parent() *Context { return c.parent }

// Args returns the words behind the flags.
func (c *Context) Args() Args { return c.set.Args() }

// NArg returns the number of words behind the flags.
func (c *Context) NArg() int { return c.set.NArg() }

// Args are the words behind the flags of a command.
type Args []string

// First returns the first word, or "".
func (a Args) First() string {
	if len(a) == 0 {
		return ""
	}
	return a[0]
}

// Tail returns the words behind the first.
func (a Args) Tail() []string { return a[min(1, len(a)):] }

// Bool returns the value of a flag; false: there is no such flag.
func (c *Context) Bool(name string) bool { return value[bool](c, name) }

// String returns the value of a flag; "": there is no such flag.
func (c *Context) String(name string) string { return value[string](c, name) }

// Int returns the value of a flag; 0: there is no such flag.
func (c *Context) Int(name string) int { return value[int](c, name) }

// Float64 returns the value of a flag; 0: there is no such flag.
func (c *Context) Float64(name string) float64 { return value[float64](c, name) }

// Duration returns the value of a flag; 0: there is no such flag.
func (c *Context) Duration(name string) time.Duration { return value[time.Duration](c, name) }

// value returns the value of a flag of the command, or else of one above it.
func value[T any](c *Context, name string) (v T) {
	for ; c != nil; c = c.parent {
		if f := c.set.Lookup(name); f != nil {
			v, _ = f.Value.(flag.Getter).Get().(T) // all values of the package flag have it
			return v
		}
	}
	return v
}

// IsSet reports whether the command line gives a flag, by any of its names.
func (c *Context) IsSet(name string) bool {
	for ; c != nil; c = c.parent {
		for _, f := range c.Command.Flags {
			names := f.Names()
			if slices.Contains(names, name) {
				return anySet(c.set, names)
			}
		}
	}
	return false
}

func anySet(set *flag.FlagSet, names []string) bool {
	for _, n := range names {
		if isSet(set, n) {
			return true
		}
	}
	return false
}

func isSet(set *flag.FlagSet, name string) (is bool) {
	set.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}
