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
	"ptyctl/session/forward"
	"ptyctl/session/known"
	"ptyctl/session/transfer"
	"ptyctl/session/xmodem"
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
func (v ServerView) OffersFiles() (here, far bool) { return v.m.c.Files != nil, v.m.c.FarFiles != nil }

// Files are the files of the session's far side.
func (s *Session) Files() *Files {
	return s.far.Files(s.auth, func() (*known.View, func()) { return s.known, func() {} })
}

// Forwards are the connections that the session forwards, from this machine to addresses that its far side reaches.
func (s *Session) Forwards() *forward.Set { return s.forward }

// OffersForwards says whether connections may be forwarded, and whether from a TCP port.
func (v ServerView) OffersForwards() (offered, tcp bool) {
	if v.m == nil || v.m.c.Forward == nil {
		return false, false
	}
	return true, v.m.c.Forward.TCP
}

// A carrier is the session as packages transfer and forward see it.
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

// Forwarder implements forward.Carrier.
func (c carrier) Forwarder() term.Forwarder { return c.s.link.Load().forwarder }

// Used puts the idle timeout off.
func (c carrier) Used() { c.s.timeouts.touch() }

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
	Lent    CopySource // in place of Session, where the copy comes from; Copy closes it
}

// A CopyRequest is a file or a tree to copy.
type CopyRequest struct {
	From, To CopyPlace
	// Via moves a file of this machine to or from the terminal of the session at the other end, by that protocol. The
	// path of that end is the file name that YMODEM sends; it may be empty. The moved bytes are input. The caller
	// must first start the program at the far side.
	Via       Via
	Recursive bool          // From is a folder
	Resume    bool          // resume the partial file of an earlier copy with Resume
	Verify    *bool         // read the copy back before it takes its place; nil: of files smaller than 64 MiB
	Timeout   time.Duration // after which the copy is stopped; 0: a day
	Wait      time.Duration // the longest this call waits; 0: as long as it takes

	Progress func(moved int64) // takes the bytes moved so far; must not block; may be nil

	// Show returns the output of the copy's end for ContinueExec, err nil or not. Nil: no output.
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
	Modem    *ModemResult // of a copy with Via that is over
}

// A Via is a protocol that moves a file over a terminal.
type Via = xmodem.Protocol

// A ModemResult is the additional result of a copy with Via.
type ModemResult = transfer.ModemResult

