package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"ptyctl/term"
)

// filesIdle is how long a connection for files is kept that nobody uses.
const filesIdle = time.Minute

// farFiles are the files of a session's far side. The connection for them is made when it is first needed, beside the
// terminal, and carries one action at a time: so whatever ends an action that hangs ends nobody else's.
type farFiles struct {
	s    *Session
	turn chan struct{} // holds one token: whoever has it uses the connection, makes it, or ends it

	mu   sync.Mutex // guards the following
	conn *fileConn  // nil: none
}

// A fileConn is one connection for files. A goroutine of the session's keeps it, and closes it.
type fileConn struct {
	files term.Files
	used  chan struct{} // buffered: it was used just now
	over  chan struct{} // closed when it is closed
}

// possible refuses what this session cannot do, now or ever.
func (f *farFiles) possible(verb term.Verb) error {
	s := f.s
	if err := s.life.alive(string(verb)); err != nil {
		return err
	}
	switch {
	case s.o.FarFiles == nil:
		err := notOffered(verb, term.SettingRemoteFiles)
		return s.life.transportError(string(verb), err)
	case s.link.Load().subsystems == nil:
		return &term.Error{
			Op:      string(verb),
			Session: s.id,
			Kind:    term.Unsupported,
			Reason:  term.ReasonNoFiles,
			Msg:     "this session's protocol carries no files: only an SSH session does",
			Advice:  "Manager.Files has the files of this machine",
		}
	}
	return nil
}

// use gives do the connection, and makes it if there is none. The context of do ends with the session's, too.
func (f *farFiles) use(ctx context.Context, verb term.Verb, do func(context.Context, term.Files) error) error {
	s := f.s
	call := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life.ctx, cancel)()
	s.count.running.Add(1)
	defer s.count.running.Add(-1)
	s.timeouts.touch()
	defer s.timeouts.touch()

	err := f.inTurn(ctx, verb, do)
	switch {
	case err == nil:
		return nil
	case s.life.ctx.Err() != nil:
		return s.life.endedError(string(verb))
	case call.Err() != nil && !errors.As(err, new(*term.Error)):
		err = &term.Error{
			Kind: term.Canceled,
			Err:  err,
			Msg:  "the call was over before the files of the far side could be reached; try again, with more time",
		}
	}
	return s.life.transportError(string(verb), err)
}

func (f *farFiles) inTurn(ctx context.Context, verb term.Verb, do func(context.Context, term.Files) error) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		c, fresh, err := f.connect(ctx)
		if err != nil {
			return err
		}
		err = do(ctx, c.files)
		select {
		case c.used <- struct{}{}:
		default:
		}
		if fresh || verb != term.VerbFileRead || ctx.Err() != nil || !errors.Is(err, term.RemoteClosed) {
			return err
		}
		// The far side had ended it since it was last used, which nobody knew yet. What only reads can be done again.
		select {
		case <-c.files.Lost():
		case <-ctx.Done():
			return err
		}
	}
}

// connect returns the connection, and whether it was just made. Requires the turn.
func (f *farFiles) connect(ctx context.Context) (c *fileConn, fresh bool, err error) {
	f.mu.Lock()
	c = f.conn
	f.mu.Unlock()
	if c != nil {
		select {
		case <-c.files.Lost():
			<-c.over
		default:
			return c, false, nil
		}
	}
	channel, err := f.s.link.Load().subsystems.Subsystem(ctx, "sftp")
	if err != nil {
		return nil, false, err
	}
	files, err := f.s.o.FarFiles(ctx, channel)
	if err != nil {
		return nil, false, err
	}
	c = &fileConn{files: files, used: make(chan struct{}, 1), over: make(chan struct{})}
	f.mu.Lock()
	f.conn = c
	f.mu.Unlock()
	if !f.s.group.spawn("files", func() { f.keep(c) }) {
		f.end(c)
		return nil, false, f.s.life.endedError("files")
	}
	return c, true, nil
}

// keep closes the connection when it is of no use, was not used for a while, or the session ends.
func (f *farFiles) keep(c *fileConn) {
	idle := time.NewTimer(filesIdle)
	defer idle.Stop()
	for {
		select {
		case <-c.used:
			idle.Reset(filesIdle)
			continue
		case <-c.files.Lost():
			f.end(c)
			return
		case <-idle.C:
		case <-f.s.life.ctx.Done(): // what is under way ends by itself, and tidies up
		}
		select {
		case f.turn <- struct{}{}:
			f.end(c)
			<-f.turn
		case <-c.files.Lost():
			f.end(c)
		}
		return
	}
}

// end closes c, and lets the next action make another.
func (f *farFiles) end(c *fileConn) {
	_ = c.files.Close()
	f.mu.Lock()
	if f.conn == c {
		f.conn = nil
	}
	f.mu.Unlock()
	close(c.over)
}

// stop waits, at most for limit, until no connection is left of a session that has ended.
func (f *farFiles) stop(limit time.Duration) {
	f.mu.Lock()
	c := f.conn
	f.mu.Unlock()
	if c == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.over:
	case <-timer.C:
	}
}
