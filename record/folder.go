package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"ptyctl/internal/rundir"
)

// The ends of the names of recordings.
const (
	suffix          = ".cast"
	encryptedSuffix = ".cast.age"
)

// A Note is the data about a recording to keep elsewhere, for example in the audit log.
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
