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

// A file is the audit file and its rotated siblings path.1 (the newest), path.2 and so
// on. It is not safe for concurrent use.
type file struct {
	// path is the file being written; max its size in bytes before rotation; keep the number
	// of rotated files.
	path string
	max  int64
	keep int
	node string // of all entries

	f      *os.File // nil: not open
	size   int64    // bytes read or written so far
	last   string   // hash of the last line; empty: not known yet
	number int64    // number of this file in the chain
	stuck  error    // error of the last rotation, after which the file keeps growing; nil: none

	write func([]byte) (int, error) // replaces f.Write in tests of failures
	sync  func() error              // replaces f.Sync there
}

// force syncs the written data to the disk. The file must be open.
func (a *file) force() error {
	if a.sync != nil {
		return a.sync()
	}
	return a.f.Sync()
}

// begin opens the file if necessary, locks it and finds the end of the chain. After an
// error nothing is locked.
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
		opened, err := a.f.Stat()
		if err != nil {
			a.close()
			return err
		}
		// Another process may have rotated the file while this one waited for the lock, or
		// someone removed it.
		if current, err := os.Lstat(a.path); err != nil || !os.SameFile(opened, current) {
			a.close()
			continue
		}
		if opened.Size() == a.size {
			return nil
		}
		if err := a.load(opened.Size()); err != nil {
			a.close()
			return err
		}
		return nil
	}
}

// end releases the lock.
func (a *file) end() {
	if a.f != nil {
		unlockFile(a.f)
	}
}

// close closes the file, which also releases the lock.
func (a *file) close() {
	if a.f != nil {
		_ = a.f.Close()
		a.f = nil
	}
}

// load finds the end of the chain in a file of the given size, to which other processes
// may have written.
func (a *file) load(size int64) error {
	if size < a.size { // someone cut it: the hash in memory makes that visible to Verify
		a.size = size
		return a.mend()
	}
	whole, torn, err := lastLine(a.f, size)
	if err != nil {
		return err
	}
	if whole == nil { // empty, or its first line is not finished
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

// mend finishes the incomplete line that a cut may have left. Requires a.last.
func (a *file) mend() error {
	_, torn, err := lastLine(a.f, a.size)
	if err != nil || len(torn) == 0 {
		return err
	}
	return a.tear(torn)
}

// tear finishes an incomplete line and adds an entry that describes it. Verify can then
// tell a crash from a change.
func (a *file) tear(torn []byte) error {
	if err := a.put([]byte("\n")); err != nil {
		return err
	}
	return a.add(Entry{Event: eventTorn, Self: &SelfNote{TornBytes: len(torn), TornHash: digest(torn)}})
}

// first adds the first line to an empty file. The chain continues from the hash in
// memory, or from the rotated file if another process has written since.
func (a *file) first() error {
	a.size = 0
	if a.last == "" {
		last, number, err := a.before()
		if err != nil {
			return err
		}
		a.last, a.number = last, number
	} else if last, number, err := a.before(); err == nil && number >= a.number {
		a.last, a.number = last, number // another process has written in the meantime
	}
	a.number++
	return a.add(Entry{Event: eventFile, Self: &SelfNote{File: a.number}})
}

// before returns the hash and the number at the end of the newest rotated file.
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

// add writes one entry. If the file is full, it rotates first; if that fails, the file
// keeps growing, because a lost entry would be worse. Requires begin.
func (a *file) add(n Entry) error {
	if n.Time.IsZero() {
		n.Time = time.Now().UTC()
	}
	n.PID, n.Node, n.Prev = os.Getpid(), a.node, a.last
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

// put writes all of p, or removes the part that was written.
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
		a.close() // the next begin finds the incomplete line
	}
	return err
}

// rotate renames the file to path.1 and begins a new one, which is locked, too. After an
// error the file is either closed or unchanged.
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

// lastLine returns the last complete line of f without its line end, and the bytes after
// it.
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

// fileNumber returns the number in the first line of f.
func fileNumber(f *os.File) (int64, error) {
	p := make([]byte, maxLine)
	n, err := f.ReadAt(p, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := bytes.Cut(p[:n], []byte("\n"))
	var e Entry
	if json.Unmarshal(line, &e) != nil || e.Event != eventFile || e.Self == nil || e.Self.File < 1 {
		return 0, fmt.Errorf("%s does not begin as an audit file; use another path, or move this file away", f.Name())
	}
	return e.Self.File, nil
}

// openFile opens or creates the file. It refuses places at which another user could
// replace the file.
func openFile(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; create the folder, writable only for the user of ptyctl", err)
	}
	if hasModes && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everybody may write to the folder %s and replace the audit file; "+
			"use a folder that only ptyctl's user may write to", dir)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; the path must be a file of ptyctl's user, not a symbolic link", err)
	}
	if err := checkFile(f, path); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// checkFile checks that f is a regular file and not reached through a symbolic link, and
// removes the access of other users.
func checkFile(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if current, err := os.Lstat(path); err == nil && current.Mode()&fs.ModeSymlink != 0 || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; choose another path for the audit log", path)
	}
	if hasModes && info.Mode().Perm()&0o077 != 0 {
		return f.Chmod(0o600)
	}
	return nil
}
