package transfer

import (
	"context"
	"fmt"

	"ptyctl/session/access"
	"ptyctl/term"
)

// Files are the files of one machine as a caller may use them. Each call is one action: the Gate decides on it, and
// the record has its path and its number of bytes, never the bytes. If the session is locked, a write must come from
// the holder of the lock; a read needs no lock.
type Files struct {
	auth *access.Authorizer
	far  *Far       // of a session's far side; nil: of this machine
	here term.Files // of this machine; nil: they are not offered
}

// Local returns the files of this machine. If files is nil, every action is refused: they are not offered.
func Local(auth *access.Authorizer, files term.Files) *Files { return &Files{auth: auth, here: files} }

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
		if f.far != nil {
			err = f.far.use(ctx, verb, moved)
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
	if f.far == nil {
		if f.here == nil {
			return notOffered(d.Event.Verb, term.SettingLocalFiles)
		}
		return d.PermitUnlocked(ctx, a)
	}
	if err := f.far.possible(d.Event.Verb); err != nil {
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
