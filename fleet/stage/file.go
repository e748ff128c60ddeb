package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"sync"

	"ptyctl/term"
)

// inMemory is the size of the largest file that is kept in memory.
const inMemory = 4 << 20

// A File is the content of one file. The zero value is empty. A single copy writes it, and then any number may read it.
type File struct {
	mu    sync.RWMutex // guards the following
	name  string
	like  term.FileTarget // has mode and time of the file that was copied
	bytes []byte          // the content, if disk is nil
	disk  *os.File
	size  int64
	whole bool // the copy has ended well
	shut  bool
}

// Files returns the machine that has this file alone, under every path.
func (f *File) Files() term.CopyFiles { return machine{f: f} }

// Close drops the content. Copies that go on fail.
func (f *File) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut, f.bytes, f.whole = true, nil, false
	if f.disk == nil {
		return
	}
	_ = f.disk.Close()
	_ = os.Remove(f.name) // on Unix it is gone already
	f.disk = nil
}

// A machine implements the files of package filecopy for one file, without the methods that copying a tree needs.
type machine struct {
	term.CopyFiles // nil
	f              *File
}

// Requests implements term.CopyFiles.
func (machine) Requests() (size, number int) { return 1 << 20, 1 }

// Close implements term.Files.
func (machine) Close() error { return nil }

// Look implements term.CopyFiles.
func (m machine) Look(_ context.Context, name string) (term.FileEntry, error) {
	m.f.mu.RLock()
	defer m.f.mu.RUnlock()
	if !m.f.whole {
		return term.FileEntry{}, &term.Error{Kind: term.NotFound, Msg: "the file has not been read"}
	}
	return m.f.entryLocked(name), nil
}

// entryLocked describes the file. Requires f.mu.
func (f *File) entryLocked(name string) term.FileEntry {
	return term.FileEntry{Name: path.Base(name), Size: f.size, Mode: f.like.Mode, Modified: f.like.Modified}
}

// Source implements term.CopyFiles.
func (m machine) Source(ctx context.Context, name string, _ bool) (term.FileSource, error) {
	e, err := m.Look(ctx, name)
	if err != nil {
		return nil, err
	}
	return source{m.f, e}, nil
}

// A source is the file for one reader.
type source struct {
	f     *File
	entry term.FileEntry
}

// Entry implements term.FileSource.
func (s source) Entry() term.FileEntry { return s.entry }

// Close implements io.Closer.
func (s source) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (s source) ReadAt(b []byte, off int64) (int, error) {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	if !s.f.whole {
		return 0, &term.Error{Kind: term.Canceled, Msg: "the content of the file was dropped"}
	}
	return s.f.readLocked(b, off)
}

// readLocked reads at an offset. Requires f.mu.
func (f *File) readLocked(b []byte, off int64) (int, error) {
	if f.disk != nil {
		return f.disk.ReadAt(b, off)
	}
	if off >= int64(len(f.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, f.bytes[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Target implements term.CopyFiles.
func (m machine) Target(_ context.Context, t term.FileTarget) (term.FileSink, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.like = t
	return sink{m.f}, nil
}

// A sink takes the content.
type sink struct{ f *File }

// Held implements term.FileSink.
func (sink) Held() int64 { return 0 }

// Truncate implements term.FileSink. Nothing is cut, as nothing is held.
func (sink) Truncate(int64) error { return nil }

// ReadAt implements io.ReaderAt.
func (s sink) ReadAt(b []byte, off int64) (int, error) {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	return s.f.readLocked(b, off)
}

// WriteAt implements io.WriterAt.
func (s sink) WriteAt(b []byte, off int64) (int, error) {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return 0, os.ErrClosed
	}
	if end := off + int64(len(b)); f.disk == nil && end <= inMemory {
		if grow := int(end) - len(f.bytes); grow > 0 {
			f.bytes = append(f.bytes, make([]byte, grow)...)
		}
		return copy(f.bytes[off:], b), nil
	}
	if err := f.spillLocked(); err != nil {
		return 0, failed(err)
	}
	n, err := f.disk.WriteAt(b, off)
	return n, failed(err)
}

// spillLocked makes the temporary file, and moves the bytes in memory there. Requires f.mu.
func (f *File) spillLocked() error {
	if f.disk != nil {
		return nil
	}
	disk, err := os.CreateTemp("", ".ptyctl-*") // for this account alone
	if err != nil {
		return err
	}
	f.disk, f.name = disk, disk.Name()
	if runtime.GOOS != "windows" { // where an open file keeps its name
		_ = os.Remove(f.name)
	}
	_, err = disk.WriteAt(f.bytes, 0)
	f.bytes = nil
	return err
}

// failed describes the failure without the path, which the caller should not know.
func failed(err error) error {
	if err == nil {
		return nil
	}
	cause := err
	if p, ok := errors.AsType[*os.PathError](err); ok {
		cause = p.Err
	}
	return &term.Error{
		Kind: term.IOError, Err: err,
		Msg: fmt.Sprintf("the file cannot be kept in the folder for temporary files of ptyctl's machine: %v", cause),
	}
}

// Commit implements term.FileSink.
func (s sink) Commit(_ context.Context, size int64) (term.FileWritten, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.size, s.f.whole = size, true
	return term.FileWritten{Size: size, Created: true, Atomic: true}, nil
}

// Abort implements term.FileSink.
func (s sink) Abort(bool) { s.f.Close() }
