package cli

import (
	"flag"
	"fmt"
	"strconv"
	"time"
)

// A Flag is a flag of a command, one of the types below.
type Flag interface {
	Names() []string // one at least; the first is the one that help and errors call it
	GetUsage() string
	TakesValue() bool // false: the flag alone says all

	define(*flag.FlagSet)
	defaultText() string // of help; "": there is nothing to say
	hidden() bool
	required() bool
}

// The types of flags, by the values they take.
type (
	BoolFlag     = flagOf[bool]
	StringFlag   = flagOf[string]
	IntFlag      = flagOf[int]
	Float64Flag  = flagOf[float64]
	DurationFlag = flagOf[time.Duration]
)

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
