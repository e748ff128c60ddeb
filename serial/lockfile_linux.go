package serial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ptyctl/term"
)

// DefaultLockDir is the folder of the lock files of devices (FHS 3.0 section 5.9).
const DefaultLockDir = "/var/lock"

// LockFile returns the lock file of a device in a folder: LCK.. and the device's base name.
func LockFile(dir, device string) string { return filepath.Join(dir, "LCK.."+filepath.Base(device)) }

// LockName is the lock file of a device in the usual folder; empty: this system has none.
func LockName(device string) string { return LockFile(DefaultLockDir, device) }

// maxTries bounds the attempts to make a lock file while others come and go.
const maxTries = 8

// lockDevice makes the lock file of a device. Its file is complete from the first moment: it is a link to a file of
// another name, which no other process reads. A file of a process that has ended is replaced. doubt is the reason for
// a missing lock file although no process has the line; then release does nothing.
func lockDevice(dir, device string) (release func(), doubt string, err error) {
	name := LockFile(dir, device)
	for range maxTries {
		pid, err := Holder(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return func() {}, "the lock file " + name + " cannot be read: " + term.RootCause(err).Error(), nil
		case pid == 0 && isNew(name):
			return nil, "", &term.Error{
				Op: "open", Kind: term.Locked,
				Msg: fmt.Sprintf("%s is being opened by another program, whose lock file %s names none yet; try again", device, name),
			}
		case pid != 0 && pid != os.Getpid(): // one with this process's own number is of a process before it
			return nil, "", inUse(device, name, pid)
		default:
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return func() {}, "the lock file " + name + " of a process that has ended cannot be removed: " +
					term.RootCause(err).Error(), nil
			}
		}
		switch err := makeLock(dir, name); {
		case err == nil:
			return func() { unlock(name) }, "", nil
		case !errors.Is(err, fs.ErrExist):
			return func() {}, fmt.Sprintf("no lock file in %s (%v): other programs do not see that the line is in use",
				dir, term.RootCause(err)), nil
		}
	}
	return func() {}, "the lock file " + name + " changes all the time", nil
}

// fresh is how long a program may take to write its number into the lock file that it has made.
const fresh = 5 * time.Second

// isNew reports whether a lock file is empty and has just been made.
func isNew(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Size() == 0 && time.Since(info.ModTime()) < fresh
}

// makeLock makes a lock file of this process.
func makeLock(dir, name string) error {
	f, err := os.CreateTemp(dir, "LTMP.*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "%10d\n", os.Getpid())
	err = errors.Join(err, f.Chmod(0o644), f.Close()) // others must be able to read it
	if err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

// unlock removes a lock file of this process.
func unlock(name string) {
	if pid, err := Holder(name); err == nil && pid == os.Getpid() {
		_ = os.Remove(name)
	}
}

// Holder returns the process that a lock file names, and 0 if that has ended or the file names none. The number is in
// text, or in four bytes as old programs write it.
func Holder(name string) (pid int, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var text [64]byte
	n, _ := f.Read(text[:])
	if n == 4 && text[3] != '\n' {
		pid = int(binary.NativeEndian.Uint32(text[:4]))
	} else if fields := strings.Fields(string(text[:n])); len(fields) > 0 { // some programs add their name
		pid, _ = strconv.Atoi(fields[0])
	}
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0, nil
	}
	return pid, nil
}

// Program returns the name of a process; empty: it is not known.
func Program(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// inUse is the error of a line that another program has.
func inUse(device, name string, pid int) error {
	who := fmt.Sprintf("process %d", pid)
	if p := Program(pid); p != "" {
		who += fmt.Sprintf(" (%q)", p)
	}
	return &term.Error{
		Op: "open", Kind: term.Locked, Facts: term.Facts{term.DeviceOwner{PID: pid}},
		Msg: fmt.Sprintf("%s is in use by %s, as %s says; end that program, and open the line again", device, who, name),
	}
}
