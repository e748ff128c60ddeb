package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Dir returns this user's folder, in the profile's local data, which other users cannot
// access. The system is asked for it, because the environment may name a relative path, or none.
func Dir() (string, error) {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_LocalAppData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("the folder of local data %q is not an absolute path", dir)
	}
	return filepath.Join(dir, "ptyctl"), nil
}

// Own creates the folder and its parents unless they exist, and checks that the folder does not belong to another user.
// A new folder admits this user, the system and its administrators, whatever the rights of the folder above.
func Own(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if err := makeFor(self.User.Sid, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if info, err := os.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: remove it, or name another", dir)
	}
	if owner := ownerOf(dir); owner != nil && !owner.Equals(self.User.Sid) && isAccount(owner) {
		return fmt.Errorf("%s belongs to user %s; it must be yours, or name another folder", dir, owner)
	}
	return nil
}

// makeFor creates a folder that only a user and the system can use. Files in it inherit that.
func makeFor(user *windows.SID, dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	access, err := windows.SecurityDescriptorFromString(
		fmt.Sprintf("D:P(A;OICI;FA;;;%s)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", user))
	if err != nil {
		return err
	}
	return windows.CreateDirectory(name, &windows.SecurityAttributes{
		Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: access,
	})
}

// ownerOf returns the owner of a file; nil: the file system knows none.
func ownerOf(path string) *windows.SID {
	access, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return nil
	}
	owner, _, err := access.Owner()
	if err != nil {
		return nil
	}
	return owner
}

// isAccount reports whether a SID is one of a person, and not of the system or a group such as Administrators, to which
// the folders of an elevated process belong.
func isAccount(sid *windows.SID) bool {
	const nonUnique = 21 // SECURITY_NT_NON_UNIQUE: the accounts of a machine or a domain
	return sid.IdentifierAuthority() == windows.SECURITY_NT_AUTHORITY && sid.SubAuthorityCount() > 0 &&
		sid.SubAuthority(0) == nonUnique
}

// Open opens a file of this user in such a folder, and creates it if needed.
func Open(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; remove it", path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// TryLock locks f until it is closed. It returns ErrHeld if another open file has the
// lock.
func TryLock(f *os.File) error {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}

// lock is TryLock that waits for the lock.
func lock(f *os.File) error { return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// Held reports whether another open file has the lock of f. It looks with a lock that all who look can have at once, and
// that f keeps until it is closed.
func Held(f *os.File) bool { return lockByte(f, windows.LOCKFILE_FAIL_IMMEDIATELY) != nil }

// lockByte locks one byte far beyond the content, because other processes cannot read
// locked bytes.
func lockByte(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
