package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
	"sync"
	"time"
)

// noteEvery is how often the seals of a recording are noted elsewhere, at most.
const noteEvery = sealEvery - time.Second

// A file is that of a recording. It is made at the first write.
type file struct {
	folder  *folder
	session string
	started time.Time

	mu   sync.Mutex // guards the following, which Journal may make
	f    *os.File
	path string
	used bool // something was written

	// Owned by the goroutine that writes:
	enc   *encrypted // encrypts to f; nil: it is not encrypted
	sum   hash.Hash  // of the content of f, if it is encrypted
	bytes int64
	noted time.Time
}

func newFile(d *folder, session string, started time.Time) *file {
	f := &file{folder: d, session: session, started: started}
	if to := d.o.Recipients; len(to) > 0 {
		f.sum = sha256.New()
		f.enc = &encrypted{to: to, file: cipher{f}}
	}
	return f
}

// open makes the file, unless that is done.
func (f *file) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f != nil {
		return nil
	}
	made, err := f.folder.create(f.session, f.started)
	if made != nil && err != nil {
		_ = made.Close()
	}
	if err != nil {
		return err
	}
	f.f, f.path = made, made.Name()
	return nil
}

// reserve makes the file, and fails if there is no room for the beginning of a recording.
func (f *file) reserve() error {
	if err := f.open(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used {
		return nil
	}
	_, err := f.f.Write(make([]byte, 4<<10))
	return errors.Join(err, f.f.Truncate(0))
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	f.used = true
	f.mu.Unlock()
	if f.folder.full.Load() {
		if err := f.folder.prune(); err != nil {
			return 0, err
		}
		if f.folder.full.Load() {
			return 0, errFull
		}
	}
	if f.enc != nil {
		return f.enc.Write(p)
	}
	n, err := f.f.Write(p)
	return n, errors.Join(err, f.folder.grew(n))
}

// inParts implements a parter.
func (f *file) inParts() *encrypted { return f.enc }

// cipher takes the encrypted bytes.
type cipher struct{ *file }

func (c cipher) Write(p []byte) (int, error) {
	n, err := c.f.Write(p)
	if err = errors.Join(err, c.folder.grew(n)); err == nil {
		c.sum.Write(p)
		c.bytes += int64(n)
	}
	return n, err
}

func (c cipher) Truncate(size int64) error { return c.f.Truncate(size) }

// Truncate cuts the file after a write that has failed.
func (f *file) Truncate(size int64) error {
	if f.enc != nil {
		return errors.ErrUnsupported
	}
	return f.f.Truncate(size)
}

// ReadAt reads the file, unless it is encrypted.
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if f.enc != nil {
		return 0, errors.ErrUnsupported
	}
	return f.f.ReadAt(p, at)
}

// Sync forces the file to disk.
func (f *file) Sync() error { return f.f.Sync() }

// sealed notes a seal, if it is time.
func (f *file) sealed(s Seal) {
	o := f.folder.o
	if o.Noted == nil || !s.End && s.Number > 1 && time.Since(f.noted) < noteEvery {
		return
	}
	f.noted = time.Now()
	if f.Sync() != nil { // the note must be there after a crash of the machine
		return
	}
	n := Note{Path: f.path, Seal: s}
	if f.sum != nil {
		n.FileBytes, n.FileSHA256 = f.bytes, hex.EncodeToString(f.sum.Sum(nil))
	}
	o.Noted(n)
}

// close closes the file, which may be removed from then on.
func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f != nil {
		_ = f.f.Close()
	}
}
