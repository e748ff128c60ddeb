//go:build unix

package fsx

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ptyctl/term"
)

// TestSFTPListLarge: ordinary folders are far from what is too much.
func TestSFTPListLarge(t *testing.T) {
	files, root, _ := newSFTP(t, Limits{Entries: 100_000})
	made := 0
	for _, want := range []int{3_000, 20_000} {
		for ; made < want; made++ {
			if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("an-ordinary-name-%06d.log", made)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := files.List(t.Context(), term.FileList{Path: root, Limit: 100_000})
		if err != nil || len(l.Entries) != want || l.More || l.Entries[want-1].Name != fmt.Sprintf("an-ordinary-name-%06d.log", want-1) {
			t.Errorf("%d of %d entries, more %v: %v", len(l.Entries), want, l.More, err)
		}
	}
}

// TestSFTPListHostile: a server that sends entries without an end is stopped.
func TestSFTPListHostile(t *testing.T) {
	const entries = 10_000
	folder := binary.BigEndian.AppendUint32([]byte{105, 0, 0, 0, 0, 0, 0, 0, 4}, 0o40755)
	handle := append([]byte{102, 0, 0, 0, 0}, appendString(nil, "h")...)
	names := binary.BigEndian.AppendUint32([]byte{104, 0, 0, 0, 0}, entries)
	for range entries {
		names = append(appendString(appendString(names, "x"), ""), 0, 0, 0, 0)
	}
	answers := [][]byte{folder, handle}
	for range maxListing/len(names) + 2 {
		answers = append(answers, names)
	}
	end := appendString(appendString(binary.BigEndian.AppendUint32([]byte{101, 0, 0, 0, 0}, 1), ""), "")
	files, err := NewSFTP(t.Context(), newLiar(version(), append(answers, end)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	within(t, func() {
		_, err := files.List(t.Context(), term.FileList{Path: "x"})
		wantKind(t, err, term.LimitExceeded, "8 MiB")
	})
}
