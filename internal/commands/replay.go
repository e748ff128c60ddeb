package commands

import (
	"context"
	"fmt"
	"os"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/internal/replay"
	"ptyctl/internal/tty"
	"ptyctl/record"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "show a recording in this terminal", ArgsUsage: "FILE|ID",
		Description: "Space stops and goes on, the arrows move 5 seconds, n and p move between markers, q ends.\n" +
			"Only sequences that draw reach the terminal, as with attach.",
		Flags: recordingFlags(
			&cli.DurationFlag{Name: "at", Usage: "begin at a `TIME`, such as 1m20s"},
			&cli.IntFlag{Name: "to-marker", Usage: "begin at a marker `N`, as recordings show counts them"},
			&cli.Float64Flag{Name: "speed", Value: 1, Usage: "how many `TIMES` as fast"},
			&cli.DurationFlag{Name: "idle", Usage: "cut longer pauses to a `TIME`"},
			&cli.BoolFlag{Name: "still", Usage: "print the picture there as text, and end"},
		),
		Action: runReplay,
	}
}

func runReplay(c *cli.Context) error {
	switch {
	case c.Duration("at") < 0 || c.Duration("idle") < 0:
		return usageError{fmt.Errorf("--at and --idle take a time such as 1m20s, which is not negative")}
	case !(c.Float64("speed") >= 0.01 && c.Float64("speed") <= 1000): // nor is it NaN
		return usageError{fmt.Errorf("--speed takes a number from 0.01 to 1000, not %v", c.Float64("speed"))}
	case c.IsSet("at") && c.IsSet("to-marker"):
		return usageError{fmt.Errorf("--at and --to-marker cannot be given together")}
	}
	path, ids, err := namedRecording(c)
	if err != nil {
		return err
	}
	p, err := record.Play(path, ids...)
	if err != nil {
		return err
	}
	defer p.Close()
	if c.IsSet("to-marker") {
		_, err = p.SeekMarker(c.Int("to-marker"))
	} else {
		err = p.Seek(c.Duration("at"))
	}
	if err != nil {
		return err
	}
	if c.Bool("still") {
		return replay.Still(c.App.Writer, p)
	}
	o := replay.Options{Out: c.App.Writer, Speed: c.Float64("speed"), Idle: c.Duration("idle")}
	if tty.IsTerminal(os.Stdin) && tty.IsTerminal(os.Stdout) {
		restore, err := tty.RawMode(os.Stdin)
		if err != nil {
			return err
		}
		defer restore()
		ctx, noHangUp := tty.UntilHangUp(c.Context)
		defer noHangUp()
		o.Keys = tty.Keys(os.Stdin, ctx.Done())
		if !fitted(ctx, p.Header().Term.Cols, p.Header().Term.Rows, o.Keys) {
			return nil
		}
		return replay.Run(ctx, p, o)
	}
	o.Out = tty.WithoutReturns(o.Out, os.Stdout)
	return replay.Run(c.Context, p, o)
}

// smallPause is how long a replay waits for a person whose terminal is too small for it.
const smallPause = 5 * time.Second

// fitted says that the terminal is too small for a recording, and waits until it is enlarged, a key is pressed, or
// smallPause is over: the recording draws over the notice. It reports whether the replay is to begin.
func fitted(ctx context.Context, cols, rows int, keys <-chan []byte) bool {
	fits := func() bool {
		c, r := tty.Size(os.Stdout)
		return c == 0 || c >= cols && r >= rows // 0: not known
	}
	if fits() {
		return true
	}
	changed, noMore := tty.Resized()
	defer noMore()
	c, r := tty.Size(os.Stdout)
	fmt.Fprintf(os.Stderr, "ptyctl: the recording is %dx%d, and this terminal %dx%d: enlarge it to see all; "+
		"any key begins, q ends\r\n", cols, rows, c, r)
	over := time.NewTimer(smallPause)
	defer over.Stop()
	for !fits() {
		select {
		case key, ok := <-keys:
			return !ok || !replay.Ends(string(key))
		case <-changed:
			over.Reset(smallPause) // it is being enlarged
		case <-over.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}
