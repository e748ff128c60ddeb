package hostkeys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

const (
	// maxFileSize limits one file, in bytes: a caller may have chosen the path.
	maxFileSize = 64 << 20
	// maxWarnings limits the warnings about bad lines in one reading of the files.
	maxWarnings = 20
)

// Entry is one line of a file.
type Entry struct {
	File        string
	Line        int    // from 1
	Marker      Marker // NoMarker for an ordinary line
	Names       string // as written, possibly hashed; empty in a revocation list
	Type        string // of the key, for example "ssh-ed25519"
	Fingerprint string // of the key, "SHA256:..."
}

// String returns file:line.
func (e Entry) String() string { return fmt.Sprintf("%s:%d", e.File, e.Line) }

// database holds the well-formed lines of all files, in order.
type database struct {
	records  []record
	warnings []string
	unsaid   int // number of warnings beyond maxWarnings
}

// readDatabase reads the files. A missing file is ignored. Any other file that cannot be read
// is an error: it may have the line that revokes a key, or contradicts it.
func readDatabase(files []string) (*database, error) {
	db := &database{}
	for _, name := range files {
		text, err := readText(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, syscall.ENOTDIR): // a file where a folder should be: there is no such file
			db.warn("known hosts file not read: %v", err)
			continue
		case err != nil:
			return nil, unreadable(name, err)
		}
		db.parse(name, text)
	}
	return db, nil
}

// errTooLarge is the error of readText for a file of more than maxFileSize bytes, errDirectory
// for a folder.
var (
	errTooLarge  = errors.New("hostkeys: the file is too large")
	errDirectory = errors.New("it is a directory")
)

// unreadable returns the error for a file that was not read.
func unreadable(name string, err error) error {
	if errors.Is(err, errTooLarge) {
		return err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // the message names the file itself
	}
	return &UnreadableError{File: name, Err: err}
}

// readText returns the contents of a regular file. Devices and pipes, for example /dev/null,
// count as empty, because a read of one could block without end.
func readText(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errDirectory
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxFileSize {
		return "", fmt.Errorf("%w: %s has more than %d MiB: check the path", errTooLarge, name, maxFileSize>>20)
	}
	return string(text), nil
}

// parse adds the lines of one file.
func (db *database) parse(file, text string) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		r, ok, err := parseLine(line)
		if err != nil {
			db.warn("%s:%d: line ignored: %v", file, n, err)
			continue
		}
		if ok {
			r.file, r.line = file, n
			db.records = append(db.records, r)
		}
	}
}

// append adds the lines of o behind those of db.
func (db *database) append(o *database) {
	db.records = append(db.records, o.records...)
	for _, text := range o.warnings {
		db.warn("%s", text)
	}
	db.unsaid += o.unsaid
}

// warn adds a warning, or only counts it beyond maxWarnings.
func (db *database) warn(format string, args ...any) {
	if len(db.warnings) == maxWarnings {
		db.unsaid++
		return
	}
	db.warnings = append(db.warnings, fmt.Sprintf(format, args...))
}

// allWarnings returns the warnings and the number of those left out.
func (db *database) allWarnings() []string {
	all := slices.Clone(db.warnings)
	if db.unsaid > 0 {
		all = append(all, fmt.Sprintf("%d more lines of the known hosts files ignored", db.unsaid))
	}
	return all
}

// entry is an Entry with its key.
type entry struct {
	Entry
	key ssh.PublicKey
}

// lookup returns the lines about each of the names. Names must be in lower case; an empty
// name has no lines.
func (db *database) lookup(names ...string) [][]entry {
	found := make([][]entry, len(names))
	for i := range db.records {
		r := &db.records[i]
		var e *entry
		for j, name := range names {
			if name == "" || !r.matches(name) {
				continue
			}
			if e == nil {
				key, err := r.key()
				if err != nil {
					db.warn("%s:%d: line ignored: the %s key cannot be used: %v", r.file, r.line, r.keyType, err)
					break
				}
				e = &entry{r.entry(ssh.FingerprintSHA256(key)), key}
			}
			found[j] = append(found[j], *e)
		}
	}
	return found
}

// withKey returns at most limit ordinary lines with this key, under any name.
func (db *database) withKey(key ssh.PublicKey, limit int) []Entry {
	text := encodeKey(key)
	var found []Entry
	for i := range db.records {
		r := &db.records[i]
		if r.marker == NoMarker && r.keyText == text && len(found) < limit {
			found = append(found, r.entry(ssh.FingerprintSHA256(key)))
		}
	}
	return found
}

// entry returns the record as an Entry, which does not share the file's text.
func (r *record) entry(fingerprint string) Entry {
	return Entry{
		File:        r.file,
		Line:        r.line,
		Marker:      Marker(strings.Clone(string(r.marker))),
		Names:       strings.Clone(r.names),
		Type:        strings.Clone(r.keyType),
		Fingerprint: fingerprint,
	}
}
