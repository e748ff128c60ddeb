package cli

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Flag is a flag of a command, one of the types below.
type Flag interface {
	Names() []string // one at least; the first is the one that help and errors call it
	GetUsage() string
	TakesValue() bool // false: the flag alone says all

	define(*flag.FlagSet)
	defaultText() string // of help; "": there is nothing to say
	wants() string       // what its value is, for an error
	hidden() bool
	required() bool
}

// BoolFlag is a flag that needs no value.
type BoolFlag = flagOf[bool]

// StringFlag is a flag with a text.
type StringFlag = flagOf[string]

// IntFlag is a flag with a whole number.
type IntFlag = flagOf[int]

// Float64Flag is a flag with a number.
type Float64Flag = flagOf[float64]

// DurationFlag is a flag with a time, such as 1.5s.
type DurationFlag = flagOf[time.Duration]

// A flagOf is a flag with values of type T.
type flagOf[T bool | string | int | float64 | time.Duration] struct {
	Name    string
	Aliases []string
	Usage   string // the name of the value is in back quotes
	Value   T      // without the flag

	Required bool // the command does not run without it
	Hidden   bool // it is in no help
}

// Names implements Flag.
func (f *flagOf[T]) Names() []string { return append([]string{f.Name}, f.Aliases...) }

// GetUsage implements Flag.
func (f *flagOf[T]) GetUsage() string { return f.Usage }

// TakesValue implements Flag.
func (f *flagOf[T]) TakesValue() bool {
	_, is := any(f.Value).(bool)
	return !is
}

func (f *flagOf[T]) hidden() bool   { return f.Hidden }
func (f *flagOf[T]) required() bool { return f.Required }

// define adds the flag to set under each of its names, which share one value.
func (f *flagOf[T]) define(set *flag.FlagSet) {
	switch v := any(f.Value).(type) {
	case bool:
		set.Bool(f.Name, v, "")
	case string:
		set.String(f.Name, v, "")
	case int:
		set.Int(f.Name, v, "")
	case float64:
		set.Float64(f.Name, v, "")
	case time.Duration:
		set.Duration(f.Name, v, "")
	}
	for _, alias := range f.Aliases {
		set.Var(set.Lookup(f.Name).Value, alias, "")
	}
}

func (f *flagOf[T]) wants() string {
	switch any(f.Value).(type) {
	case bool:
		return "no value, or true or false behind a ="
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case time.Duration:
		return "a time such as 90s or 1m30s"
	}
	return "a text"
}

// dashed returns the name of a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// The errors of the package flag, which has no types for them.
const (
	noValue    = "flag needs an argument: -"
	badSyntax  = "bad flag syntax: "
	wrongValue = "invalid value " // "x" for flag -n: why
	outOfRange = ": value out of range"
	wrongBool  = "invalid boolean value " // "x" for -b: why
)

// plainly returns an error of the package flag in words that name the flag as it is typed, and the value that it takes.
// The error about an unknown flag is returned as it is.
func (c *Command) plainly(err error) error {
	text := err.Error()
	if word, ok := strings.CutPrefix(text, badSyntax); ok {
		return fmt.Errorf("%s is no flag; flags are written as --name, and a word with a dash behind --", word)
	}
	if name, ok := strings.CutPrefix(text, noValue); ok {
		value, what := "VALUE", ""
		if f := c.flag(name); f != nil {
			value = cmp.Or(valueName(f.GetUsage()), value)
			if _, isText := f.(*StringFlag); !isText {
				what = ", " + f.wants()
			}
		}
		return fmt.Errorf("%s lacks its value%s: %[1]s %[3]s", dashed(name), what, value)
	}
	rest, ok := strings.CutPrefix(text, wrongValue)
	infix := " for flag -"
	if !ok {
		if rest, ok = strings.CutPrefix(text, wrongBool); !ok {
			return err
		}
		infix = " for -"
	}
	quoted, unquoting := strconv.QuotedPrefix(rest)
	name, _, _ := strings.Cut(strings.TrimPrefix(rest[len(quoted):], infix), ": ")
	f := c.flag(name)
	if unquoting != nil || f == nil {
		return err
	}
	if strings.HasSuffix(text, outOfRange) {
		return fmt.Errorf("%s takes %s, and %s is too large", dashed(name), f.wants(), quoted)
	}
	return fmt.Errorf("%s takes %s, not %s", dashed(name), f.wants(), quoted)
}

// flag returns the flag of that name, or nil.
func (c *Command) flag(name string) Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// valueName returns the name of a flag's value, which its usage has in back quotes; "": it has none.
func valueName(usage string) string {
	_, name, _ := strings.Cut(usage, "`")
	name, _, _ = strings.Cut(name, "`")
	return name
}

func (f *flagOf[T]) defaultText() string {
	switch v := any(f.Value).(type) {
	case string:
		if v == "" {
			return ""
		}
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
