package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/attach"
	"ptyctl/internal/client"
)

func tailCommand() *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the end of a session's output",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.IntFlag{Name: "n", Value: 20, Usage: "how many `LINES`"},
			&cli.BoolFlag{Name: "f", Usage: "go on with what comes, until the session ends or ctrl-c"},
			&cli.BoolFlag{Name: "raw", Usage: "print the bytes as they are: they may do anything to your terminal"},
		),
		Action: func(c *cli.Context) error {
			if c.Int("n") < 0 {
				return usageError{fmt.Errorf("-n takes a number of lines, not %d", c.Int("n"))}
			}
			return withSession(runTail)(c)
		},
	}
}

func runTail(c *cli.Context, s client.Session) error {
	return attach.Tail(c.Context, s, attach.TailOptions{
		Out: c.App.Writer, Lines: c.Int("n"), Follow: c.Bool("f"), Raw: c.Bool("raw"),
	})
}
