package hostkeys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Update is the change of the user's files that a server's announcement asks for
// (UpdateHostKeys in ssh_config(5)).
type Update struct {
	New      []ssh.PublicKey // announced but not recorded: must be proven by VerifyProof, then added
	Obsolete []ssh.PublicKey // recorded but not announced: to be removed
	Skipped  string          // why no change is allowed; New and Obsolete are then empty
}

// PlanUpdate compares the announced keys with the user's files. Like OpenSSH it does not
// touch lines that a person has arranged by hand. It plans a change only if the accepted key
// was found in a user file, or confirmed by an answer, as a plain key of exactly this name,
// and if no markers, patterns, lists of names or other names of the same keys are involved.
// Unlike OpenSSH it also plans no change under CheckHostIP, with files named by a caller, and
// if the accepted key is not announced.
func (v *Verifier) PlanUpdate(announced []ssh.PublicKey) (Update, error) {
	v.mu.Lock()
	accepted, r := v.accepted, v.result
	v.mu.Unlock()
	switch {
	case accepted == nil, r.Decision != Known && r.Decision != Confirmed,
		r.Entry == nil, !slices.Contains(v.o.UserFiles, r.Entry.File):
		return Update{Skipped: "the host key is not one from the user's known_hosts"}, nil
	case v.o.ReadOnly || len(v.o.CallerFiles) > 0:
		return Update{Skipped: "the files may only be read"}, nil
	case v.names.ip != "":
		return Update{Skipped: "CheckHostIP is on"}, nil
	case !holdsKey(announced, accepted.key):
		return Update{Skipped: "the server does not announce the key it uses"}, nil
	}
	db, err := readDatabase(v.o.UserFiles)
	if err != nil {
		return Update{}, err
	}
	return v.plan(db, announced), nil
}

// plan compares the announced keys with the lines of one reading of the files.
func (v *Verifier) plan(db *database, announced []ssh.PublicKey) Update {
	var recorded []ssh.PublicKey // under this name
	for _, e := range db.lookup(v.names.name)[0] {
		if e.Marker != NoMarker || strings.ContainsAny(e.Names, "*?!") || strings.Count(e.Names, ",") > 1 {
			return Update{Skipped: e.String() + " has a marker, a pattern or a list of names"}
		}
		if !holdsKey(recorded, e.key) {
			recorded = append(recorded, e.key)
		}
	}
	if len(recorded) == 0 {
		return Update{Skipped: "no key is on record under " + v.names.name}
	}
	var u Update
	for _, k := range announced {
		o := newOffer(k)
		bits := o.rsaBits()
		if holdsKey(recorded, k) || bits != 0 && bits < v.o.RequiredRSASize || v.checkRevoked(v.known, o) != nil {
			continue
		}
		u.New = append(u.New, k)
	}
	for _, k := range recorded {
		if !holdsKey(announced, k) {
			u.Obsolete = append(u.Obsolete, k)
		}
	}
	for _, k := range slices.Concat(announced, recorded) {
		if e, found := db.elsewhere(v.names.name, k); found {
			return Update{Skipped: "a key of the host has another name too, at " + e.String()}
		}
	}
	return u
}

// elsewhere returns a line with the key that is not about name.
func (db *database) elsewhere(name string, key ssh.PublicKey) (Entry, bool) {
	text := encodeKey(key)
	for i := range db.records {
		if r := &db.records[i]; r.keyText == text && !r.matches(name) {
			return r.entry(""), true
		}
	}
	return Entry{}, false
}

// ApplyUpdate changes the user's files as announced; proven are the keys that VerifyProof
// returned for Update.New. For each file it plans again under the lock, removes only lines of
// this host, and keeps every other line byte for byte; it adds keys to the first file. It
// returns the changes made.
func (v *Verifier) ApplyUpdate(announced, proven []ssh.PublicKey) (Update, error) {
	var all Update
	for i, file := range v.o.UserFiles {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			continue
		}
		// One lock at a time, because another process may lock the same files in another order.
		err := withLock(file, func(path string) error {
			u, err := v.PlanUpdate(announced)
			if err != nil || u.Skipped != "" {
				all.Skipped = u.Skipped
				return err
			}
			var added strings.Builder
			for _, k := range u.New {
				if i == 0 && holdsKey(proven, k) {
					added.WriteString(newLines([]string{v.names.name}, k, v.o.HashNewNames))
					all.New = append(all.New, k)
				}
			}
			for _, k := range u.Obsolete {
				if !holdsKey(all.Obsolete, k) {
					all.Obsolete = append(all.Obsolete, k)
				}
			}
			return v.rewrite(path, u.Obsolete, added.String())
		})
		if err != nil || all.Skipped != "" {
			return all, err
		}
	}
	return all, nil
}

// rewrite removes this host's lines with an obsolete key from the file and appends the added
// lines.
func (v *Verifier) rewrite(path string, obsolete []ssh.PublicKey, added string) error {
	old, err := readText(path)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.SplitAfterSeq(old, "\n") {
		r, ok, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err == nil && ok && r.marker == NoMarker && r.holds(obsolete) && r.matches(v.names.name) {
			continue
		}
		kept.WriteString(line)
	}
	switch {
	case kept.Len() < len(old):
		text := kept.String()
		if text != "" && !strings.HasSuffix(text, "\n") && added != "" {
			text += "\n"
		}
		return replaceFile(path, text+added)
	case added != "":
		_, err := appendText(path, added)
		return err
	}
	return nil
}

// holds reports whether the record has one of the keys.
func (r *record) holds(keys []ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return encodeKey(k) == r.keyText })
}

// replaceFile replaces the file by one with the given text, atomically and with the same
// permissions.
func replaceFile(path, text string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s was not updated: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
