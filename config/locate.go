package config

import (
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath returns the file to read if no other is given:
// $XDG_CONFIG_HOME/ptyctl/ptyctl.toml, or ~/.config/ptyctl/ptyctl.toml if that variable
// is unset, empty or relative (XDG Base Directory Specification). On Windows it is
// %APPDATA%\ptyctl\ptyctl.toml. It returns "" if there is no such folder.
func DefaultPath() string { return defaultPath(runtime.GOOS, os.Getenv) }

// defaultPath is DefaultPath for the environment of a [Source] on goos.
func defaultPath(goos string, getenv func(string) string) string {
	if dir := configDir(goos, getenv); dir != "" {
		return filepath.Join(dir, "ptyctl", "ptyctl.toml")
	}
	return ""
}

// configDir returns the folder of the configurations of all programs, or "".
func configDir(goos string, getenv func(string) string) string {
	home, variable, below := homeDir(goos, getenv), "XDG_CONFIG_HOME", []string{".config"}
	if goos == "windows" {
		variable, below = "APPDATA", []string{"AppData", "Roaming"}
	}
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, below...)...)
}

// homeDir returns the home folder according to the environment, or "".
func homeDir(goos string, getenv func(string) string) string {
	name := "HOME"
	if goos == "windows" {
		name = "USERPROFILE"
	}
	if home := getenv(name); filepath.IsAbs(home) {
		return home
	}
	return ""
}
