//go:build unix

package fsx

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"ptyctl/term"
)

// TestSFTPListLarge: large ordinary folders must be far below the limit.
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
		if err != nil || len(l.Entries) != want || l.More ||
			l.Entries[want-1].Name != fmt.Sprintf("an-ordinary-name-%06d.log", want-1) {
			t.Errorf("%d of %d entries, more %v: %v", len(l.Entries), want, l.More, err)
		}
	}
}

// TestSFTPListHostile: a server with an endless list of entries must be stopped.
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

// TestSFTPImpossibleSizes checks reads and writes near the largest offset, with a
// server that has data everywhere.
func TestSFTPImpossibleSizes(t *testing.T) {
	attrs := func(size uint64) []byte {
		return binary.BigEndian.AppendUint32(
			binary.BigEndian.AppendUint64([]byte{105, 0, 0, 0, 0, 0, 0, 0, 5}, size),
			0o100644,
		)
	}
	handle := append([]byte{102, 0, 0, 0, 0}, appendString(nil, "h")...)
	data := append([]byte{103, 0, 0, 0, 0}, appendString(nil, "some data of a hostile server")...)
	for _, size := range []uint64{0, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		for _, offset := range []int64{0, math.MaxInt64 - 10, math.MaxInt64} {
			files, err := NewSFTP(
				t.Context(),
				newLiar(version(), [][]byte{attrs(size), handle, data, data, data, data}),
				Limits{Read: 29},
			)
			if err != nil {
				t.Fatal(err)
			}
			within(t, func() {
				d, err := files.Read(t.Context(), term.FileRead{Path: "x", Offset: offset})
				if err != nil || d.Size < 0 || d.Next < offset || int64(len(d.Data)) != d.Next-offset ||
					len(d.Data) == 0 && d.Truncated {
					t.Errorf("Read of %d bytes at %d = %+v, %v", size, offset, d, err)
				}
			})
			_ = files.Close()
		}
		files, err := NewSFTP(t.Context(), newLiar(version(), [][]byte{attrs(size)}), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		within(t, func() {
			if e, err := files.Stat(t.Context(), "x"); err != nil || e.Size < 0 {
				t.Errorf("Stat of %d bytes = %+v, %v", size, e, err)
			}
			if size >= math.MaxInt64 {
				_, err := files.Write(t.Context(), term.FileWrite{Path: "x", Data: []byte("abc"), Append: true})
				wantKind(t, err, term.IOError, "no file can")
			}
		})
		_ = files.Close()
	}
}
