package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/filecopy"
	"ptyctl/session/known"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

// Files are the files of one machine as a caller may use them. Each call is one action, and authorized as such.
type Files = transfer.Files

// FarFiles makes files of a channel to the far side's SFTP server. It owns the channel, also when it fails.
type FarFiles = transfer.Connect

// Files are the files of this machine that the Config offers.
func (m *Manager) Files() *Files {
	return transfer.Local(access.New(access.Options{
		Protocol: "local", Host: "localhost",
		Gate: m.c.Gate, Journal: m.c.Journal, Observers: m.c.Observers, Log: m.c.Logger,
	}), m.c.Files, func() (*known.View, func()) { return m.c.Input.Known.Visit(term.Place("", 0)) })
}

// OffersFiles says whether files of this machine, and those of far sides, are offered.
func (m *Manager) OffersFiles() (here, far bool) { return m.c.Files != nil, m.c.FarFiles != nil }

// Files are the files of the session's far side.
func (s *Session) Files() *Files {
	return s.far.Files(s.auth, func() (*known.View, func()) { return s.known, func() {} })
}

// A carrier is the session as package transfer sees it.
type carrier struct{ s *Session }

func (c carrier) Context() context.Context          { return c.s.life.ctx }
func (c carrier) Alive(op string) error             { return c.s.life.alive(op) }
func (c carrier) Ended(op string) error             { return c.s.life.endedError(op) }
func (c carrier) Failed(op string, err error) error { return c.s.life.transportError(op, err) }
func (c carrier) Spawn(where string, f func()) bool { return c.s.group.spawn(where, f) }
func (c carrier) Carries() bool                     { return c.s.link.Load().subsystems != nil }

// Channel opens the SFTP subsystem of an SSH connection (RFC 4254 section 6.5).
func (c carrier) Channel(ctx context.Context) (io.ReadWriteCloser, error) {
	return c.s.link.Load().subsystems.Subsystem(ctx, "sftp")
}

// Busy counts the action as running, so that the idle timeout does not close the session meanwhile.
func (c carrier) Busy() (done func()) {
	s := c.s
	s.count.running.Add(1)
	s.timeouts.touch()
	return func() {
		s.timeouts.touch()
		s.count.running.Add(-1)
	}
}

// CopyLimits bound one copy.
type CopyLimits struct {
	Bytes int64 // 0: 1 GiB
	Files int   // with folders; 0: 10,000
}

// A CopyPlace is one end of a copy.
type CopyPlace struct {
	Session *Session // nil: this machine
	Path    string
}

// A CopyRequest is a file or a tree to copy.
type CopyRequest struct {
	From, To  CopyPlace
	Recursive bool          // From is a folder
	Resume    bool          // go on with what an earlier copy with Resume has left
	Verify    *bool         // read the copy back before it takes its place; nil: of files smaller than 64 MiB
	Timeout   time.Duration // after which the copy is stopped; 0: a day
	Wait      time.Duration // the longest this call waits; 0: as long as it takes

	Progress func(moved int64) // takes the bytes moved so far; must not block; may be nil

	// Show returns what ContinueExec has of the copy: the output of its end, err nil or not. Nil: nothing.
	Show func(r CopyResult, err error) []byte
}

// A CopyResult is the outcome of a copy, or with ID of one that goes on: ContinueExec and CancelExec of the Session take
// the ID. Their results have the output that CopyRequest.Show makes on the standard output, or the standard error if
// the copy has failed, and then the exit status 1. Until then the standard error has a line of progress now and then.
type CopyResult struct {
	filecopy.Result

	Session  string // that of the target, or else that of the source; only with ID
	ID       string // empty: it is over
	Moved    int64  // bytes so far
	Total    int64  // bytes of all, as far as is known
	Duration time.Duration
}

const (
	// copyMemory is what one copy takes for its blocks, counted as output is: together they must not fill the memory.
	// Of a smaller limit for output it takes half.
	copyMemory = 16 << 20

	longestCopy = 24 * time.Hour

	// copySettle is how long a result waits, beyond the copy's deadline, for the copy to tidy up.
	copySettle = 4 * time.Second

	// copyTells is the time between two lines of progress.
	copyTells = 20 * time.Second
)