const (
	// modemMemory is the memory for a copy with CopyRequest.Via.
	modemMemory = 256 << 10

	// copyMemory is what one copy takes for its blocks, counted like output: together they must not fill the memory.
	// It is at most half of the limit for output.
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
	most := int64(copyMemory)
	if r.Via != "" {
		if err := r.overTerminal(); err != nil {
			r.From.giveBack()
			return CopyResult{}, err
		}
		most = modemMemory
	}
	memory := m.limits.memory
	if c.memory = int(min(most, memory.Limit()/2)); !memory.Take(c.memory) {
		r.From.giveBack()
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
		r.From.giveBack()
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
		r.From.giveBack()
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
	if c.r.Via != "" {
		c.modem(ctx, exec)
	} else {
		c.result.Result, c.err = transfer.Copy(ctx, transfer.CopyRequest{
			From: c.m.copyEnd(c.r.From), To: c.m.copyEnd(c.r.To),
			Recursive: c.r.Recursive, Resume: c.r.Resume, Verify: c.r.Verify,
			MaxBytes: c.m.c.Copies.Bytes, MaxFiles: c.m.c.Copies.Files, Parts: &c.m.parts,
			ID: c.id, Exec: exec, Progress: c.progress(),
		})
	}
	for _, end := range []CopyPlace{c.r.From, c.r.To} {
		if end.Session != nil {
			c.err = end.Session.known.Error(c.err)
		}
	}
	c.result.Moved, c.result.Total = c.moved.Load(), c.total.Load()
	c.result.Duration = time.Since(c.began)
}

// progress returns the function that takes the progress of the copy.
func (c *copyRun) progress() func(moved, total int64) {
	told := c.began
	return func(moved, total int64) {
		c.moved.Store(moved)
		c.total.Store(total)
		if c.r.Progress != nil {
			c.r.Progress(moved)
		}
		if now := time.Now(); c.tell != nil && now.Sub(told) >= copyTells {
			told = now
			_, _ = fmt.Fprintf(c.tell, "%d of %d bytes\n", moved, total)
		}
	}
}

// modem moves a file over the terminal of a session.
func (c *copyRun) modem(ctx context.Context, exec string) {
	here, there, send := c.r.From, c.r.To, true
	if there.Session == nil {
		here, there, send = there, here, false
	}
	var told ModemResult
	c.result.Result, told, c.err = transfer.Modem(ctx, transfer.ModemRequest{
		Protocol: c.r.Via, Send: send, Here: c.m.copyEnd(here), Name: there.Path,
		MaxBytes: c.m.c.Copies.Bytes, ID: c.id, Exec: exec, Progress: c.progress(),
		Take: func(ctx context.Context, detail string) (transfer.Terminal, error) {
			return there.Session.writer.takeTerminal(ctx, term.Event{
				Detail: detail, Sensitive: true, Exec: exec, PartOf: term.PartOf{Copy: c.id},
			})
		},
	})
	told.Name = there.Session.known.String(told.Name)
	c.result.Modem = &told
}

// overTerminal refuses requests that a copy with Via cannot fulfil.
func (r CopyRequest) overTerminal() error {
	switch {
	case r.From.Lent != nil, r.From.Session != nil == (r.To.Session != nil):
		return &term.Error{
			Op: "copy", Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.FieldCopyTo}},
			Msg: "over a terminal, a file of this machine is moved: one end is a session and the other is not",
		}
	case r.Recursive, r.Resume, r.Verify != nil && *r.Verify:
		return &term.Error{
			Op: "copy", Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.FieldCopyFrom}},
			Msg: "over a terminal, one file is moved from its beginning, and not read back",
		}
	}
	return nil
}

// giveBack closes the files lent to a copy that does not begin.
func (p CopyPlace) giveBack() {
	if p.Lent != nil {
		p.Lent.Close()
	}
}

// copyEnd returns the files of an end.
func (m *Manager) copyEnd(p CopyPlace) transfer.CopyEnd {
	if p.Lent != nil {
		return transfer.CopyEnd{Lent: p.Lent, Path: p.Path}
	}
	files := m.Files()
	if p.Session != nil {
		files = p.Session.Files()
	}
	return transfer.CopyEnd{Files: files, Path: p.Path}
}

// A CopySource is the end of a copy that is read, where another process has it.
type CopySource = transfer.Source

// A CopyPart names the copy that an action belongs to.
type CopyPart = transfer.Part

// lendMemory is the share of the memory for output that the files of a session may take while a copy of another
// process reads them. It is at most half of the limit for output.
const lendMemory = 8 << 20

// A Lending is the files of a session for one copy that another process runs, in the name of the actor of each call's
// context. Every file is authorized and recorded by itself. It ends with the session: see Context.
type Lending struct {
	*transfer.Lending
	Limits CopyLimits // that are set here for one copy

	known  *known.View
	closed func()
}

// Lend lends the files of a session's far side to a copy. The caller must close the Lending, also when the session has
// ended.
func (v ServerView) Lend(s *Session) (*Lending, error) {
	limits := v.m.limits
	n := int(min(lendMemory, limits.memory.Limit()/2))
	if !limits.memory.Take(n) {
		return nil, limits.noMemoryToCopy(n)
	}
	most := CopyLimits{Bytes: cmp.Or(v.m.c.Copies.Bytes, 1<<30), Files: cmp.Or(v.m.c.Copies.Files, 10_000)}
	return &Lending{
		Lending: s.Files().Lend(), Limits: most, known: s.known, closed: func() { limits.memory.Give(n) },
	}, nil
}

// Close ends the copy's connection.
func (l *Lending) Close() {
	l.Lending.Close()
	l.closed()
}

// Named returns an error as the other process may know it: it names the session, and has no secret.
func (l *Lending) Named(err error) error { return l.known.Error(l.Lending.Named(err)) }
