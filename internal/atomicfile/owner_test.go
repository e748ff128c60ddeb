//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The owner stays where root writes the file of another user. Without root the test cannot make such a file: then it
// checks that the group stays, with a group of the user.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("was"), 0o600); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 65534, 65534
	} else if more, err := os.Getgroups(); err == nil && len(more) > 0 {
		gid = more[len(more)-1]
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("is"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := i.Sys().(*syscall.Stat_t); int(s.Uid) != uid || int(s.Gid) != gid {
		t.Errorf("the file belongs to %d:%d, want %d:%d", s.Uid, s.Gid, uid, gid)
	}
}
