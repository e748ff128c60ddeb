package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A file is the audit file that lines are added to, and its older siblings path.1, path.2 and so on. It has one user.
type file struct {
	path string
	max  int64
	keep int

	f      *os.File // nil: to be opened
	size   int64    // as far as it was read or written
	last   string   // hash of the last line; empty: not known yet
	number int64    // of this file
	stuck  error    // why a full file could not be rotated, and grows on; nil: it could, or need not

	write func([]byte) (int, error) // in place of f.Write, to make it fail in tests
}

// begin opens the file if need be, takes its lock, and finds the end of the chain. After an error nothing is locked.
func (a *file) begin() error {
	for {
		if a.f == nil {
			f, err := openFile(a.path)
			if err != nil {
				return err
			}
			a.f, a.size = f, -1
		}
		if err := lockFile(a.f); err != nil {
			a.close()
			return fmt.Errorf("lock %s: %w", a.path, err)
		}
		here, err := a.f.Stat()
		if err != nil {
			a.close()
			return err
		}
		// Another process may have rotated the file while we waited for its lock, or somebody removed it.
		if there, err := os.Lstat(a.path); err != nil || !os.SameFile(here, there) {
			a.close()
			continue
		}
		if here.Size() == a.size {
			return nil
		}
		if err := a.load(here.Size()); err != nil {
			a.close()
			return err
		}
		return nil
	}
}

// end gives the lock back.
func (a *file) end() {
	if a.f != nil {
		unlockFile(a.f)
	}
}

// close lets go of the file, and with it of the lock.
func (a *file) close() {
	if a.f != nil {
		_ = a.f.Close()
		a.f = nil
	}
}

// load finds out where the chain ends in a file of that size, which others may have written.
func (a *file) load(size int64) error {
	if size < a.size { // cut by somebody else: our own memory of the chain keeps that visible
		a.size = size
		return a.mend()
	}
	whole, torn, err := lastLine(a.f, size)
	if err != nil {
		return err
	}
	if whole == nil { // empty, or its first line was never finished
		if err := a.f.Truncate(0); err != nil {
			return err
		}
		return a.first()
	}
	if a.number, err = fileNumber(a.f); err != nil {
		return err
	}
	a.size, a.last = size, digest(whole)
	if len(torn) > 0 {
		return a.tear(torn)
	}
	return nil
}

// mend ends the unfinished line that a cut may have left. Requires that a.last is known.
func (a *file) mend() error {
	_, torn, err := lastLine(a.f, a.size)
	if err != nil || len(torn) == 0 {
		return err
	}
	return a.tear(torn)
}

// tear ends an unfinished line, and says in the next one what it was.
func (a *file) tear(torn []byte) error {
	if err := a.put([]byte("\n")); err != nil {
		return err
	}
	return a.add(Entry{Event: eventTorn, Self: &SelfNote{TornBytes: len(torn), TornHash: digest(torn)}})
}

// first begins an empty file: its chain goes on from our own memory, or from the file before it.
func (a *file) first() error {
	a.size = 0
	if a.last == "" {
		last, number, err := a.before()
		if err != nil {
			return err
		}
		a.last, a.number = last, number
	} else if last, number, err := a.before(); err == nil && number >= a.number {
		a.last, a.number = last, number // another process has written since
	}
	a.number++
	return a.add(Entry{Event: eventFile, Self: &SelfNote{File: a.number}})
}

// before returns where the newest of the rotated files ends.
func (a *file) before() (last string, number int64, err error) {
	f, err := os.Open(a.path + ".1")
	if errors.Is(err, fs.ErrNotExist) {
		return origin, 0, nil
	} else if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	whole, _, err := lastLine(f, info.Size())
	if err != nil || whole == nil {
		return origin, 0, err
	}
	number, err = fileNumber(f)
	return digest(whole), number, err
}

// add writes one line, into a new file if this one is full. Requires begin.
func (a *file) add(n Entry) error {
	if n.Time.IsZero() {
		n.Time = time.Now().UTC()
	}
	n.PID, n.Prev = os.Getpid(), a.last
	line, err := n.encode()
	if err != nil {
		return err
	}
	if a.size > 0 && a.size+int64(len(line)) > a.max && n.Event != eventFile && n.Event != eventTorn {
		if a.stuck = a.rotate(); a.f == nil {
			return a.stuck
		}
		n.Prev = a.last
		if line, err = n.encode(); err != nil {
			return err
		}
	}
	if err := a.put(line); err != nil {
		return err
	}
	a.last = digest(bytes.TrimSuffix(line, []byte("\n")))
	return nil
}

// put writes p whole, or takes back what of it was written.
func (a *file) put(p []byte) error {
	write := a.write
	if write == nil {
		write = a.f.Write
	}
	n, err := write(p)
	if err == nil {
		a.size += int64(n)
		return nil
	}
	if n > 0 && a.f.Truncate(a.size) != nil {
		a.close() // the next begin finds the torn line
	}
	return err
}

// rotate gives the file its number and begins a new one, locked as the old one is. After an error the file is closed,
// or as it was.
func (a *file) rotate() error {
	if err := a.f.Sync(); err != nil {
		return err
	}
	if closeToRename {
		a.close()
	}
	for i := a.keep; i > 1; i-- {
		err := os.Rename(a.path+"."+strconv.Itoa(i-1), a.path+"."+strconv.Itoa(i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(a.path, a.path+".1"); err != nil {
		return err
	}
	a.close()
	if err := a.begin(); err != nil {
		return err
	}
	syncFolder(filepath.Dir(a.path))
	return nil
}

// lastLine returns the last whole line of f, without its line end, and what follows it.
func lastLine(f *os.File, size int64) (whole, torn []byte, err error) {
	for window := int64(maxLine); ; window *= 2 {
		from := max(size-window, 0)
		p := make([]byte, size-from)
		if _, err := f.ReadAt(p, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		end := bytes.LastIndexByte(p, '\n')
		begin := -1
		if end >= 0 {
			begin = bytes.LastIndexByte(p[:end], '\n')
		}
		switch {
		case end >= 0 && (begin >= 0 || from == 0):
			return p[begin+1 : end], p[end+1:], nil
		case from == 0:
			return nil, p, nil
		}
	}
}

// fileNumber reads it from the first line.
func fileNumber(f *os.File) (int64, error) {
	p := make([]byte, maxLine)
	n, err := f.ReadAt(p, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := bytes.Cut(p[:n], []byte("\n"))
	var e Entry
	if json.Unmarshal(line, &e) != nil || e.Event != eventFile || e.Self == nil || e.Self.File < 1 {
		return 0, fmt.Errorf("%s does not begin as an audit file; name another file, or move this one away", f.Name())
	}
	return e.Self.File, nil
}

// openFile opens or makes the file, if nobody else could have put it there.
func openFile(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; make the folder, for the user of ptyctl alone", err)
	}
	if hasModes && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf(
			"everybody may write to the folder %s, so that anybody could replace the audit file; use a folder of ptyctl's own user",
			dir,
		)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; it must be a file of ptyctl's user, and no symbolic link", err)
	}
	if err := checkFile(f, path); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func checkFile(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(path); err == nil && there.Mode()&fs.ModeSymlink != 0 || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file; an audit file must be one", path)
	}
	if hasModes && info.Mode().Perm()&0o077 != 0 {
		return f.Chmod(0o600)
	}
	return nil
}
