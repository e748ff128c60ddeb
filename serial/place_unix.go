//go:build unix

package serial

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// pathForm describes a right path in messages.
const pathForm = "an absolute path such as /dev/ttyUSB0"

// byID is the folder of the links that udev names after the plugged-in hardware.
const byID = "/dev/serial/by-id/"

// Path returns the path that a caller's text means: a name without a slash is one of /dev/serial/by-id.
func Path(given string) string {
	if given == "" || given == "." || given == ".." || strings.Contains(given, "/") {
		return given
	}
	return byID + given
}

// named reports whether a text has the form of a device's path.
func named(text string) bool { return filepath.IsAbs(text) && !hasControl(text) && text != "/" }

// folded returns a path as it is compared.
func folded(name string) string { return name }

// resolve returns the device that a path leads to, and whether only the administrator could have changed where it leads.
func resolve(given string) (device string, trusted bool, err error) {
	if device, err = filepath.EvalSymlinks(given); err != nil {
		return "", false, err
	}
	return device, device == given || onlyRoots(given) && leadsTo(given, device), nil
}

// leadsTo reports whether a path is a link to the device itself, and not to another link.
func leadsTo(link, device string) bool {
	to, err := os.Readlink(link)
	if err != nil {
		return false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	return filepath.Clean(to) == device
}

// onlyRoots reports whether the path and all folders above it belong to root and are writable only by root. Links on
// the way to it count as changeable: their targets would have to be looked at, too.
func onlyRoots(name string) bool {
	for at := name; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		link := info.Mode()&fs.ModeSymlink != 0
		if !ok || stat.Uid != 0 || !link && info.Mode().Perm()&0o022 != 0 || link && at != name {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// noLine says why a device is no serial line, without opening it; empty: it is one.
func noLine(device string) string {
	info, err := os.Lstat(device)
	switch {
	case err != nil:
		return err.Error()
	case info.Mode()&fs.ModeCharDevice == 0:
		return "it is no character device"
	}
	return otherKind(uint64(info.Sys().(*syscall.Stat_t).Rdev)) //nolint:unconvert // its type differs between systems
}
