package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A logFile is a file for log lines that is renamed to NAME.1 when it is full, and begun anew. What was NAME.1 becomes
// NAME.2, and so on. Lines are never cut: one that does not fit goes into the next file.
type logFile struct {
	path string
	max  int64 // size at which a new file is begun, in bytes
	keep int   // full files that are kept

	mu   sync.Mutex // guards the following
	f    *os.File   // nil: closed, or it could not be opened again
	size int64
}

func openLogFile(path string, max int64, keep int) (*logFile, error) {
	l := &logFile{path: path, max: max, keep: keep}
	if err := l.open(); err != nil {
		return nil, err
	}
	if info, err := l.f.Stat(); err != nil {
		return nil, errors.Join(err, l.f.Close())
	} else if !info.Mode().IsRegular() {
		l.max = 0 // a pipe or a device has no size, and must not be renamed
	}
	if l.isStdout() {
		return nil, errors.Join(fmt.Errorf("%s is this process's stdout, which carries the MCP messages", path), l.f.Close())
	}
	return l, nil
}

// isStdout reports whether the file is what stdout leads to, by whatever name. A device such as /dev/null may be both.
func (l *logFile) isStdout() bool {
	ours, err := l.f.Stat()
	if err != nil || ours.Mode()&fs.ModeCharDevice != 0 {
		return false
	}
	stdout, err := os.Stdout.Stat()
	return err == nil && os.SameFile(ours, stdout)
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write appends one line.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max > 0 && l.size > 0 && l.size+int64(len(p)) > l.max {
		l.rotate()
	}
	if l.f == nil {
		if err := l.open(); err != nil { // perhaps the folder is back
			return 0, err
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

// rotate requires l.mu. If a file cannot be renamed, as when the folder was made read-only, the log goes on in the one that
// there is: a log that is too long is better than none.
func (l *logFile) rotate() {
	if l.f != nil { // before it is renamed, which Windows demands
		_ = l.f.Close()
		l.f = nil
	}
	l.size = 0
	_ = os.Remove(l.numbered(l.keep))
	for n := l.keep - 1; n >= 1; n-- {
		_ = os.Rename(l.numbered(n), l.numbered(n+1)) // there may be none of that number yet
	}
	_ = os.Rename(l.path, l.numbered(1))
}

func (l *logFile) numbered(n int) string { return fmt.Sprintf("%s.%d", l.path, n) }

// Close closes the file.
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
