package commands

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

// maxPaste bounds the text of paste: it is one argument of a call.
const maxPaste = 1 << 20

func pasteCommand() *cli.Command {
	return &cli.Command{
		Name: "paste",
		Usage: "type the lines of a file into a session, each when the one before is answered; " +
			"for the configuration of a device (control_mode readwrite)",
		ArgsUsage: "ID FILE",
		Flags: append(reachFlags(),
			&cli.StringFlag{
				Name: "pace",
				Usage: "a line waits for `MODE`, one of prompt, echo, delay; " +
					"default prompt, and echo where no prompt is known",
			},
			&cli.DurationFlag{Name: "line-delay", Usage: "wait this `TIME`, such as 200ms, before the next line"},
			&cli.DurationFlag{Name: "char-delay", Usage: "wait this `TIME`, such as 5ms, before the next character"},
			&cli.BoolFlag{Name: "keep-going", Usage: "go on after a line that is refused"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, 2, 2)
			if err != nil {
				return err
			}
			switch mode := c.String("pace"); mode {
			case "", "prompt", "echo", "delay":
			default:
				return usageError{fmt.Errorf("--pace is %q; give prompt, echo or delay", mode)}
			}
			text, err := pasteText(args[1])
			if err != nil {
				return err
			}
			return atSession(c, args[0], func(c *cli.Context, s client.Session) error { return runPaste(c, s, text) })
		},
	}
}

// pasteText reads the file, or stdin for "-".
func pasteText(name string) (string, error) {
	from := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPaste+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxPaste:
		return "", usageError{fmt.Errorf("%s has more than paste takes (1 MiB): give it in parts", name)}
	case len(bytes.TrimSpace(text)) == 0:
		return "", usageError{fmt.Errorf("%s has no lines but empty ones: there is nothing to type", name)}
	}
	return string(text), nil
}

func runPaste(c *cli.Context, s client.Session, text string) error {
	live := !c.Bool("json") && tty.IsTerminal(os.Stderr)
	every := 30 * time.Second
	if live {
		every = 500 * time.Millisecond
	}
	shown := false
	clear := func() {
		if shown {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			shown = false
		}
	}
	got, err := s.Paste(c.Context, client.PasteCall{
		Lines: text,
		Pace: client.PastePace{
			Mode: c.String("pace"), LineDelay: c.Duration("line-delay").Milliseconds(),
			CharDelay: c.Duration("char-delay").Milliseconds(), StopOnError: !c.Bool("keep-going"),
		},
	}, every, func(so client.Pasted, answers string) {
		clear()
		if !c.Bool("json") {
			_, _ = io.WriteString(c.App.Writer, tty.Plain(answers))
		}
		if live {
			fmt.Fprintf(os.Stderr, "line %d of %d", so.Taken, so.Lines)
			shown = true
		}
	})
	clear()
	if err != nil {
		return client.ReadOnlyHint(err)
	}
	if c.Bool("json") {
		err = printJSON(c.App.Writer, got)
	} else {
		fmt.Fprintf(os.Stderr, "ptyctl: %s\n", pastedText(got))
	}
	if err == nil && got.Stopped != "" {
		err = exitStatus{1}
	}
	return err
}

// pastedText says how far the lines went.
func pastedText(p client.Pasted) string {
	if p.Stopped == "" {
		text := fmt.Sprintf("%d lines taken", p.Taken)
		if p.Refused > 0 {
			text += fmt.Sprintf(", %d of them refused", p.Refused)
		}
		return text
	}
	text := fmt.Sprintf("stopped (%s) at line %d: %s", p.Stopped, p.StoppedAt, tty.Printable(p.Line))
	if p.Answer != "" {
		text += "\n" + tty.Plain(p.Answer)
	}
	if p.Error != nil {
		text += "\n" + tty.Printable(p.Error.Message)
	}
	text += fmt.Sprintf("\n%d of %d lines taken", p.Taken, p.Lines)
	switch {
	case p.HalfTyped:
		text += "; a part of the next one is in the terminal, not entered"
	case p.Typed > p.Taken:
		text += "; the next one went out, and may or may not have been taken"
	}
	return text
}
