package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/rundir"
)

// The ends of the names of recordings.
const (
	suffix          = ".cast"
	encryptedSuffix = ".cast.age"
)

// A Note is what should be kept of a recording elsewhere: for example in the audit log.
type Note struct {
	Path string
	Seal Seal // the newest

	// Of an encrypted recording: the size and the SHA-256 in hex of the file up to then, which can be checked without an
	// identity.
	FileBytes  int64
	FileSHA256 string

	Removed bool   // the recording was removed
	Why     string // it was
}

// A folder is where the recordings of several processes are.
type folder struct {
	o     *DirOptions
	grown atomic.Int64 // bytes written by this process since the last prune
	full  atomic.Bool  // it was over its limit after that
}

// stored is a recording in a folder.
type stored struct {
	name string
	size int64
	when time.Time // it was last written to
}

// recordings returns those in a folder, oldest first: their names begin with their dates.
func recordings(dir string) ([]stored, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, e := range entries {
		if !isRecording(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // or it was removed in the meantime
			all = append(all, stored{e.Name(), info.Size(), info.ModTime()})
		}
	}
	return all, nil
}

func isRecording(name string) bool {
	return strings.HasSuffix(name, suffix) || strings.HasSuffix(name, encryptedSuffix)
}

// prune removes complete recordings until the rest is within the limits.
func (d *folder) prune() error {
	leave, err := rundir.Enter(d.o.Path)
	if err != nil {
		return err
	}
	defer leave()
	return d.pruneLocked(0)
}

// pruneLocked is prune with room for more new files. Requires the gate of the folder.
func (d *folder) pruneLocked(more int) error {
	d.grown.Store(0)
	all, err := recordings(d.o.Path)
	if err != nil {
		return err
	}
	var total int64
	for _, s := range all {
		total += s.size
	}
	count := len(all) + more
	for _, s := range all {
		why := ""
		switch {
		case d.o.MaxAge > 0 && time.Since(s.when) > d.o.MaxAge:
			why = "age"
		case count > d.o.MaxFiles:
			why = "number of recordings"
		case total > d.o.MaxTotal:
			why = "size of all recordings"
		}
		if why != "" && d.remove(s.name, why) {
			total -= s.size
			count--
		}
	}
	d.full.Store(total > d.o.MaxTotal || count > d.o.MaxFiles)
	return nil
}

// remove removes a recording that no process writes.
func (d *folder) remove(name, why string) bool {
	path := filepath.Join(d.o.Path, name)
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if rundir.TryLock(f) != nil || os.Remove(path) != nil {
		return false
	}
	d.o.Logger.Info("recording removed", "path", path, "limit", why)
	if d.o.Noted != nil {
		d.o.Noted(Note{Path: path, Removed: true, Why: why})
	}
	return true
}

// errFull means that recordings that are being written take all the room.
var errFull = errors.New("recordings that are being written take all the room that the folder may have")

// create makes the file of a recording, which stays locked until it is closed.
func (d *folder) create(session string, started time.Time) (*os.File, error) {
	leave, err := rundir.Enter(d.o.Path)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := d.pruneLocked(1); err != nil {
		return nil, err
	}
	if d.full.Load() {
		return nil, errFull
	}
	end := suffix
	if len(d.o.Recipients) > 0 {
		end = encryptedSuffix
	}
	base := started.UTC().Format("20060102T150405Z") + "-" + fileName(session)
	for n := 1; ; n++ {
		name := base + end
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", base, n, end)
		}
		f, err := os.OpenFile(
			filepath.Join(d.o.Path, name), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND|openFlags, 0o600,
		)
		if errors.Is(err, os.ErrExist) && n < 1000 {
			continue
		}
		if err == nil {
			err = rundir.TryLock(f)
		}
		return f, err
	}
}

// fileName is a session's id as a part of a file's name.
func fileName(session string) string {
	name := []byte(session)
	for i, c := range name {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			name[i] = '_'
		}
	}
	return string(name[:min(len(name), 64)])
}

// grew counts bytes, and keeps the folder within its limits.
func (d *folder) grew(n int) error {
	if d.grown.Add(int64(n)) > max(min(1<<20, d.o.MaxTotal/8), d.o.MaxTotal/100) {
		if err := d.prune(); err != nil {
			return err
		}
	}
	return nil
}

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
	sum   hash.Hash  // of what is in f, if it is encrypted
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
	if f.Sync() != nil { // what is noted must be there after a crash of the machine
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

// A Stored is a recording in a folder.
type Stored struct {
	Path      string
	Size      int64
	Written   time.Time // last
	Encrypted bool
	Header    Header // empty if it cannot be read, as Err says
	Ended     bool   // its last line is the last seal
	Err       error
}

// List calls yield for each recording in a folder, oldest first, until yield returns false. It reads their first and
// last lines.
func List(dir string, yield func(Stored) bool) error {
	all, err := recordings(dir)
	if err != nil {
		return err
	}
	for _, s := range all {
		if !yield(look(filepath.Join(dir, s.name), s)) {
			return nil
		}
	}
	return nil
}

// look reads the first and the last line of a recording.
func look(path string, s stored) Stored {
	out := Stored{Path: path, Size: s.size, Written: s.when, Encrypted: strings.HasSuffix(path, encryptedSuffix)}
	if out.Encrypted {
		out.Err = ErrEncrypted
		return out
	}
	r, err := Open(path)
	if err != nil {
		out.Err = err
		return out
	}
	defer r.Close()
	out.Header = r.Header
	if f, ok := r.file.(*os.File); ok {
		tail := make([]byte, 256)
		n, _ := f.ReadAt(tail, max(0, s.size-int64(len(tail))))
		lines := strings.Split(string(tail[:n]), "\n")
		if len(lines) > 1 && lines[len(lines)-1] == "" {
			last := []byte(lines[len(lines)-2])
			_, end := readSeal(last)
			out.Ended = isSeal(last) && end
		}
	}
	return out
}

// Find returns the path of a recording: id is its path, or, in the folder, its name, or the id of its session, of which
// the newest is meant.
func Find(dir, id string) (string, error) {
	if strings.ContainsRune(id, filepath.Separator) || isRecording(id) {
		if _, err := os.Stat(id); err == nil {
			return id, nil
		}
		if dir != "" && filepath.Base(id) == id {
			id = filepath.Join(dir, id)
		}
		_, err := os.Stat(id)
		return id, err
	}
	if dir == "" {
		return "", fmt.Errorf("%q names no file, and there is no folder of recordings", id)
	}
	all, err := recordings(dir)
	if err != nil {
		return "", err
	}
	for _, s := range slices.Backward(all) {
		name := strings.TrimSuffix(strings.TrimSuffix(s.name, ".age"), suffix)
		if _, session, ok := strings.Cut(name, "-"); ok && (session == fileName(id) || name == id) {
			return filepath.Join(dir, s.name), nil
		}
	}
	return "", fmt.Errorf("%s has no recording of a session %q", dir, id)
}