// Copy copies a file or a tree, and waits for its end, at most r.Wait. It then goes on as an exec of the session, if
// one of the ends has a session; a copy within this machine ends with the call.
//
// Every file is authorized and recorded by itself, at both ends. Package filecopy lists the promises of a copy.
func (m *Manager) Copy(ctx context.Context, r CopyRequest) (CopyResult, error) {
	c := &copyRun{m: m, r: r, began: time.Now(), id: NewID("copy")}
	r.Timeout = cmp.Or(r.Timeout, longestCopy)
	r.Wait = cmp.Or(r.Wait, r.Timeout+copySettle)
	s := cmp.Or(r.To.Session, r.From.Session)
	memory := m.limits.memory
	if c.memory = int(min(copyMemory, memory.Limit()/2)); !memory.Take(c.memory) {
		return CopyResult{}, m.limits.noMemoryToCopy(c.memory)
	}
	if s == nil {
		ctx, cancel := context.WithTimeout(ctx, min(r.Timeout, r.Wait))
		defer cancel()
		defer memory.Give(c.memory)
		c.run(ctx, "")
		return c.result, c.err
	}
	return s.execs.copy(ctx, c, r)
}

// copy runs a copy as an exec, without a command.
func (e *execs) copy(ctx context.Context, c *copyRun, r CopyRequest) (CopyResult, error) {
	memory := c.m.limits.memory
	x, err := e.newRun(ExecRequest{Timeout: r.Timeout}, LaneChannel, term.ActorFrom(ctx))
	if err != nil {
		memory.Give(c.memory)
		return CopyResult{}, err
	}
	defer e.letGo(x)
	x.proof, x.recorded = proofTime{copySettle, copySettle}, nil
	c.tell = x.stderr
	ok := e.launch(x, func() (term.Exit, error) {
		defer memory.Give(c.memory)
		// The caller's name, but not the end of its call.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
		c.run(ctx, x.id)
		exit := term.Exit{Started: true, Known: true}
		out := io.Writer(x.stdout)
		if c.err != nil {
			exit.Code, out = 1, x.stderr
		}
		if c.r.Show != nil {
			_, _ = out.Write(c.r.Show(c.result, c.err))
		}
		return exit, nil
	})
	if !ok {
		memory.Give(c.memory)
		return CopyResult{}, e.s.life.endedError("copy")
	}
	x.deadline.Attend()
	err = e.await(ctx, x, r.Wait-time.Since(c.began))
	x.deadline.Leave(true)
	if err != nil {
		return CopyResult{}, err
	}
	if !x.ended() {
		x.handed.Store(true)
		return CopyResult{
			Session: e.s.id, ID: x.id, Moved: c.moved.Load(), Total: c.total.Load(), Duration: time.Since(c.began),
		}, nil
	}
	x.fetched.Store(true)
	if !x.handed.Load() {
		e.forget(x.id)
	}
	return c.result, c.err
}

// A copyRun is one copy.
type copyRun struct {
	m      *Manager
	r      CopyRequest
	id     string
	began  time.Time
	memory int       // that it has taken
	tell   io.Writer // of progress; nil: none

	moved, total atomic.Int64

	result CopyResult // set by run
	err    error
}

// run copies.
func (c *copyRun) run(ctx context.Context, exec string) {
	told := c.began
	c.result.Result, c.err = transfer.Copy(ctx, transfer.CopyRequest{
		From: c.m.copyEnd(c.r.From), To: c.m.copyEnd(c.r.To),
		Recursive: c.r.Recursive, Resume: c.r.Resume, Verify: c.r.Verify,
		MaxBytes: c.m.c.Copies.Bytes, MaxFiles: c.m.c.Copies.Files, Parts: &c.m.parts,
		ID: c.id, Exec: exec,
		Progress: func(moved, total int64) {
			c.moved.Store(moved)
			c.total.Store(total)
			if c.r.Progress != nil {
				c.r.Progress(moved)
			}
			if now := time.Now(); c.tell != nil && now.Sub(told) >= copyTells {
				told = now
				_, _ = fmt.Fprintf(c.tell, "%d of %d bytes\n", moved, total)
			}
		},
	})
	for _, end := range []CopyPlace{c.r.From, c.r.To} {
		if end.Session != nil {
			c.err = end.Session.known.Error(c.err)
		}
	}
	c.result.Moved, c.result.Total = c.moved.Load(), c.total.Load()
	c.result.Duration = time.Since(c.began)
}

// copyEnd returns the files of an end.
func (m *Manager) copyEnd(p CopyPlace) transfer.CopyEnd {
	files := m.Files()
	if p.Session != nil {
		files = p.Session.Files()
	}
	return transfer.CopyEnd{Files: files, Path: p.Path}
}
