//go:build !linux

package serial

// DefaultLockDir is empty: this system has no folder of lock files.
const DefaultLockDir = ""

// LockName is empty.
func LockName(string) string { return "" }

// lockDevice does nothing: the system lets one program open a line.
func lockDevice(string, string) (release func(), doubt string, err error) { return func() {}, "", nil }
