//go:build unix

package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Dir returns this user's folder: ptyctl below XDG_RUNTIME_DIR, else below /run/user/UID, else below /tmp/ptyctl-UID,
// which is made. A runtime folder that another user owns (as su(1) may leave it in the environment) is passed over.
func Dir() (string, error) {
	uid := strconv.Itoa(os.Getuid())
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + uid} {
		if !filepath.IsAbs(dir) {
			continue
		}
		// The name may be a link; what it leads to counts.
		if info, err := os.Stat(dir); err == nil && Foreign(info) == "" {
			return filepath.Join(dir, "ptyctl"), nil
		}
	}
	dir := "/tmp/ptyctl-" + uid // not TMPDIR: all processes of the user must find the same folder
	if err := Own(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, "ptyctl"), nil
}

// Own makes the folder, and those above it, unless it is there; and checks that it is ours alone.
func Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a %s, and must be a folder: remove it, or name another", dir, kindOf(info))
	}
	if why := Foreign(info); why != "" {
		return fmt.Errorf("%s %s; it must be yours alone (chmod 700), or name another folder", dir, why)
	}
	return nil
}

// Open opens a file of ours in a folder of ours, and makes it if need be.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // the latter on FreeBSD
		return nil, fmt.Errorf("%s is a symbolic link, which is never followed; remove it", path)
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a %s, not a file; remove it", path, kindOf(info))
	}
	if err == nil {
		if why := Foreign(info); why != "" {
			err = fmt.Errorf("%s %s; remove it", path, why)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	// What cleans runtime folders leaves a file alone that has the sticky bit (XDG Base Directory Specification). Not
	// every system lets a user set it on a file.
	_ = f.Chmod(0o600 | fs.ModeSticky)
	return f, nil
}

// Foreign says why something is not this user's alone; empty: it is.
func Foreign(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "has no owner"
	case int(st.Uid) != os.Getuid():
		return fmt.Sprintf("belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("is open to others (mode %#o)", info.Mode().Perm())
	}
	return ""
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	default:
		return "special file"
	}
}
