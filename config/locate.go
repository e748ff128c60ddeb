package config

import (
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath returns the file to read if no other is given:
// $XDG_CONFIG_HOME/ptyctl/ptyctl.toml, or ~/.config/ptyctl/ptyctl.toml if that variable
// is unset, empty or relative (XDG Base Directory Specification). It returns "" if there
// is no home folder.
func DefaultPath() string { return defaultPath(os.Getenv) }

// defaultPath is DefaultPath for the environment of a [Source].
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

// homeDir returns the home folder according to the environment, or "".
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
