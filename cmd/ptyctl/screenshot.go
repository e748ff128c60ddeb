package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

func screenshotCommand() *cli.Command {
	return &cli.Command{
		Name: "screenshot", Usage: "write a picture of a session's screen, as PNG",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.StringFlag{Name: "o", Usage: "write it to this `FILE`, not to stdout"},
			&cli.StringFlag{Name: "theme", Usage: "the `COLOURS`, one of dark, light, xterm"},
		),
		Action: func(c *cli.Context) error {
			if c.String("o") == "" && tty.IsTerminal(os.Stdout) {
				return usageError{errors.New("a terminal shows no picture; give -o FILE, or send the output to a file")}
			}
			return withSession(runScreenshot)(c)
		},
	}
}

// runScreenshot writes a file that only its owner may read: the screen may show what others must not see.
func runScreenshot(c *cli.Context, s client.Session) error {
	png, err := s.Screenshot(c.Context, c.String("theme"))
	if err != nil {
		return err
	}
	if file := c.String("o"); file != "" {
		return os.WriteFile(file, png, 0o600)
	}
	_, err = c.App.Writer.Write(png)
	return err
}
