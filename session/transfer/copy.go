package transfer

import (
	"context"
	"errors"
	"time"

	"ptyctl/session/filecopy"
	"ptyctl/term"
)

// copyGrace is how long a copy may tidy up, once it is over, before its connections are closed.
const copyGrace = 2 * time.Second

// A CopyEnd is one end of a copy: the files of a machine, and a path there.
type CopyEnd struct {
	Files *Files
	Path  string
	Lent  Source // in place of Files, at the end that is read; Copy closes it
}

// A CopyRequest describes a copy. The fields that are not explained here are those of filecopy.Copy.
type CopyRequest struct {
	From, To  CopyEnd
	Recursive bool
	Resume    bool
	Verify    *bool
	New       bool
	MaxBytes  int64
	MaxFiles  int
	Parts     *filecopy.Parts
	Progress  func(moved, total int64)
	Compare   func(ctx context.Context, path string) bool

	ID   string // of the copy, for the record
	Exec string // by which callers wait for it; empty: by none
}

// Copy copies a file or a tree. Every file of it is an action of its own at either end, and the records of all have the
// ID: a read, which needs no lock, and a write, which needs that of the target's session.
//
// Each session gets a connection for the copy alone, so that other calls need not wait for it. The copy ends with
// either session.
func Copy(ctx context.Context, r CopyRequest) (filecopy.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &copying{CopyRequest: r, lent: make(map[*Far]term.CopyFiles)}
	defer c.release()
	for _, f := range c.fars() {
		defer context.AfterFunc(f.carrier.Context(), cancel)()
	}
	result, err := (&filecopy.Copy{
		From:      c.end(r.From, term.VerbFileRead),
		To:        c.end(r.To, term.VerbFileWrite),
		Recursive: r.Recursive, Resume: r.Resume, Verify: r.Verify, New: r.New,
		MaxBytes: r.MaxBytes, MaxFiles: r.MaxFiles, Compare: r.Compare, Parts: r.Parts, Progress: r.Progress, Permit: c.permit,
	}).Run(ctx)
	if err != nil {
		err = partial(result, c.named(err))
	}
	return result, err
}

// partial corrects an error that says that nothing was done, where a part of a tree was copied before.
func partial(r filecopy.Result, err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.NodeUnreachable || r.Files == 0 && r.Folders == 0 && !r.Created {
		return err
	}
	some := *e
	some.Kind, some.Reason = term.RemoteClosed, ""
	return &some
}

// A copying is a copy that runs.
type copying struct {
	CopyRequest
	lent     map[*Far]term.CopyFiles // two paths of one session share a connection
	releases []func()
}

// fars returns the far sides of the sessions of this process.
func (c *copying) fars() (all []*Far) {
	for _, e := range []CopyEnd{c.To, c.From} {
		if e.Files != nil && e.Files.far != nil {
			all = append(all, e.Files.far)
		}
	}
	return all
}

// end returns an end for package filecopy.
func (c *copying) end(e CopyEnd, verb term.Verb) filecopy.End {
	if e.Lent != nil {
		return filecopy.End{Path: e.Path, Machine: e.Lent.Machine(), Open: e.Lent.Open}
	}
	return filecopy.End{
		Path: e.Path, Machine: e.Files.auth.Machine(),
		Open: func(ctx context.Context) (term.CopyFiles, error) { return c.open(ctx, e.Files, verb) },
	}
}

// permit asks for one file or folder. Its record says to which copy it belongs.
func (c *copying) permit(ctx context.Context, verb term.Verb, path, what string) (filecopy.Done, error) {
	of := Part{Copy: c.ID, Exec: c.Exec}
	switch {
	case verb == term.VerbFileWrite:
		return permit(ctx, c.To.Files, verb, path, what, of)
	case c.From.Lent != nil:
		return c.From.Lent.Permit(ctx, path, what, of)
	}
	return permit(ctx, c.From.Files, verb, path, what, of)
}

func permit(ctx context.Context, files *Files, verb term.Verb, path, what string, of Part) (filecopy.Done, error) {
	d := files.auth.Begin(ctx, verb, term.Event{
		Path: path, Detail: what, PartOf: term.PartOf{Copy: of.Copy}, Exec: of.Exec,
	})
	if err := files.permit(ctx, d); err != nil {
		d.End(err)
		return nil, err
	}
	return func(n int64, note string, err error) {
		d.Event.Size = int(n)
		if note != "" {
			d.Event.Detail += " " + note
		}
		d.End(err)
	}, nil
}

// open makes the connection to the files of a far side.
func (c *copying) open(ctx context.Context, files *Files, verb term.Verb) (term.CopyFiles, error) {
	if files.far == nil {
		return copyFiles(files.here)
	}
	if lent := c.lent[files.far]; lent != nil {
		return lent, nil
	}
	lent, release, err := files.far.lend(ctx)
	if err != nil {
		if files.far.carrier.Context().Err() != nil {
			return nil, files.far.carrier.Ended(string(verb))
		}
		return nil, files.far.carrier.Failed(string(verb), err)
	}
	c.lent[files.far] = lent
	c.releases = append(c.releases, release)
	return lent, nil
}

// named says in an error which session it is about.
func (c *copying) named(err error) error {
	for _, f := range c.fars() {
		if f.carrier.Context().Err() != nil {
			return f.carrier.Ended("copy")
		}
	}
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Session != "" {
		return err
	}
	end := c.From
	if e.Op == string(term.VerbFileWrite) {
		end = c.To
	}
	if end.Files == nil || end.Files.far == nil {
		return err
	}
	return end.Files.far.carrier.Failed(e.Op, err)
}

// release gives all connections back.
func (c *copying) release() {
	for _, f := range c.releases {
		f()
	}
	if c.From.Lent != nil {
		c.From.Lent.Close()
	}
}

// copyFiles returns files as an end of a copy.
func copyFiles(files term.Files) (term.CopyFiles, error) {
	if f, ok := files.(term.CopyFiles); ok {
		return f, nil
	}
	return nil, &term.Error{Op: "copy", Kind: term.Unsupported, Msg: "these files cannot be copied, only read and written"}
}

// lend makes a connection for one copy, which release closes. It is closed before if ctx ends and the copy does not.
func (f *Far) lend(ctx context.Context) (files term.CopyFiles, release func(), err error) {
	channel, err := f.carrier.Channel(ctx)
	if err != nil {
		return nil, nil, err
	}
	made, err := f.dial(ctx, channel)
	if err != nil {
		return nil, nil, err
	}
	if files, err = copyFiles(made); err != nil {
		return nil, nil, errors.Join(err, made.Close())
	}
	over := make(chan struct{})
	idle := f.carrier.Busy()
	// The session's end waits for this goroutine, so that its connection is there until the copy has tidied up.
	ok := f.carrier.Spawn("copy", func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(copyGrace)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			_ = made.Close()
			<-over
		}
	})
	if !ok {
		idle()
		_ = made.Close()
		return nil, nil, f.carrier.Ended("copy")
	}
	return files, func() {
		_ = made.Close()
		close(over)
		idle()
	}, nil
}
