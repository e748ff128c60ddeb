//go:build unix && !linux && !darwin && !(freebsd && (amd64 || arm64))

package protect

// protectMemory can only turn core files off.
func protectMemory() error { return withholdCore() }

// unprotected implements Unprotected.
func unprotected() string { return "this system has no means for it that ptyctl knows" }
