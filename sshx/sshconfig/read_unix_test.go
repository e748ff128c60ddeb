//go:build unix

package sshconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPermissions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		role  string // which option names the file
		mode  os.FileMode
		wrong bool
	}{
		{"private user file", "user", 0o600, false},
		{"readable user file", "user", 0o644, false},
		{"group-writable user file", "user", 0o664, true},
		{"world-writable user file", "user", 0o646, true},
		{"writable system file", "system", 0o666, false},
		{"writable caller file", "caller", 0o666, false},
		{"writable include of the user file", "user include", 0o664, true},
		{"writable include of the system file", "system include", 0o664, true},
		{"writable include of the caller file", "caller include", 0o664, true},
		{"writable include of another host", "other include", 0o664, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "config", "User bob\n")
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			o := options(t)
			named := path
			role, include := strings.CutSuffix(tt.role, " include")
			if include {
				named = write(t, dir, "including", "Include "+path+"\n")
			}
			switch role {
			case "user":
				o.UserFile = named
			case "system":
				o.SystemFile = named
			case "caller":
				o.CallerFile = named
			case "other":
				o.UserFile = write(t, dir, "including", "Host bar\nInclude "+path+"\n")
			}
			cfg, err := Evaluate(t.Context(), o)
			var bad *PermissionError
			if tt.wrong {
				if !errors.As(err, &bad) || bad.File != path || !strings.Contains(err.Error(), "chmod go-w "+path) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if role == "other" {
				if w := warned(cfg, "bad owner or permissions"); w == nil || w.Applies {
					t.Errorf("warnings %v", cfg.Warnings)
				}
			} else if cfg.User != "bob" {
				t.Errorf("User = %q", cfg.User)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		// Without privilege the only foreign file here is root's, which is allowed.
		if err := checkPermissions("/", mustStat(t, "/")); err != nil {
			t.Errorf("root's directory: %v", err)
		}
		return
	}
	path := write(t, t.TempDir(), "config", "User bob\n")
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.UserFile = path
	_, err := Evaluate(t.Context(), o)
	var bad *PermissionError
	if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "12345") {
		t.Errorf("error %v", err)
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Opening these files would block, or reading them would not end.
func TestSpecialFiles(t *testing.T) {
	o := options(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", loop} {
		o.CallerFile = path
		var fileError *FileError
		if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
