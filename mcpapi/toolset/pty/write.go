package pty

import (
	"context"
	"errors"
	"fmt"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// write types data after its escapes are replaced. It fails if the program does not read
// all of it within the operator's write timeout.
func (s *set) write(ctx context.Context, c *toolset.Call, in *writeArgs) (any, error) {
	t, err := s.find(ctx, c, term.VerbWrite, in.ID)
	if err != nil {
		return nil, err
	}
	data := unescape(in.Data)
	if data == "" {
		return nil, c.Invalid("data", "data is empty; give the text or keys to type")
	}
	c.Waits("the write on "+in.ID, t.Session)
	res, err := t.Write(ctx, []byte(data), session.WriteOptions{})
	switch {
	case errors.Is(err, term.AlreadyClosed), errors.Is(err, term.RemoteClosed):
		return nil, t.notRunning()
	case err != nil:
		return nil, err
	case res.TimedOut:
		return nil, term.Errorf(
			term.Busy,
			"the program of %s took %d of %d bytes and stopped reading; see its output with pty_read, or write \\x03",
			in.ID,
			res.Written,
			len(data),
		)
	}
	return wire.Answer{Text: written(in.ID, data, append(res.Warnings, c.Warnings()...))}, nil
}

// preview is the number of typed characters that a result repeats.
const preview = 50

// written returns the result of pty_write. The size is that of the bytes typed, after the
// escapes were replaced.
func written(id, data string, warnings []string) string {
	start := visible(data[:min(len(data), 4*preview+4)])
	lines := []string{"Success: " + id, fmt.Sprintf("Data sent: %s (%d bytes)", cut(start, preview), len(data))}
	for _, w := range warnings {
		lines = append(lines, "Warning: "+w)
	}
	return element("pty_write", lines...)
}

// notRunning returns the error of an action that needs a running program.
func (t *terminal) notRunning() error {
	return &term.Error{
		Session: t.ID(),
		Kind:    term.AlreadyClosed,
		Msg:     fmt.Sprintf("PTY session %s is not running (status: %s)", t.ID(), t.status(t.State())),
	}
}
