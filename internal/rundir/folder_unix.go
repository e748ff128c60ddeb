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

// Dir returns this user's folder: ptyctl in XDG_RUNTIME_DIR, else in /run/user/UID, else
// in /tmp/ptyctl-UID, which it creates. It skips a runtime folder of another user, which
// su(1) may leave in the environment.
func Dir() (string, error) {
	uid := strconv.Itoa(os.Getuid())
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + uid} {
		if !filepath.IsAbs(dir) {
			continue
		}
		// The name may be a link; its target is checked.
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

// Own creates the folder and its parents unless they exist, and checks that the folder
// belongs to this user alone.
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

// Open opens a file of this user in such a folder, and creates it if needed. It never
// follows a symbolic link.
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
	// Cleaners of runtime folders keep files with the sticky bit (XDG Base Directory
	// Specification). Some systems do not let a user set it on a file.
	_ = f.Chmod(0o600 | fs.ModeSticky)
	return f, nil
}

// Foreign returns why something does not belong to this user alone, or "".
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

// kindOf returns the kind of a file for a message.
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
