package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
)

// A Stored is a recording in a folder.
type Stored struct {
	Path      string
	Name      string // the id of its session, as far as a file's name has it, by which Find finds it
	Size      int64
	Written   time.Time // last
	Encrypted bool
	Header    Header // empty if it cannot be read, as Err says
	Ended     bool   // its last line is the last seal
	Err       error
}

// List calls yield for each recording in a folder, oldest first, until yield returns false. It reads their first and
// last lines; of encrypted ones only with an identity.
func List(dir string, yield func(Stored) bool, identities ...age.Identity) error {
	all, err := recordings(dir)
	if err != nil {
		return err
	}
	for _, s := range all {
		if !yield(look(filepath.Join(dir, s.name), s, identities)) {
			return nil
		}
	}
	return nil
}

// look reads the first and the last line of a recording.
func look(path string, s stored, identities []age.Identity) Stored {
	out := Stored{
		Path: path, Name: nameOf(s.name), Size: s.size, Written: s.when, Encrypted: strings.HasSuffix(path, encryptedSuffix),
	}
	r, err := Open(path, identities...)
	if err != nil {
		if out.Err = err; errors.Is(err, ErrEncrypted) {
			out.Err = ErrEncrypted
		}
		return out
	}
	defer r.Close()
	out.Header = r.Header
	if f, ok := r.file.(*os.File); ok {
		lines := bytes.Split(tail(f, s.size, out.Encrypted, identities), []byte("\n"))
		if n := len(lines); n > 1 && len(lines[n-1]) == 0 {
			_, end := readSeal(lines[n-2])
			out.Ended = isSeal(lines[n-2]) && end
		}
	}
	return out
}

// maxLastPart is how large the last part of an encrypted recording may be, for its end to be found.
const maxLastPart = 8 << 20

// tail returns the end of a recording, its last line at least; nil if it cannot be read.
func tail(f *os.File, size int64, encrypted bool, identities []age.Identity) []byte {
	if !encrypted {
		p := make([]byte, min(256, size))
		n, _ := f.ReadAt(p, size-int64(len(p)))
		return p[:n]
	}
	for most := int64(64 << 10); ; most *= 4 {
		p := make([]byte, min(most, size))
		n, _ := f.ReadAt(p, size-int64(len(p)))
		at := bytes.LastIndex(p[:n], []byte(partMagic))
		switch {
		case at >= 0:
			plain, err := age.Decrypt(bytes.NewReader(p[at:n]), identities...)
			if err != nil {
				return nil
			}
			p, err = io.ReadAll(plain)
			if err != nil {
				return nil
			}
			return p
		case most > maxLastPart || most > size:
			return nil
		}
	}
}

// nameOf returns the other name of a recording, besides its file's: the id of its session.
func nameOf(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".age"), suffix)
	if date, session, ok := strings.Cut(name, "-"); ok && len(date) == len("20060102T150405Z") {
		return session
	}
	return name
}

// Find returns the path of a recording: id is its path, or its name in the folder, or the id of its session, which
// means the session's newest recording.
func Find(dir, id string) (string, error) {
	if strings.ContainsRune(id, filepath.Separator) || isRecording(id) {
		if _, err := os.Stat(id); err == nil {
			return id, nil
		}
		if dir != "" && filepath.Base(id) == id {
			id = filepath.Join(dir, id)
		}
		_, err := os.Stat(id)
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("%s: %w", id, p.Err)
		}
		return id, err
	}
	if dir == "" {
		return "", fmt.Errorf("%q names no file, and there is no folder of recordings to search", id)
	}
	all, err := recordings(dir)
	if err != nil {
		return "", err
	}
	for _, s := range slices.Backward(all) {
		whole := strings.TrimSuffix(strings.TrimSuffix(s.name, ".age"), suffix)
		if nameOf(s.name) == fileName(id) || whole == id {
			return filepath.Join(dir, s.name), nil
		}
	}
	return "", fmt.Errorf("%s has no recording of a session %q", dir, id)
}
