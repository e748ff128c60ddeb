package sshconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// A file without read permission must be skipped with a warning, unless the caller named it.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	secret := write(t, dir, "secret", "User bob\n")
	including := write(t, dir, "including", "Include "+secret+"\nPort 2222\n")
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		// The superuser can read every file, so this thread changes its user.
		for parent := dir; parent != filepath.Clean(os.TempDir()); parent = filepath.Dir(parent) {
			if err := os.Chmod(parent, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	for _, tt := range []struct {
		name   string
		change func(*Options)
		port   int
	}{
		{"user file", func(o *Options) { o.UserFile = secret }, 22},
		{"system file", func(o *Options) { o.SystemFile = secret }, 22},
		{"include", func(o *Options) { o.SystemFile = including }, 2222},
	} {
		o := unreadableOptions(dir)
		tt.change(&o)
		cfg, err := Evaluate(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if warned(cfg, "cannot be read") == nil || cfg.User != "me" || cfg.Port != tt.port {
			t.Errorf("%s: User %q, Port %d, warnings %v", tt.name, cfg.User, cfg.Port, cfg.Warnings)
		}
	}
	o := unreadableOptions(dir)
	o.CallerFile = secret
	if _, err := Evaluate(t.Context(), o); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("caller file: %v", err)
	}
}

func unreadableOptions(home string) Options {
	return Options{Host: "foo", UserFile: "none", SystemFile: "none", LocalUser: "me", HomeDir: home, LocalHost: "client"}
}
