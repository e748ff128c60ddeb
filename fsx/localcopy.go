package fsx

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ptyctl/term"
)

var _ term.CopyFiles = (*Local)(nil)

// Look implements term.CopyFiles.
func (l *Local) Look(_ context.Context, path string) (term.FileEntry, error) {
	p, err := l.find(opRead, path, true)
	if err != nil {
		return term.FileEntry{}, err
	}
	info, err := p.dir.Lstat(p.rel)
	if err != nil {
		return term.FileEntry{}, p.fault(opRead, err)
	}
	return entry(filepath.Base(filepath.Clean(path)), info), nil
}

// Entries implements term.CopyFiles.
func (l *Local) Entries(ctx context.Context, path string, most int) ([]term.FileEntry, error) {
	p, err := l.find(opRead, path, true)
	if err != nil {
		return nil, err
	}
	f, err := p.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, p.fault(opRead, err)
	}
	defer func() { _ = f.Close() }()
	var entries []term.FileEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, p.fault(opRead, err)
		}
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if info, err := p.dir.Lstat(filepath.Join(p.rel, name)); err == nil { // otherwise it was removed meanwhile
				entries = append(entries, entry(name, info))
			}
		}
		if len(entries) > most {
			return nil, tooMany(path, most)
		}
		if errors.Is(err, io.EOF) {
			return ordered(path, entries, most)
		}
		if err != nil {
			return nil, p.fault(opRead, err)
		}
	}
}

// A localSource is a file of this machine that is copied.
type localSource struct {
	f     *os.File
	place place
	info  fs.FileInfo
}

// Source implements term.CopyFiles.
func (l *Local) Source(_ context.Context, path string, follow bool) (term.FileSource, error) {
	p, err := l.find(opRead, path, follow)
	if err != nil {
		return nil, err
	}
	f, info, err := p.open(opRead, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return &localSource{f, p, info}, nil
}

// ReadAt implements io.ReaderAt.
func (s *localSource) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.f.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.place.fault(opRead, err)
	}
	return n, err
}

// Entry implements term.FileSource.
func (s *localSource) Entry() term.FileEntry { return entry(filepath.Base(s.place.given), s.info) }

// Close implements io.Closer.
func (s *localSource) Close() error { return s.f.Close() }

// MakeFolder implements term.CopyFiles.
func (l *Local) MakeFolder(_ context.Context, path string, mode fs.FileMode) (made bool, err error) {
	p, err := l.find(opWrite, path, true)
	if err != nil {
		return false, err
	}
	err = p.dir.Mkdir(p.rel, mode.Perm()|0o700)
	if errors.Is(err, fs.ErrExist) {
		info, failed := p.dir.Lstat(p.rel)
		if failed == nil && info.IsDir() {
			return false, nil
		}
		return false, invalid(opWrite, "%s is a file; a folder cannot be made there", quote(path))
	}
	if errors.Is(err, fs.ErrNotExist) && !fromHome(path) {
		return false, &term.Error{
			Op: opWrite, Kind: term.NotFound, Err: err,
			Msg: "the folder of " + quote(path) + " does not exist, or takes no new folders; make it first",
		}
	}
	if err != nil {
		return false, p.fault(opWrite, err)
	}
	return true, nil
}

// A localSink is a new file of this machine.
type localSink struct {
	*os.File
	place  place
	temp   string      // relative to the root
	old    fs.FileInfo // nil: there is no file to replace
	target term.FileTarget
	held   int64
	mode   fs.FileMode // of a new file
	closed bool
}

