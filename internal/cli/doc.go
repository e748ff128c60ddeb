// Package cli reads command lines: the commands of a program, their flags and arguments, and their help. The package
// flag of the standard library reads the flags.
//
//	program := &cli.App{Name: "hello", Commands: []*cli.Command{{
//		Name: "greet", Flags: []cli.Flag{&cli.StringFlag{Name: "name", Usage: "greet `NAME`"}},
//		Action: func(c *cli.Context) error {
//			_, err := fmt.Fprintln(c.App.Writer, "hello", c.String("name"))
//			return err
//		},
//	}}}
//	err := program.RunContext(ctx, os.Args)
//
// Its names are those of github.com/urfave/cli, which it has replaced: help made of templates kept every exported
// method of every package in the program.
package cli
