//go:build unix

package devlock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/rundir"
)

// A folder or file that other users can access is refused and left unchanged.
func TestRefusedPlaces(t *testing.T) {
	elsewhere := t.TempDir()
	file := filepath.Join(elsewhere, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := fileName(device)
	for _, c := range []struct {
		name string
		set  func(dir string) error // dir does not exist yet
		want string
	}{
		{"folder is a link", func(dir string) error { return os.Symlink(elsewhere, dir) }, "symbolic link"},
		{"folder is a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a directory"},
		{"folder open to others", func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o770)
		}, "open to others"},
		{"gate is a link", within("gate", func(path string) error { return os.Symlink(file, path) }), "symbolic link"},
		{"file is a link", within(name, func(path string) error { return os.Symlink(file, path) }), "symbolic link"},
		{"file is a dangling link", within(name, func(path string) error { return os.Symlink(filepath.Join(elsewhere, "new"), path) }), "symbolic link"},
		{"file open to others", within(name, func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Chmod(path, 0o644)
		}), "open to others"},
		{"file is a FIFO", within(name, func(path string) error { return syscall.Mkfifo(path, 0o600) }), "special file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "devices")
			if err := c.set(dir); err != nil {
				t.Fatal(err)
			}
			l, err := Acquire(dir, device, Owner{PID: 1})
			if err == nil {
				l.Release()
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v: want %q and the path", err, c.want)
			}
		})
	}
	if names := files(t, elsewhere); len(names) != 1 {
		t.Errorf("a link was followed: %q", names)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
		t.Errorf("the file behind a link has become %q, %v", text, err)
	}
}

// within creates the folder and a file in it.
func within(name string, set func(path string) error) func(dir string) error {
	return func(dir string) error {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return set(filepath.Join(dir, name))
	}
}

// Folders and files of another user are refused. Only root can give files away, so only
// root runs this test.
func TestForeign(t *testing.T) {
	if os.Getuid() != 0 {
		info, err := os.Stat("/")
		if err != nil {
			t.Fatal(err)
		}
		if why := rundir.Foreign(info); !strings.Contains(why, "belongs to user 0") {
			t.Errorf("/: %q", why)
		}
		return
	}
	const nobody = 65534
	dir := filepath.Join(t.TempDir(), "devices")
	acquire(t, dir, "s").Release()
	if err := os.Chown(filepath.Join(dir, "gate"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir, device, Owner{}); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("a foreign file: %v", err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir, device, Owner{}); err == nil ||
		!strings.Contains(err.Error(), dir+" belongs to user 65534") {
		t.Errorf("a foreign folder: %v", err)
	}
}

func TestDefaultDir(t *testing.T) {
	ours := t.TempDir()
	if err := os.Chmod(ours, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", ours)
	if dir, err := DefaultDir(); err != nil || dir != filepath.Join(ours, "ptyctl", "devices") {
		t.Errorf("%s, %v", dir, err)
	}
	// Values that cannot be a runtime folder are ignored.
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	uid := strconv.Itoa(os.Getuid())
	want := "/tmp/ptyctl-" + uid
	if _, err := os.Stat(want); err != nil {
		t.Cleanup(func() { _ = os.Remove(want) })
	}
	if info, err := os.Stat("/run/user/" + uid); err == nil && rundir.Foreign(info) == "" {
		want = "/run/user/" + uid
	}
	for _, bad := range []string{"", "relative", "/nowhere", open} {
		t.Setenv("XDG_RUNTIME_DIR", bad)
		dir, err := DefaultDir()
		if err != nil || dir != filepath.Join(want, "ptyctl", "devices") {
			t.Errorf("XDG_RUNTIME_DIR=%q: %s, %v", bad, dir, err)
		}
	}
}
