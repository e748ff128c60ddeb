package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A logFile is a file for log lines. When it is full it is renamed to NAME.1 and a new one begins; NAME.1 becomes
// NAME.2, and so on. Lines are never cut: a line that does not fit goes into the next file. Several processes may write
// to the same file, because each MCP client starts its own: the first that finds the file full renames it, and the
// others follow.
type logFile struct {
	path string
	max  int64 // size in bytes at which a new file begins; 0: never
	keep int   // full files that are kept

	mu sync.Mutex // guards the following
	f  *os.File   // nil: closed, or it could not be opened again
}

func openLogFile(path string, max int64, keep int) (*logFile, error) {
	l := &logFile{path: path, max: max, keep: keep}
	if err := l.open(); err != nil {
		return nil, err
	}
	info, err := l.f.Stat()
	if err != nil {
		return nil, errors.Join(err, l.f.Close())
	}
	if !info.Mode().IsRegular() {
		l.max = 0 // a pipe or a device has no size, and must not be renamed
	}
	// The file may have another name than stdout. A device such as /dev/null may be both.
	if stdout, err := os.Stdout.Stat(); err == nil && os.SameFile(info, stdout) && info.Mode()&fs.ModeCharDevice == 0 {
		return nil, errors.Join(
			fmt.Errorf("%s is this process's stdout, which carries the MCP messages", path),
			l.f.Close(),
		)
	}
	return l, nil
}

func (l *logFile) open() (err error) {
	l.f, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// Write appends one line.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil && l.max > 0 {
		if info, err := l.f.Stat(); err == nil && info.Size() > 0 && info.Size()+int64(len(p)) > l.max {
			l.next(info)
		}
	}
	if l.f == nil {
		if err := l.open(); err != nil { // perhaps the folder is back
			l.f = nil
			return 0, err
		}
	}
	return l.f.Write(p)
}

// next leaves a file that is full. If it cannot be renamed, for example in a folder that has become read-only, the log
// continues in it: a log that is too long is better than none. Requires l.mu.
func (l *logFile) next(full fs.FileInfo) {
	_ = l.f.Close() // Windows renames no open file
	l.f = nil
	if now, err := os.Stat(l.path); err != nil || !os.SameFile(now, full) {
		return // another process has renamed it
	}
	_ = os.Remove(l.numbered(l.keep))
	for n := l.keep - 1; n >= 1; n-- {
		_ = os.Rename(l.numbered(n), l.numbered(n+1)) // there may be no file of that number yet
	}
	_ = os.Rename(l.path, l.numbered(1))
}

func (l *logFile) numbered(n int) string { return fmt.Sprintf("%s.%d", l.path, n) }

// Close closes the file. A later Write opens it again.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
