package transfer

import (
	"context"
	"fmt"
	"slices"

	"ptyctl/session/access"
	"ptyctl/session/known"
	"ptyctl/term"
)

// Files are the files of one machine as a caller may use them. Each call is one action: the Gate decides on it, and
// the record has its path and its number of bytes, never the bytes. If the session is locked, a write must come from
// the holder of the lock; a read needs no lock.
//
// A secret that was given to the machine is masked in all results, but not in the files.
type Files struct {
	auth *access.Authorizer
	far  *Far       // of a session's far side; nil: of this machine
	here term.Files // of this machine; nil: they are not offered
	hide Hiding
}

// A Hiding returns the secrets that no result may show, until done is called.
type Hiding = func() (secrets *known.View, done func())

// Local returns the files of this machine. If files is nil, every action is refused: they are not offered.
func Local(auth *access.Authorizer, files term.Files, hide Hiding) *Files {
	return &Files{auth: auth, here: files, hide: hide}
}

// Read reads a part of a file.
//
// A read with an offset begins there, and its record names the offset.
func (f *Files) Read(ctx context.Context, r term.FileRead) (d term.FileData, err error) {
	secrets, done := f.hide()
	defer done()
	e := term.Event{Path: r.Path}
	if r.Offset != 0 {
		e.Detail = fmt.Sprintf("offset %d", r.Offset)
	}
	err = f.act(ctx, term.VerbFileRead, e, func(ctx context.Context, files term.Files) (int64, error) {
		d, err = files.Read(ctx, r)
		n := len(d.Data)
		d.Data = masked(ctx, files, r, d, secrets)
		return int64(n), err
	})
	return d, err
}

// edge is how many bytes before and after a part of a file are searched for secrets that are partly in it.
const edge = 512

// masked returns the data that was read, without secrets.
func masked(ctx context.Context, files term.Files, r term.FileRead, d term.FileData, secrets *known.View) []byte {
	if !secrets.Any() || len(d.Data) == 0 {
		return d.Data
	}
	first := d.Next - int64(len(d.Data))
	begin := max(0, first-edge)
	around := func(offset, n int64) []byte {
		if n <= 0 || offset < 0 {
			return nil
		}
		got, err := files.Read(ctx, term.FileRead{Path: r.Path, Offset: offset, Max: n})
		if err != nil {
			return nil
		}
		return got.Data[:min(n, int64(len(got.Data)))]
	}
	before := around(begin, first-begin)
	if int64(len(before)) != first-begin {
		before = nil
	}
	var after []byte
	if d.Truncated {
		after = around(d.Next, edge)
	}
	text := slices.Concat(before, d.Data, after)
	return secrets.Part(text, len(before), len(before)+len(d.Data))
}

// List lists a part of a folder.
//
// Listing needs the permission of a read and no lock.
func (f *Files) List(ctx context.Context, r term.FileList) (l term.FileListing, err error) {
	secrets, done := f.hide()
	defer done()
	err = f.act(
		ctx,
		term.VerbFileRead,
		term.Event{Path: r.Path, Detail: "list"},
		func(ctx context.Context, files term.Files) (int64, error) {
			l, err = files.List(ctx, r)
			for i := range l.Entries {
				l.Entries[i].Name = secrets.String(l.Entries[i].Name)
			}
			l.Last = secrets.String(l.Last)
			return 0, err
		},
	)
	return l, err
}

// Stat returns the entry of the file at path.
//
// Like List, it needs the permission of a read.
func (f *Files) Stat(ctx context.Context, path string) (e term.FileEntry, err error) {
	secrets, done := f.hide()
	defer done()
	err = f.act(
		ctx,
		term.VerbFileRead,
		term.Event{Path: path, Detail: "stat"},
		func(ctx context.Context, files term.Files) (int64, error) {
			e, err = files.Stat(ctx, path)
			e.Name, e.Target = secrets.String(e.Name), secrets.String(e.Target)
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

// act carries out one action, and records how many bytes it moved.
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
