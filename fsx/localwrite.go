package fsx

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ptyctl/term"
)

// Write implements term.Files. It replaces the file atomically unless w asks for
// something else.
func (l *Local) Write(ctx context.Context, w term.FileWrite) (term.FileWritten, error) {
	if err := l.limits.write(w); err != nil {
		return term.FileWritten{}, err
	}
	p, err := l.find(opWrite, w.Path, true)
	if err == nil { // a path outside of the roots is denied first
		err = checkFile(w.Path)
	}
	if err != nil {
		return term.FileWritten{}, err
	}
	if w.Append || w.NonAtomic {
		return p.writeOver(ctx, w)
	}
	return p.replace(ctx, w)
}

// writeOver writes into the existing file, or a new one.
func (p place) writeOver(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	flags, mode := os.O_WRONLY|os.O_CREATE, fs.FileMode(0o666)
	if w.Append {
		flags |= os.O_APPEND
	}
	if w.Mode != nil {
		mode = *w.Mode
	}
	// The open creates the file, so whether it is new must be asked before.
	_, missing := p.dir.Lstat(p.rel)
	f, _, err := p.open(opWrite, flags, mode)
	if err != nil {
		return out, err
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = partly(p.fault(opWrite, closed), out.Bytes)
		}
	}()
	out.Created = missing != nil
	if !w.Append {
		if err := f.Truncate(0); err != nil {
			return out, p.fault(opWrite, err)
		}
	}
	out.Bytes, err = pour(ctx, new(pace), f.Write, w)
	if err == nil && w.Mode != nil {
		err = f.Chmod(*w.Mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return out, partly(p.fault(opWrite, err), out.Bytes)
	}
	info, err := f.Stat()
	if err != nil {
		return out, p.fault(opWrite, err)
	}
	out.Size, out.Mode = info.Size(), info.Mode()
	return out, nil
}

// replace replaces the file, if it exists, by a new one.
func (p place) replace(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	old, err := p.old()
	if err != nil {
		return out, err
	}
	mode := fs.FileMode(0o600) // until dress: the final file may be readable by its owner only
	if old == nil && w.Mode == nil {
		mode = 0o666 // reduced by the umask
	}
	// In the same folder, because a rename must not cross file systems.
	temp := filepath.Join(filepath.Dir(p.rel), tempName())
	f, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return out, p.fault(opWrite, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = p.dir.Remove(temp)
		}
	}()
	out = term.FileWritten{Created: old == nil, Atomic: true}
	if out.Bytes, err = pour(ctx, new(pace), f.Write, w); err != nil {
		return out, p.fault(opWrite, err)
	}
	if err = dress(f, old, w); err != nil {
		return out, p.fault(opWrite, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	// The rename is the point of no return, so the context is checked once more.
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = p.dir.Rename(temp, p.rel)
	}
	if err != nil {
		return out, p.fault(opWrite, err)
	}
	out.Size, out.Mode = info.Size(), info.Mode()
	return out, nil
}

// old returns the facts about the file to replace, or nil. A file without write
// permission must not be replaced either, although its folder would allow it.
func (p place) old() (fs.FileInfo, error) {
	_, err := p.dir.Lstat(p.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	// Opening for writing is the only reliable test of the permission.
	f, info, err := p.open(opWrite, os.O_WRONLY, 0)
	if err != nil && !busyProgram(err) {
		return nil, err
	}
	if err == nil {
		return info, f.Close()
	}
	info, err = p.dir.Lstat(p.rel)
	if err != nil {
		return nil, p.fault(opWrite, err)
	}
	return info, nil
}

// dress sets the permissions and the owner of the new file: those asked for, or
// those of the old file.
func dress(f *os.File, old fs.FileInfo, w term.FileWrite) error {
	if err := keepOwner(f, old); err != nil {
		return err
	}
	switch {
	case w.Mode != nil:
		return f.Chmod(*w.Mode)
	case old != nil:
		return f.Chmod(old.Mode().Perm())
	}
	return nil
}

// pour writes the data piece by piece until ctx ends.
func pour(
	ctx context.Context,
	p *pace,
	write func([]byte) (int, error),
	w term.FileWrite,
) (written int64, err error) {
	n := 0
	defer func() { p.rest(n) }()
	for written < int64(len(w.Data)) {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		n, err = write(w.Data[written:min(written+p.next(), int64(len(w.Data)))])
		written += int64(n)
		if w.Progress != nil {
			w.Progress(written)
		}
		if err != nil {
			return written, err
		}
	}
	return written, ctx.Err()
}

// partly adds to an error the number of bytes written before it, because the file
// has changed.
func partly(err error, written int64) error {
	var e *term.Error
	if !errors.As(err, &e) {
		return err
	}
	partial := *e
	partial.Facts = e.Facts.With(term.PartialWrite{Written: int(written)})
	return &partial
}

// unkeepable returns the error for a file with an owner that the new file cannot
// have.
func unkeepable(err error) error {
	return &term.Error{
		Op: opWrite, Kind: term.AccessDenied, Err: err, Reason: term.ReasonNotReplaced,
		Msg: "the file belongs to another user or group, which a new file cannot have", Advice: writeOver,
	}
}

// tempName returns the name of a temporary file.
func tempName() string { return ".ptyctl-" + rand.Text()[:16] + ".tmp" }
