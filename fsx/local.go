package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ptyctl/term"
)

// Local gives access to the files below some folders of this machine. A path is
// absolute, or relative to the folder if there is only one. Create it with
// NewLocal.
type Local struct {
	roots  []root
	limits Limits
}

var _ term.Files = (*Local)(nil)

// NewLocal opens the folders, which must exist. They stay open, so a folder
// replaced later is not seen.
func NewLocal(roots []string, limits Limits) (*Local, error) {
	l := &Local{limits: limits.withDefaults()}
	for _, name := range roots {
		r, err := openRoot(name)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.roots = append(l.roots, r)
	}
	return l, nil
}

// openRoot opens one folder.
func openRoot(name string) (root, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return root{}, err
	}
	// A caller may name files by either path.
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return root{}, err
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return root{}, err
	}
	return root{name: name, real: real, dir: dir}, nil
}

// Close implements term.Files.
func (l *Local) Close() error {
	var errs []error
	for _, r := range l.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// Lost implements term.Files. Local files are never lost.
func (l *Local) Lost() <-chan struct{} { return nil }

// Read implements term.Files. It reads at most the limit, from r.Offset on.
func (l *Local) Read(ctx context.Context, r term.FileRead) (term.FileData, error) {
	most, err := l.limits.read(r)
	if err != nil {
		return term.FileData{}, err
	}
	p, err := l.find(opRead, r.Path, true)
	if err != nil {
		return term.FileData{}, err
	}
	f, info, err := p.open(opRead, os.O_RDONLY, 0)
	if err != nil {
		return term.FileData{}, err
	}
	defer func() { _ = f.Close() }()
	d := term.FileData{Size: info.Size(), Mode: info.Mode(), Modified: info.ModTime()}
	if d.Data, err = readAt(ctx, new(pace), f, r, most, info.Size()); err != nil {
		return term.FileData{}, p.fault(opRead, err)
	}
	d.Next = r.Offset + int64(len(d.Data))
	// The size may be wrong, so only another read shows whether more follows.
	d.Truncated = int64(len(d.Data)) == most && more(f, d.Next)
	return d, nil
}

// readAt reads to the end of the file, or most bytes. size is only a hint: some
// files, for example in /proc, have more bytes than their size, and others grow.
func readAt(ctx context.Context, p *pace, f io.ReaderAt, r term.FileRead, most, size int64) ([]byte, error) {
	data := make([]byte, 0, max(min(most, size-r.Offset), 0))
	got := 0
	defer func() { p.rest(got) }()
	for int64(len(data)) < most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(most-int64(len(data)), p.next())
		// The size was a hint: grow in small steps, because the end may be near.
		if left := int64(cap(data) - len(data)); left == 0 {
			data = slices.Grow(data, int(min(n, 32<<10)))
		}
		n = min(n, int64(cap(data)-len(data)))
		var err error
		got, err = f.ReadAt(data[len(data):len(data)+int(n)], r.Offset+int64(len(data)))
		data = data[:len(data)+got]
		if r.Progress != nil {
			r.Progress(int64(len(data)))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// more reports whether the file has data at offset.
func more(f io.ReaderAt, offset int64) bool {
	n, _ := f.ReadAt(make([]byte, 1), offset)
	return n > 0
}

// open opens a regular file only. Any other file is refused before it is opened,
// because opening some devices has an effect. A file replaced in between is opened
// without blocking, and refused then.
func (p place) open(op string, flags int, mode fs.FileMode) (*os.File, fs.FileInfo, error) {
	info, err := p.dir.Lstat(p.rel)
	if err == nil {
		if err := regular(op, p.given, info.Mode()); err != nil {
			return nil, nil, err
		}
	} else if flags&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, p.fault(op, err)
	}
	f, err := p.dir.OpenFile(p.rel, flags|nonblock, mode)
	if errors.Is(err, syscall.ENXIO) { // a FIFO without a reader
		return nil, nil, regular(op, p.given, fs.ModeNamedPipe)
	}
	if err != nil {
		return nil, nil, p.fault(op, err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(op, p.given, info.Mode())
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, p.fault(op, err)
	}
	return f, info, nil
}

// fault converts an error at p to one for the caller.
func (p place) fault(op string, err error) error {
	var own *term.Error
	if errors.As(err, &own) || ended(err) || errors.As(err, new(syscall.Errno)) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrExist) ||
		errors.Is(err, fs.ErrClosed) {
		return fault(op, p.given, err)
	}
	// The error of os.Root for a path that leads out has no name; all other errors
	// come from the system.
	return denied(
		op,
		"%s leads out of its folder by a symbolic link created during the call: %v",
		quote(p.given),
		err,
	)
}

// ended reports whether the error is that of an ended context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Stat implements term.Files. It does not follow a symbolic link in the last
// component.
func (l *Local) Stat(_ context.Context, path string) (term.FileEntry, error) {
	p, err := l.find(opRead, path, false)
	if err != nil {
		return term.FileEntry{}, err
	}
	info, err := p.dir.Lstat(p.rel)
	if err != nil {
		return term.FileEntry{}, p.fault(opRead, err)
	}
	e := entry(filepath.Base(filepath.Clean(path)), info)
	if info.Mode().Type() == fs.ModeSymlink {
		e.Target, _ = p.dir.Readlink(p.rel)
	}
	return e, nil
}

// entry returns the facts about a file.
func entry(name string, info fs.FileInfo) term.FileEntry {
	return term.FileEntry{Name: name, Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime()}
}

// List implements term.Files. It reads the whole folder, and keeps only the entries
// after r.After.
func (l *Local) List(ctx context.Context, r term.FileList) (term.FileListing, error) {
	p, err := l.find(opRead, r.Path, true)
	if err != nil {
		return term.FileListing{}, err
	}
	info, err := p.dir.Lstat(p.rel)
	if err != nil {
		return term.FileListing{}, p.fault(opRead, err)
	}
	if !info.IsDir() {
		return term.FileListing{}, invalid(opRead, "%s is not a folder; use read or stat", quote(r.Path))
	}
	f, err := p.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return term.FileListing{}, p.fault(opRead, err)
	}
	defer func() { _ = f.Close() }()
	page := newPage(r.After, l.limits.list(r.Limit))
	for {
		if err := ctx.Err(); err != nil {
			return term.FileListing{}, p.fault(opRead, err)
		}
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			page.add(name)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return term.FileListing{}, p.fault(opRead, err)
		}
	}
	var out term.FileListing
	var names []string
	names, out.Last, out.More = page.names()
	for _, name := range names {
		if info, err := p.dir.Lstat(filepath.Join(p.rel, name)); err == nil { // otherwise it was removed meanwhile
			out.Entries = append(out.Entries, entry(name, info))
		}
	}
	return out, nil
}

// String names the folders, for messages.
func (l *Local) String() string { return fmt.Sprintf("files below %s", l.names()) }