// Target implements term.CopyFiles.
func (l *Local) Target(_ context.Context, t term.FileTarget) (term.FileSink, error) {
	p, err := l.find(opWrite, t.Path, t.Follow)
	if err != nil {
		return nil, err
	}
	if info, err := p.dir.Lstat(p.rel); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, linked(opWrite, t.Path)
	}
	s := &localSink{place: p, target: t}
	if s.old, err = p.old(); err != nil {
		return nil, err
	}
	if s.old != nil && t.New {
		return nil, exists(t.Path)
	}
	dir := filepath.Dir(p.rel)
	s.temp = filepath.Join(dir, tempName())
	if t.Part != "" {
		s.temp = filepath.Join(dir, t.Part)
		if err := s.resume(); err != nil {
			return nil, err
		}
		if s.File != nil {
			return s, nil
		}
	}
	mode := fs.FileMode(0o600) // until Commit: the old file may be readable by its owner only
	if s.old == nil {
		mode |= t.Mode.Perm() // reduced by the umask
	}
	if s.File, err = p.dir.OpenFile(s.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return nil, p.fault(opWrite, err)
	}
	info, err := s.Stat()
	if err != nil {
		s.Abort(false)
		return nil, p.fault(opWrite, err)
	}
	s.mode = info.Mode().Perm() & t.Mode.Perm()
	return s, nil
}

// resume opens the file that an earlier copy left. Without such a file, s.File stays nil.
func (s *localSink) resume() error {
	was, err := s.place.dir.Lstat(s.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = checkPart(s.temp, was, ownedAlone(was))
	}
	if err != nil {
		return s.place.fault(opWrite, err)
	}
	f, err := s.place.dir.OpenFile(s.temp, os.O_RDWR|nonblock, 0)
	if err != nil {
		return s.place.fault(opWrite, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkPart(s.temp, info, os.SameFile(was, info)) // otherwise a link came between the two
	}
	if err != nil {
		_ = f.Close()
		return s.place.fault(opWrite, err)
	}
	s.File, s.held, s.mode = f, info.Size(), info.Mode().Perm()&s.target.Mode.Perm()
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *localSink) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.File.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.place.fault(opWrite, err)
	}
	return n, err
}

// WriteAt implements io.WriterAt.
func (s *localSink) WriteAt(b []byte, off int64) (int, error) {
	n, err := s.File.WriteAt(b, off)
	if err != nil {
		err = s.place.fault(opWrite, err)
	}
	return n, err
}

// Held implements term.FileSink.
func (s *localSink) Held() int64 { return s.held }

// Truncate implements term.FileSink.
func (s *localSink) Truncate(size int64) error {
	if err := s.File.Truncate(size); err != nil {
		return s.place.fault(opWrite, err)
	}
	return nil
}

// Commit implements term.FileSink. A file that replaces another is forced to the disk before: otherwise a loss of power
// could leave neither of the two.
func (s *localSink) Commit(ctx context.Context, size int64) (out term.FileWritten, err error) {
	err = dress(s.File, s.old, term.FileWrite{})
	if err == nil && s.old == nil {
		err = s.Chmod(s.mode)
	}
	if err == nil && s.old != nil {
		err = s.Sync()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = s.Stat()
	}
	if err == nil {
		err = wholly(s.place.given, info.Size(), size)
	}
	if err == nil {
		s.closed = true
		err = s.Close()
	}
	if at := s.target.Modified; err == nil && !at.IsZero() {
		err = s.place.dir.Chtimes(s.temp, at, at)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.move()
	}
	if err != nil {
		return out, s.place.fault(opWrite, err)
	}
	return term.FileWritten{Size: info.Size(), Mode: info.Mode(), Created: s.old == nil, Atomic: true}, nil
}

// move puts the file at its path. Unlike a rename, a link fails where a file has come meanwhile.
func (s *localSink) move() error {
	if !s.target.New {
		return s.place.dir.Rename(s.temp, s.place.rel)
	}
	switch err := s.place.dir.Link(s.temp, s.place.rel); {
	case err == nil:
		_ = s.place.dir.Remove(s.temp)
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(s.place.given)
	}
	if _, err := s.place.dir.Lstat(s.place.rel); err == nil { // a file system without links
		return exists(s.place.given)
	}
	return s.place.dir.Rename(s.temp, s.place.rel)
}

// Abort implements term.FileSink.
func (s *localSink) Abort(keep bool) {
	if !s.closed {
		_ = s.Close()
	}
	if !keep || s.target.Part == "" {
		_ = s.place.dir.Remove(s.temp)
	}
}
