package aiterm

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// stamp is the format of times: UTC with microseconds, so that all have the same length
// and sort as text.
const stamp = "2006-01-02T15:04:05.000000Z"

// done is the result of an action that returns nothing else.
type done struct{ meta }

// openOut is the result of pty_open.
type openOut struct {
	ID        string `json:"id"`
	StartedAt string `json:"started_at"`
	meta
}

// ptyOpen starts a program on a terminal. The numbering must exist before the session
// does, so that the observer misses no output; ptyOpen therefore chooses the session's
// id.
func (s *Set) ptyOpen(ctx context.Context, c *call) (result, error) {
	in := struct {
		Argv       []string
		Rows, Cols int
		Cwd        string
		Env        map[string]string
		TimeoutMS  int64 `json:"timeout_ms"`
	}{Rows: 40, Cols: 120}
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	local, err := c.program(in.Argv, in.Cwd, in.Env)
	if err != nil {
		return nil, err
	}
	id := session.NewID(filepath.Base(in.Argv[0]))
	n := s.follow(id)
	c.Waits("the start of the program", nil)
	r, err := c.Options().Sessions.Open(ctx, session.OpenRequest{
		ID: id, Target: term.Target{Protocol: "local", PTY: term.PTY{Cols: in.Cols, Rows: in.Rows}, Local: local},
		Life: time.Duration(in.TimeoutMS) * time.Millisecond, Wait: c.Options().MaxWait,
	})
	if err != nil {
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
	BytesWritten int `json:"bytes_written"`
	meta
}

// sent is the partial result of a write that the program did not read completely.
type sent struct {
	BytesWritten int `json:"bytes_written"`
	BytesPending int `json:"bytes_pending"` // bytes in the queue that may still be written
}

// ptySend types bytes into a terminal.
func (s *Set) ptySend(ctx context.Context, c *call) (result, error) {
	var in struct{ ID, Data string }
	if err := c.Args(&in); err != nil {
		return nil, err
	}
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
func (s *Set) ptyResize(ctx context.Context, c *call) (result, error) {
	var in struct {
		ID         string
		Rows, Cols int
	}
	if err := c.Args(&in); err != nil {
		return nil, err
	}
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
func (s *Set) ptySignal(ctx context.Context, c *call) (result, error) {
	var in struct{ ID, Signal string }
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	t, _, err := s.terminal(ctx, c, term.VerbSignal, in.ID)
	if err != nil {
		return nil, err
	}
	if err := t.Signal(ctx, in.Signal); err != nil {
		return nil, err
	}
	return new(done), nil
}

// closeOut is the result of pty_close.
type closeOut struct {
	RC         *int   `json:"rc,omitempty"` // exit code; nil: unknown
	Signal     string `json:"signal,omitempty"`
	DurationMS int64  `json:"duration_ms"` // from pty_open to the program's end
	meta
}

// ptyClose ends the program of a terminal and waits for its end. Further calls return the
// same result while the session is kept.
func (s *Set) ptyClose(ctx context.Context, c *call) (result, error) {
	var in struct{ ID string }
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	t, _, err := s.terminal(ctx, c, term.VerbClose, in.ID)
	if err != nil {
		return nil, err
	}
	if err := t.MayClose(ctx, false); err != nil {
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
