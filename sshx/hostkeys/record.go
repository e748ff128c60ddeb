package hostkeys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/internal/exhausted"
)

// notRecordableError says that a key cannot be recorded; another attempt would fail as well.
type notRecordableError struct{ reason string }

func (e *notRecordableError) Error() string { return e.reason }

// errKeepsNothing is the error of a file that cannot keep keys, such as /dev/null: a user who configures it wants no
// keys to be kept.
var errKeepsNothing = errors.New("keeps nothing: it is not a regular file")

// keptRecord is the reason under Options.KeepRecord.
const keptRecord = "the operator's record decides where credentials may be used, and only the operator adds to it"

// isVerdict reports whether err refuses the key, and is not only about the new line: the key is
// revoked, or it is not known whether it is. Without file descriptors nothing can be recorded, so
// that each connection would be a first use.
func isVerdict(err error) bool {
	return errors.As(err, new(*RevokedError)) || errors.As(err, new(*UnreadableError)) || exhausted.Descriptors(err)
}

// record adds the offered key to RecordFile, under the host's address and, if name is set,
// its name, as far as they are not recorded yet. It reads all files again under the lock; j
// is the judgement of that moment, before the new line. line is nil if no line was needed, or
// if the files now contradict the key.
func (v *Verifier) record(o *offer, name bool) (line *Entry, j judgement, err error) {
	if v.o.KeepRecord {
		return nil, judgement{}, &notRecordableError{keptRecord}
	}
	if v.o.ReadOnly {
		return nil, judgement{}, &notRecordableError{
			"the known_hosts file was named by the caller, and may only be read: " +
				"the operator would have to allow its folder",
		}
	}
	if v.o.RecordFile == "" && v.o.KnownHosts != nil {
		return nil, judgement{}, &notRecordableError{"the program keeps the known hosts itself, and adds none"}
	}
	if v.o.RecordFile == "" {
		return nil, judgement{}, &notRecordableError{
			"no user known_hosts file is configured: set one (UserKnownHostsFile)",
		}
	}
	err = withLock(v.o.RecordFile, func(path string) error {
		db, callers, err := v.o.read()
		if err != nil {
			return err
		}
		k := v.lines(db, callers)
		if err := v.checkRevoked(k, o); err != nil {
			return err
		}
		j = v.judge(k, o)
		names := v.names.missing(j, name)
		for _, n := range names {
			if !recordable(n) {
				return &notRecordableError{
					fmt.Sprintf("the name %q has characters that have a meaning in known_hosts: "+
						"use another name for the host", n),
				}
			}
		}
		if len(names) == 0 {
			return nil
		}
		text := newLines(names, o.key, v.o.HashNewNames)
		n, err := appendText(path, text)
		if err != nil {
			return err
		}
		field, _ := cutField(text)
		line = &Entry{File: v.o.RecordFile, Line: n, Names: field, Type: o.keyType, Fingerprint: o.fingerprint}
		return nil
	})
	return line, j, err
}

// newLines returns the line for the names; with hashing, one line each, because a line can
// have only one hashed name.
func newLines(names []string, key ssh.PublicKey, hash bool) string {
	rest := " " + strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key)), "\n") + "\n"
	if !hash {
		return strings.Join(names, ",") + rest
	}
	var b strings.Builder
	for _, n := range names {
		b.WriteString(knownhosts.HashHostname(n))
		b.WriteString(rest)
	}
	return b.String()
}

// withLock calls f with the real path of the file while it holds that file's lock. OpenSSH
// takes no lock, so the lock only separates our own processes; f must keep the file valid for
// other readers at every moment.
func withLock(path string, f func(path string) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// As for ~/.ssh: other users must not read or write there.
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	case info.IsDir():
		return unreadable(path, errDirectory)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s %w", path, errKeepsNothing)
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// Closing the file releases the lock. The file stays: if it were removed, two processes could
	// lock two files with the same name.
	defer lock.Close()
	if err := flock(lock); err != nil {
		return fmt.Errorf("%s cannot be locked: %w", lock.Name(), err)
	}
	return f(path)
}

// appendText appends whole lines to the file with one write, so that a reader never sees a
// part of them, and returns the number of the first line.
func appendText(path, text string) (line int, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	old, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	line = bytes.Count(old, []byte("\n")) + 1
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = "\n" + text
		line++
	}
	if n, err := f.WriteString(text); err != nil {
		if n > 0 { // on a full disk: the rest of the line would be taken for a key
			err = errors.Join(err, f.Truncate(int64(len(old))))
		}
		return 0, err
	}
	return line, nil
}
