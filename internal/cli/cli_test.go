package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// newTestApp returns a program with commands that print their flags and arguments.
func newTestApp(out *strings.Builder) *App {
	show := func(c *Context) error {
		fmt.Fprintf(c.App.Writer, "%s: name=%q %v n=%d x=%v wait=%v b=%t %q", c.Command.HelpName, c.String("name"), c.IsSet("name"),
			c.Int("n"), c.Float64("x"), c.Duration("wait"), c.Bool("b"), []string(c.Args()))
		return nil
	}
	flags := func() []Flag {
		return []Flag{
			&StringFlag{Name: "name", Aliases: []string{"N"}, Value: "nobody", Usage: "the `NAME` of someone"},
			&IntFlag{Name: "n", Value: 3, Usage: "how many"},
			&Float64Flag{Name: "x", Usage: "how much"},
			&DurationFlag{Name: "wait", Usage: "the `TIME` to wait"},
			&BoolFlag{Name: "b", Usage: "all"},
			&StringFlag{Name: "unseen", Hidden: true},
		}
	}
	return &App{
		Name: "prog", Usage: "does something", Writer: out,
		WrongFlag: func(c *Context, err error) error { return fmt.Errorf("%s: %w", c.Command.HelpName, err) },
		Commands: []*Command{
			{Name: "do", Aliases: []string{"d"}, Usage: "do it", ArgsUsage: "WHAT...", Description: "At once.\n\nOr later.", Flags: flags(), Action: show},
			{Name: "raw", Usage: "pass all on", SkipFlagParsing: true, Action: show},
			{Name: "group", Usage: "some more", Flags: flags(), Subcommands: []*Command{
				{Name: "one", Usage: "the first", Action: show},
				{Name: "need", Usage: "the second", Flags: []Flag{&StringFlag{Name: "to", Required: true, Usage: "where"}}, Action: show},
				{Name: "never", Hidden: true},
			}},
			{Name: "stopped", Usage: "fail", Action: show, Before: func(*Context) error { return errors.New("not today") }},
		},
	}
}

func TestCommandLines(t *testing.T) {
	const nothing = `name="nobody" false n=3 x=0 wait=0s b=false`
	for line, want := range map[string]string{
		"do":                                     `prog do: ` + nothing + ` []`,
		"d a -n 5":                               `prog do: ` + nothing + ` ["a" "-n" "5"]`,
		"do --name x -n=5 -x 1.5 --wait 2s -b a": `prog do: name="x" true n=5 x=1.5 wait=2s b=true ["a"]`,
		"do -N x":                                `prog do: name="x" true n=3 x=0 wait=0s b=false []`,
		"do -b=false -- --name":                  `prog do: ` + nothing + ` ["--name"]`,
		"raw --name x --help":                    `prog raw: name="" false n=0 x=0 wait=0s b=false ["--name" "x" "--help"]`,
		"group --name x one a":                   `prog group one: name="x" true n=3 x=0 wait=0s b=false ["a"]`,
		"group need --to x":                      `prog group need: ` + nothing + ` []`,
		"group need":                             `error: prog group need: prog group need needs --to`,
		"do --name x -N y":                       `error: prog do: --name and -N are the same flag; give one of them`,
		"do --nosuch":                            `error: prog do: flag provided but not defined: -nosuch`,
		"do -n x":                                `error: prog do: -n takes a whole number, not "x"`,
		"do -n 99999999999999999999":             `error: prog do: -n takes a whole number, and "99999999999999999999" is too large`,
		"do -n":                                  `error: prog do: -n lacks its value, a whole number: -n VALUE`,
		"do -x=a\"b":                             `error: prog do: -x takes a number, not "a\"b"`,
		"do --wait 5":                            `error: prog do: --wait takes a time such as 90s or 1m30s, not "5"`,
		"do --wait":                              `error: prog do: --wait lacks its value, a time such as 90s or 1m30s: --wait TIME`,
		"do --name":                              `error: prog do: --name lacks its value: --name NAME`,
		"do -b=maybe":                            `error: prog do: -b takes no value, or true or false behind a =, not "maybe"`,
		"do ---x":                                `error: prog do: ---x is no flag; flags are written as --name, and a word with a dash behind --`,
		"--nosuch do":                            `error: prog: flag provided but not defined: -nosuch`,
		"stopped":                                `error: not today`,
		"help nosuch":                            `error: there is no help, because prog has no command "nosuch"; prog --help shows what there is`,
		"help group nosuch":                      `error: there is no help, because prog group has no command "nosuch"; prog group --help shows what there is`,
	} {
		var out strings.Builder
		err := newTestApp(&out).Run(strings.Fields("prog " + line))
		got := out.String()
		if err != nil {
			got += "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s prints\n%s\nwant\n%s", line, got, want)
		}
		if strings.HasPrefix(line, "help ") != errors.Is(err, ErrNoTopic) {
			t.Errorf("%s: the error is %v", line, err)
		}
	}
}

// The forms of help are those that ptyctl has always had.
func TestHelp(t *testing.T) {
	const program = `NAME:
   prog - does something

USAGE:
   prog [global options] command [command options]

COMMANDS:
   do, d    do it
   raw      pass all on
   group    some more
   stopped  fail
   help, h  Shows a list of commands or help for one command

GLOBAL OPTIONS:
   --help, -h  show help
`
	const options = `OPTIONS:
   --name NAME, -N NAME  the NAME of someone (default: "nobody")
   -n value              how many (default: 3)
   -x value              how much (default: 0)
   --wait TIME           the TIME to wait (default: 0s)
   -b                    all (default: false)
   --help, -h            show help
`
	const do = `NAME:
   prog do - do it

USAGE:
   prog do [command options] WHAT...

DESCRIPTION:
   At once.

   Or later.

` + options
	const group = `NAME:
   prog group - some more

USAGE:
   prog group [command options]

COMMANDS:
   one   the first
   need  the second

` + options
	const one = `NAME:
   prog group one - the first

USAGE:
   prog group one [command options]

OPTIONS:
   --help, -h  show help
`
	for line, want := range map[string]string{
		"": program, "--help": program, "help": program, "h": program,
		"do --help": do, "do -h x": do, "help do": do, "--help d": do,
		"group": group, "group -h": group, "help group": group,
		"group one --help": one, "help group one": one, "group --help one": one,
	} {
		var out strings.Builder
		if err := newTestApp(&out).Run(strings.Fields("prog " + line)); err != nil || out.String() != want {
			t.Errorf("%q prints\n%s\n(%v), want\n%s", line, out.String(), err, want)
		}
	}
}

// The value of a flag that does not exist, or has another type, is zero.
func TestValuesWithoutFlag(t *testing.T) {
	app := &App{Name: "prog", Flags: []Flag{&IntFlag{Name: "n", Value: 3}}, Action: func(c *Context) error {
		if c.Bool("n") || c.Int("nosuch") != 0 || c.Duration("nosuch") != 0*time.Second || c.IsSet("nosuch") || c.Args().First() != "" || len(c.Args().Tail()) != 0 {
			t.Error("a flag that does not exist has a value")
		}
		return nil
	}}
	if err := app.Run([]string{"prog"}); err != nil {
		t.Fatal(err)
	}
}
