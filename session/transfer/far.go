package transfer

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// filesIdle is how long an unused connection for files is kept.
const filesIdle = time.Minute

// A Connect makes files of a channel to the far side's SFTP server. It owns the channel, also when it fails.
type Connect = func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error)

// A Carrier is a session, as far as it is needed to reach the files of its far side. Its methods may be called by any
// number of goroutines.
type Carrier interface {
	Context() context.Context // ends with the session

	Alive(op string) error             // says why the session is not open; nil: it is
	Ended(op string) error             // says why the session has ended; requires that its context is done
	Failed(op string, err error) error // names op and the session in an error of the far side

	Busy() (done func())                       // the session is not idle until done is called
	Spawn(where string, f func()) (begun bool) // f runs in a goroutine for which the session's end waits

	// Channel opens a channel to the far side's SFTP server. Carries reports whether the protocol has such channels
	// at all.
	Channel(ctx context.Context) (io.ReadWriteCloser, error)
	Carries() bool
}

// Far are the files of a session's far side. The connection for them is made at first use, beside the terminal, and
// carries one action at a time: so an end forced on a hanging action ends no other.
type Far struct {
	session string // its id, for errors
	carrier Carrier
	dial    Connect       // nil: the files are not offered
	turn    chan struct{} // holds one token: its owner uses the connection, makes it, or ends it

	mu   sync.Mutex // guards the following
	conn *fileConn  // nil: none
}

// NewFar returns the files at the far side of the session with that id. If connect is nil, every action is refused:
// they are not offered.
func NewFar(session string, carrier Carrier, connect Connect) *Far {
	return &Far{session: session, carrier: carrier, dial: connect, turn: make(chan struct{}, 1)}
}

// Files returns the files for callers. auth must permit each of their actions.
func (f *Far) Files(auth *access.Authorizer, hide Hiding) *Files {
	return &Files{auth: auth, far: f, hide: hide}
}

// A fileConn is one connection for files. A goroutine of the session keeps it, and closes it.
type fileConn struct {
	files term.Files
	used  chan struct{} // buffered: it was used just now
	over  chan struct{} // closed when it is closed
}

// possible refuses actions that this session cannot do, now or ever.
func (f *Far) possible(verb term.Verb) error {
	if err := f.carrier.Alive(string(verb)); err != nil {
		return err
	}
	switch {
	case f.dial == nil:
		err := notOffered(verb, term.SettingRemoteFiles)
		return f.carrier.Failed(string(verb), err)
	case !f.carrier.Carries():
		return &term.Error{
			Op:      string(verb),
			Session: f.session,
			Kind:    term.Unsupported,
			Reason:  term.ReasonNoFiles,
			Msg:     "this session's protocol carries no files: only an SSH session does",
			Advice:  "Manager.Files has the files of this machine",
		}
	}
	return nil
}

// alsoWritten adds to the error of the session's end how much of a file was written before, if err, its consequence, says so.
func alsoWritten(ended, err error) error {
	e, ok := errors.AsType[*term.Error](ended)
	from, ok2 := errors.AsType[*term.Error](err)
	if !ok || !ok2 {
		return ended
	}
	for _, fact := range from.Facts {
		if part, ok := fact.(term.PartialWrite); ok {
			both := *e
			both.Facts = e.Facts.With(part)
			return &both
		}
	}
	return ended
}

// use calls do with the connection, and makes one if needed. The context of do ends with the session's, too.
func (f *Far) use(ctx context.Context, verb term.Verb, do func(context.Context, term.Files) error) error {
	session, call := f.carrier.Context(), ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	defer f.carrier.Busy()()

	err := f.inTurn(ctx, verb, do)
	switch {
	case err == nil:
		return nil
	case session.Err() != nil:
		return alsoWritten(f.carrier.Ended(string(verb)), err)
	case call.Err() != nil && !errors.As(err, new(*term.Error)):
		err = &term.Error{
			Kind: term.Canceled,
			Err:  err,
			Msg:  "the call was over before the files of the far side could be reached; try again, with more time",
		}
	}
	return f.carrier.Failed(string(verb), err)
}

// inTurn waits for its turn and calls do with the connection. A read that finds an old connection lost is tried again
// on a new one; a write is not, because the far side may have done it already.
func (f *Far) inTurn(ctx context.Context, verb term.Verb, do func(context.Context, term.Files) error) error {
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
func (f *Far) connect(ctx context.Context) (c *fileConn, fresh bool, err error) {
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
	channel, err := f.carrier.Channel(ctx)
	if err != nil {
		return nil, false, err
	}
	files, err := f.dial(ctx, channel)
	if err != nil {
		return nil, false, err
	}
	c = &fileConn{files: files, used: make(chan struct{}, 1), over: make(chan struct{})}
	f.mu.Lock()
	f.conn = c
	f.mu.Unlock()
	if !f.carrier.Spawn("files", func() { f.keep(c) }) {
		f.end(c)
		return nil, false, f.carrier.Ended("files")
	}
	return c, true, nil
}

// keep closes the connection when it is of no use, was not used for a while, or the session ends.
func (f *Far) keep(c *fileConn) {
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
		case <-f.carrier.Context().Done(): // the action under way ends by itself, and tidies up
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
func (f *Far) end(c *fileConn) {
	_ = c.files.Close()
	f.mu.Lock()
	if f.conn == c {
		f.conn = nil
	}
	f.mu.Unlock()
	close(c.over)
}

// Stop waits, at most for limit, until no connection is left of a session that has ended.
func (f *Far) Stop(limit time.Duration) {
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
