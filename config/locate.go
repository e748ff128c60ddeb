package config

import (
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath returns the file that is read when none is named:
// $XDG_CONFIG_HOME/ptyctl/ptyctl.toml, or ~/.config/ptyctl/ptyctl.toml if that
// variable is unset, empty or relative (XDG Base Directory Specification). It is
// "" when there is no home folder either.
func DefaultPath() string { return defaultPath(os.Getenv) }

func defaultPath(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := homeDir(getenv)
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "ptyctl", "ptyctl.toml")
}

// homeDir returns the home folder that the environment names, or "".
func homeDir(getenv func(string) string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := getenv(name); filepath.IsAbs(home) {
		return home
	}
	return ""
}
