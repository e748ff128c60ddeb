package config

import (
	"path/filepath"
	"testing"
)

// The folder is the one in which other programs of the system keep theirs. Paths of Windows are absolute there alone, so
// that those of this system take their place.
func TestDefaultPathBySystem(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	for _, tc := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": home, "APPDATA": in("roaming")}, in(".config", "ptyctl", "ptyctl.toml")},
		{"darwin", map[string]string{"HOME": home}, in(".config", "ptyctl", "ptyctl.toml")},
		{"darwin", map[string]string{"HOME": home, "XDG_CONFIG_HOME": in("xdg")}, in("xdg", "ptyctl", "ptyctl.toml")},
		{"windows", map[string]string{"APPDATA": in("roaming"), "XDG_CONFIG_HOME": in("xdg")}, in("roaming", "ptyctl", "ptyctl.toml")},
		{"windows", map[string]string{"USERPROFILE": home, "HOME": in("git")}, in("AppData", "Roaming", "ptyctl", "ptyctl.toml")},
		{"windows", map[string]string{"USERPROFILE": home, "APPDATA": "relative"}, in("AppData", "Roaming", "ptyctl", "ptyctl.toml")},
		{"windows", map[string]string{"HOME": home}, ""},
	} {
		if got := defaultPath(tc.goos, func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("on %s with %v: %q, want %q", tc.goos, tc.env, got, tc.want)
		}
	}
}
