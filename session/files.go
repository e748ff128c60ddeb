package session

import (
	"context"
	"fmt"
	"io"

	"ptyctl/session/access"
	"ptyctl/term"
)

// Files are the files of one machine as a caller may use them: each call is one action, which the Gate decides about, and
// which is on record with its path and how many bytes it moved, never with them. To write takes the session's lock, if
// somebody holds it; to read takes none.
type Files struct {
	auth *access.Authorizer
	s    *Session   // whose far side it is; nil: this machine
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

// Stat tells of what is at path.
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
		Op: string(verb), Kind: term.PolicyDenied, Details: &term.Details{Setting: files},
		Msg: "the " + string(files) + " are not offered", Advice: "the operator may change that",
	}
}
