//go:build unix

package audit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ptyctl/term"
)

// TestHeads: the head of a log is a line of it that survives a crash, and a log that was cut or rewritten is detected
// by its earlier heads.
func TestHeads(t *testing.T) {
	for _, fsync := range []Fsync{FsyncAlways, FsyncInterval, FsyncNever} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l, err := Open(Options{Path: path, Fsync: fsync, Node: "fra-1"})
		if err != nil {
			t.Fatal(err)
		}
		first, ok := l.Head()
		if !ok || first.File != 1 || first.Bytes == 0 || !IsHash(first.Hash) {
			t.Fatalf("%s: Head after Open = %+v, %t", fsync, first, ok)
		}
		if err := l.Journal(term.Event{Verb: term.VerbOpen, Time: time.Now(), Actor: term.Actor{Transport: "http", Node: "ber-1"}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		last, _ := l.Head()
		text, err := os.ReadFile(path)
		if err != nil || last.Bytes != int64(len(text)) || last.Hash == first.Hash {
			t.Errorf("%s: Head after Close = %+v of %d bytes, %v", fsync, last, len(text), err)
		}
		all := entries(t, path)
		if slices.ContainsFunc(all, func(e Entry) bool { return e.Node != "fra-1" }) {
			t.Errorf("%s: a line has no node:\n%s", fsync, text)
		}
		if !slices.ContainsFunc(all, func(e Entry) bool { return e.Actor != nil && e.Actor.Node == "ber-1" }) {
			t.Errorf("%s: no line has the entry node:\n%s", fsync, text)
		}
		other := digest([]byte("another line"))
		r, missing, err := VerifyHeads([]string{first.Hash, other, last.Hash}, path)
		if err != nil || !slices.Equal(missing, []string{other}) || r.Head != last.Hash {
			t.Errorf("%s: VerifyHeads = %+v, %q, %v", fsync, r, missing, err)
		}
		if err := os.Truncate(path, first.Bytes); err != nil {
			t.Fatal(err)
		}
		if _, missing, err := VerifyHeads([]string{first.Hash, last.Hash}, path); err != nil || !slices.Equal(missing, []string{last.Hash}) {
			t.Errorf("%s: VerifyHeads of a log that was cut = %q, %v, want the last head", fsync, missing, err)
		}
	}
	if h, ok := (*Log)(nil).Head(); ok {
		t.Errorf("Head of no log = %+v", h)
	}
}
