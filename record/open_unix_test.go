//go:build unix

package record

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestExchangedForNoFile: something without an end in place of a recording is found, and not waited for.
func TestExchangedForNoFile(t *testing.T) {
	pipe := folderFor(t)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := folderFor(t)
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{"pipe": pipe, "link to a device": link, "folder": t.TempDir()} {
		for _, n := range []Note{
			{Path: path, Seal: Seal{Number: 1, Hash: "00", Bytes: 100, End: true}},
			{Path: path, FileBytes: 100, FileSHA256: "00"},
		} {
			var broken *BrokenError
			if rep, err := Check(n); !errors.As(err, &broken) {
				t.Errorf("Check of a %s in place of a recording = %+v, %v, want a *BrokenError", what, rep, err)
			}
		}
	}
}
