package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// Files are the files of one machine as a caller may use them. Each call is one action: the Gate decides on it, and
// the record has its path and its number of bytes, never the bytes. If the session is locked, a write must come from
// the holder of the lock; a read needs no lock.
type Files struct {
	auth *access.Authorizer
	s    *Session   // the session of the far side; nil: this machine
	here term.Files // of this machine; nil: they are not offered
}

// FarFiles makes files of a channel to the far side's SFTP server. It owns the channel, also when it fails.
type FarFiles = func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error)

// Files are the files of this machine that the Config offers.
func (m *Manager) Files() *Files {
	return &Files{
		here: m.c.Files,
		auth: access.New(access.Options{
			Protocol: "local", Host: "localhost",
			Gate: m.c.Gate, Journal: m.c.Journal, Observers: m.c.Observers, Log: m.c.Logger,
		}),
	}
}

// OffersFiles says whether files of this machine, and those of far sides, are offered.
func (m *Manager) OffersFiles() (here, far bool) { return m.c.Files != nil, m.c.FarFiles != nil }

// Files are the files of the session's far side.
func (s *Session) Files() *Files { return &Files{s: s, auth: s.auth} }

// Read reads a part of a file.
//
// A read with an offset begins there, and its record names the offset.
func (f *Files) Read(ctx context.Context, r term.FileRead) (d term.FileData, err error) {
	e := term.Event{Path: r.Path}
	if r.Offset != 0 {
		e.Detail = fmt.Sprintf("offset %d", r.Offset)
	}
	err = f.act(ctx, term.VerbFileRead, e, func(ctx context.Context, files term.Files) (int64, error) {
		d, err = files.Read(ctx, r)
		return int64(len(d.Data)), err
	})
	return d, err
}

// List lists a part of a folder.
//
// Listing needs the permission of a read and no lock.
func (f *Files) List(ctx context.Context, r term.FileList) (l term.FileListing, err error) {
	err = f.act(
		ctx,
		term.VerbFileRead,
		term.Event{Path: r.Path, Detail: "list"},
		func(ctx context.Context, files term.Files) (int64, error) {
			l, err = files.List(ctx, r)
			return 0, err
		},
	)
	return l, err
}

// Stat returns the entry of the file at path.
//
// Like List, it needs the permission of a read.
func (f *Files) Stat(ctx context.Context, path string) (e term.FileEntry, err error) {
	err = f.act(
		ctx,
		term.VerbFileRead,
		term.Event{Path: path, Detail: "stat"},
		func(ctx context.Context, files term.Files) (int64, error) {
			e, err = files.Stat(ctx, path)
			return 0, err
		},
	)
	return e, err
}

// Write writes a file.
//
// The record names its mode, and whether it appends or replaces the file non-atomically. If the connection is lost,
// the file may have been written: Write is never repeated.
func (f *Files) Write(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	e := term.Event{Path: w.Path}
	switch {
	case w.Append:
		e.Detail = "append"
	case w.NonAtomic:
		e.Detail = "non_atomic"
	}
	if w.Mode != nil {
		e.Detail = fmt.Sprintf("mode %04o %s", *w.Mode, e.Detail)
	}
	err = f.act(ctx, term.VerbFileWrite, e, func(ctx context.Context, files term.Files) (int64, error) {
		out, err = files.Write(ctx, w)
		return out.Bytes, err
	})
	return out, err
}

// act carries out one action, and tells how many bytes it moved.
func (f *Files) act(
	ctx context.Context,
	verb term.Verb,
	e term.Event,
	do func(context.Context, term.Files) (int64, error),
) error {
	d := f.auth.Begin(ctx, verb, e)
	err := f.permit(ctx, d)
	if err == nil {
		moved := func(ctx context.Context, files term.Files) error {
			n, err := do(ctx, files)
			d.Event.Size = int(n)
			return err
		}
		if f.s != nil {
			err = f.s.far.use(ctx, verb, moved)
		} else {
			err = moved(ctx, f.here)
		}
	}
	d.End(err)
	return err
}

// permit asks whether the action of d may be done, and can be.
func (f *Files) permit(ctx context.Context, d *access.Call) error {
	a := term.Action{Path: d.Event.Path}
	if f.s == nil {
		if f.here == nil {
			return notOffered(d.Event.Verb, term.SettingLocalFiles)
		}
		return d.PermitUnlocked(ctx, a)
	}
	if err := f.s.far.possible(d.Event.Verb); err != nil {
		return err
	}
	if d.Event.Verb == term.VerbFileRead {
		return d.PermitUnlocked(ctx, a)
	}
	_, err := d.Permit(ctx, a)
	return err
}

// notOffered is the error for files that the operator does not offer.
func notOffered(verb term.Verb, files term.Setting) error {
	return &term.Error{
		Op: string(verb), Kind: term.PolicyDenied, Facts: term.Facts{term.Denial{Setting: files}},
		Msg: "the " + string(files) + " are not offered", Advice: "the operator may change that",
	}
}

// filesIdle is how long an unused connection for files is kept.
const filesIdle = time.Minute

// farFiles are the files of a session's far side. The connection for them is made at first use, beside the terminal,
// and carries one action at a time: so an end forced on a hanging action ends no other.
type farFiles struct {
	s    *Session
	turn chan struct{} // holds one token: its owner uses the connection, makes it, or ends it

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

// use calls do with the connection, and makes one if needed. The context of do ends with the session's, too.
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

// inTurn waits for its turn and calls do with the connection. A read that finds an old connection lost is tried again
// on a new one; a write is not, because the far side may have done it already.
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
		// The far side had ended it since its last use, unnoticed. An action that only reads can be done again.
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
		case <-f.s.life.ctx.Done(): // the action under way ends by itself, and tidies up
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
