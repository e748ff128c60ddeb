package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/vt"
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

func runTail(c *cli.Context, e sessionEntry) error {
	f := &follower{on: e.on.Client, id: e.SessionID}
	begin, err := f.fill(c.Context, history)
	if err != nil {
		return err
	}
	show := tailView(c, begin.data)
	if err := show.write(tailLines(begin.data, c.Int("n"))); err != nil {
		return err
	}
	if c.Bool("f") && !begin.ended {
		err = show.follow(c.Context, f)
	}
	if last := show.end(); err == nil {
		err = last
	}
	select {
	case <-c.Done(): // ctrl-c
		return nil
	default:
		return err
	}
}

// tailView says how the output is shown: as it is, as the terminal would show it, or as text where that would end in
// something that reads text, or where it is the picture of a full-screen program and this only its end.
func tailView(c *cli.Context, held []byte) *view {
	v := &view{out: c.App.Writer}
	switch {
	case c.Bool("raw"):
	case !isTerminal(os.Stdout), !c.Bool("f") && altScreen(held):
		v.text = new(vt.Cleaner)
	default:
		v.filter = new(vt.Filter)
	}
	return v
}

func altScreen(data []byte) bool {
	var f vt.Filter
	f.Append(nil, data)
	return f.AltScreen()
}

// A view shows output to a person, or to a program.
type view struct {
	out    io.Writer
	filter *vt.Filter  // nil: not filtered
	text   *vt.Cleaner // not nil: as text
	last   byte        // that was written
}

func (v *view) write(data []byte) error {
	switch {
	case v.text != nil:
		data = v.text.Append(nil, data)
	case v.filter != nil:
		data = v.filter.Append(nil, data)
	}
	return v.put(data)
}

func (v *view) put(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	v.last = data[len(data)-1]
	_, err := v.out.Write(data)
	return err
}

// follow shows what comes until the session ends.
func (v *view) follow(ctx context.Context, f *follower) error {
	for {
		p, err := f.next(ctx)
		if err == nil && p.dropped > 0 {
			err = v.gap(p.dropped)
		}
		if err == nil {
			err = v.write(p.data)
		}
		if err != nil || p.ended {
			return err
		}
	}
}

// gap says that output is missing: this reader was too slow for it.
func (v *view) gap(n int64) error {
	if v.filter == nil && v.text == nil {
		fmt.Fprintf(os.Stderr, "ptyctl: %d bytes are missing here\n", n)
		return nil
	}
	return v.write(fmt.Appendf(nil, "\r\n[ptyctl: %d bytes are missing here]\r\n", n))
}

// end leaves the terminal as it was found.
func (v *view) end() error {
	var rest []byte
	switch {
	case v.text != nil:
		if rest = v.text.Flush(nil); len(rest) > 0 && rest[len(rest)-1] != '\n' {
			rest = append(rest, '\n')
		}
	case v.filter != nil:
		rest = v.filter.Restore(nil)
	default:
		return nil
	}
	if v.last != 0 && v.last != '\n' && v.filter != nil {
		rest = append(rest, "\r\n"...)
	}
	return v.put(rest)
}
