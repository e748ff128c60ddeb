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
		Name: "screenshot", Usage: "write a picture of a session's screen, as PNG, or the screen as text",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.StringFlag{Name: "o", Usage: "write it to this `FILE`, not to stdout"},
			&cli.BoolFlag{Name: "text", Usage: "numbered rows, as an agent reads them, in place of a picture"},
			&cli.StringFlag{Name: "theme", Usage: "the `COLOURS`, one of dark, light, xterm"},
		),
		Action: func(c *cli.Context) error {
			switch {
			case c.Bool("text") && c.String("theme") != "":
				return usageError{errors.New("--theme is for a picture, not for --text; leave one of them out")}
			case !c.Bool("text") && c.String("o") == "" && tty.IsTerminal(os.Stdout):
				return usageError{errors.New("a terminal shows no picture; give -o FILE or --text, or send the output to a file")}
			}
			return withSession(runScreenshot)(c)
		},
	}
}

// runScreenshot writes a file that only its owner may read: the screen may show what others must not see.
func runScreenshot(c *cli.Context, s client.Session) error {
	shot := func() ([]byte, error) { return s.Screenshot(c.Context, c.String("theme")) }
	if c.Bool("text") {
		shot = func() ([]byte, error) { return s.ScreenText(c.Context) }
	}
	data, err := shot()
	if err != nil {
		return err
	}
	if file := c.String("o"); file != "" {
		return os.WriteFile(file, data, 0o600)
	}
	_, err = c.App.Writer.Write(data)
	return err
}
