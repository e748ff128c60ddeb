package aiterm

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// stamp is the format of times: UTC with microseconds, so that all have the same length
// and sort as text.
const stamp = "2006-01-02T15:04:05.000000Z"

// done is the result of an action that returns nothing else.
type done struct{ meta }

// The arguments of the tools.
type (
	openArgs struct {
		Argv      []string          `json:"argv" need:"*" doc:"program and arguments; no shell"`
		Rows      int               `json:"rows" min:"1" max:"10000" default:"40"`
		Cols      int               `json:"cols" min:"1" max:"10000" default:"120"`
		Cwd       string            `json:"cwd"`
		Env       map[string]string `json:"env" doc:"the whole environment: names and values"`
		TimeoutMS int64             `json:"timeout_ms" doc:"end it after so long; default never"`
	}
	sendArgs struct {
		ID   string `json:"id" need:"*" is:"filled" doc:"from pty_open"`
		Data string `json:"data" need:"*" doc:"base64"`
	}
	readArgs struct {
		ID        string `json:"id" need:"*" is:"filled" doc:"from pty_open"`
		SinceSeq  uint64 `json:"since_seq" max:"1<<53" doc:"seq of the last chunk that you have; default 0"`
		MaxBytes  int64  `json:"max_bytes" min:"1" max:"1<<53" doc:"default {65536 limits.max_read_bytes}"`
		TimeoutMS *int64 `json:"timeout_ms" doc:"default {1000 limits.max_wait_ms}"`
		StripANSI bool   `json:"strip_ansi" doc:"as text, without escape sequences"`
	}
	resizeArgs struct {
		ID   string `json:"id" need:"*" is:"filled" doc:"from pty_open"`
		Rows int    `json:"rows" need:"*" min:"1" max:"10000"`
		Cols int    `json:"cols" need:"*" min:"1" max:"10000"`
	}
	signalArgs struct {
		ID     string     `json:"id" need:"*" is:"filled" doc:"from pty_open"`
		Signal signalName `json:"signal" need:"*" enum:"INT TERM HUP KILL QUIT"`
	}
	closeArgs struct {
		ID string `json:"id" need:"*" is:"filled" doc:"from pty_open"`
	}
)

// signalName is the name of a signal.
type signalName string

// Canonical returns the name of a signal that is written with SIG before it, or as its number.
func (signalName) Canonical(text string) string { return toolset.SignalNamed(text) }

// Hint returns advice for a signal with the name of a key.
func (signalName) Hint(text string) string {
	return toolset.SignalHint(text, func(_ string, bytes []byte) string {
		return fmt.Sprintf(`pty_send with "data":%q`, base64.StdEncoding.EncodeToString(bytes))
	})
}

// openOut is the result of pty_open.
type openOut struct {
	ID        string `json:"id" is:"listed"`
	StartedAt string `json:"started_at" is:"listed"`
	meta
}

// ptyOpen starts a program on a terminal. The numbering must exist before the session
// does, so that the observer misses no output; ptyOpen therefore chooses the session's
// id.
func (s *Set) ptyOpen(ctx context.Context, c *call, in *openArgs) (*openOut, error) {
	local, err := c.program(programArgs{in.Argv, in.Cwd, in.Env})
	if err != nil {
		return nil, err
	}
	id := toolset.NewID(c.Call, filepath.Base(in.Argv[0]))
	n := s.follow(id)
	c.Waits("the start of the program", nil)
	r, err := c.Open(ctx, session.OpenRequest{
		ID: id, Target: term.Target{Protocol: "local", PTY: term.PTY{Cols: in.Cols, Rows: in.Rows}, Local: local},
		Life: time.Duration(in.TimeoutMS) * time.Millisecond, Wait: c.Limits().MaxWait,
	})
	if err != nil {
		// The numbering belongs to no session now; without this each failed open would leave one behind.
		s.forget(id)
		return nil, noSession(err, "the call was canceled, and the program was not started, or ended")
	}
	i := r.Session.Info()
	n.holds(int64(i.Buffer.Limit))
	return &openOut{ID: id, StartedAt: i.Created.UTC().Format(stamp)}, nil
}

// follow starts the numbering of a session that is about to open.
func (s *Set) follow(id string) *numbering {
	n := newNumbering()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminals[id] = n
	return n
}

// sendOut is the result of pty_send.
type sendOut struct {
	BytesWritten int `json:"bytes_written" is:"listed"`
	meta
}

// sent is the partial result of a write that the program did not read completely.
type sent struct {
	BytesWritten int `json:"bytes_written"`
	BytesPending int `json:"bytes_pending"` // bytes in the queue that may still be written
}

// ptySend types bytes into a terminal.
func (s *Set) ptySend(ctx context.Context, c *call, in *sendArgs) (*sendOut, error) {
	data, err := c.bytesOf("data", in.Data)
	if err != nil {
		return nil, err
	}
	t, _, err := s.terminal(ctx, c, term.VerbWrite, in.ID)
	if err != nil {
		return nil, err
	}
	c.Waits("the terminal, which takes no input", t)
	res, err := t.Write(ctx, data, session.WriteOptions{})
	c.warnings = append(c.warnings, res.Warnings...)
	if err != nil {
		return nil, err
	}
	if res.TimedOut {
		return nil, &incomplete{&term.Error{Session: in.ID, Kind: term.ExecTimeout, Msg: fmt.Sprintf(
			"the program took %d of %d bytes in time; see its state with pty_read, or interrupt it with pty_signal INT",
			res.Written,
			len(data),
		)}, sent{res.Written, res.Pending}}
	}
	return &sendOut{BytesWritten: res.Written}, nil
}

// ptyResize sets the size of the terminal's window in characters.
func (s *Set) ptyResize(ctx context.Context, c *call, in *resizeArgs) (*done, error) {
	t, _, err := s.terminal(ctx, c, term.VerbResize, in.ID)
	if err != nil {
		return nil, err
	}
	if err := t.Resize(ctx, in.Cols, in.Rows); err != nil {
		return nil, err
	}
	return new(done), nil
}

// ptySignal sends a signal to the program of a terminal.
func (s *Set) ptySignal(ctx context.Context, c *call, in *signalArgs) (*done, error) {
	t, _, err := s.terminal(ctx, c, term.VerbSignal, in.ID)
	if err != nil {
		return nil, err
	}
	if err := t.Signal(ctx, string(in.Signal)); err != nil {
		return nil, err
	}
	return new(done), nil
}

// closeOut is the result of pty_close.
type closeOut struct {
	RC         *int   `json:"rc,omitempty" is:"listed" doc:"128 + n after signal n"` // nil: unknown
	Signal     string `json:"signal,omitempty" is:"listed"`
	DurationMS int64  `json:"duration_ms" is:"listed" doc:"of the program"`
	meta
}

// ptyClose ends the program of a terminal and waits for its end. Further calls return the
// same result while the session is kept.
func (s *Set) ptyClose(ctx context.Context, c *call, in *closeArgs) (*closeOut, error) {
	t, _, err := s.terminal(ctx, c, term.VerbClose, in.ID)
	if err != nil {
		return nil, err
	}
	if err := t.ServerView().MayClose(ctx, false); err != nil {
		return nil, err
	}
	t.Close(ctx, session.CloseOptions{})
	// The times are the manager's, so that a second close reports the same duration.
	i := t.Info()
	out := &closeOut{Signal: i.End.Exit.Signal, DurationMS: i.End.Time.Sub(i.Created).Milliseconds()}
	if i.End.Exit.Known {
		out.RC = &i.End.Exit.Code
	}
	return out, nil
}
