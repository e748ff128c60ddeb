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

// Write implements term.Files.
func (l *Local) Write(ctx context.Context, w term.FileWrite) (term.FileWritten, error) {
	if err := l.limits.write(w); err != nil {
		return term.FileWritten{}, err
	}
	p, err := l.find(opWrite, w.Path, true)
	if err != nil {
		return term.FileWritten{}, err
	}
	if w.Append || w.NonAtomic {
		return p.writeOver(ctx, w)
	}
	return p.replace(ctx, w)
}

// writeOver writes into the file that is there, or a new one.
func (p place) writeOver(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	flags, mode := os.O_WRONLY|os.O_CREATE, fs.FileMode(0o666)
	if w.Append {
		flags |= os.O_APPEND
	}
	if w.Mode != nil {
		mode = *w.Mode
	}
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
	out.Bytes, err = pour(ctx, f.Write, w)
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

// replace puts a new file in the place of the one that is there, if any.
func (p place) replace(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	old, err := p.old()
	if err != nil {
		return out, err
	}
	mode := fs.FileMode(0o600) // until all is set: it might become one that only its owner may read
	if old == nil && w.Mode == nil {
		mode = 0o666 // less what the umask takes
	}
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
	if out.Bytes, err = pour(ctx, f.Write, w); err != nil {
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

// old returns what there is of the file that is to be replaced; nil: nothing. A file that may not be written is not
// replaced either, although its folder would allow it.
func (p place) old() (fs.FileInfo, error) {
	_, err := p.dir.Lstat(p.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
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

// dress gives the new file the permissions and the owner that it is to have.
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

// pour writes the data, piece by piece, for as long as ctx lasts.
func pour(ctx context.Context, write func([]byte) (int, error), w term.FileWrite) (written int64, err error) {
	var p pace
	for written < int64(len(w.Data)) {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		n, err := write(w.Data[written:min(written+p.next(), int64(len(w.Data)))])
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

// partly says in an error how much was written before it: the file has changed.
func partly(err error, written int64) error {
	var e *term.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	var d term.Details
	if e.Details != nil {
		d = *e.Details
	}
	n := int(written)
	d.BytesWritten, told.Details = &n, &d
	return &told
}

// unkeepable is the refusal to replace a file whose owner the new one could not have.
func unkeepable(err error) error {
	return &term.Error{
		Op: opWrite, Kind: term.AccessDenied, Err: err,
		Msg: "the file belongs to another user or group, and a new file in its place could not; pass non_atomic to write over the file that is there",
	}
}

// tempName is the name of a file that lies beside another for a moment.
func tempName() string { return ".ptyctl-" + rand.Text()[:16] + ".tmp" }
