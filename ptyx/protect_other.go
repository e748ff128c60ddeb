//go:build unix && !linux && !darwin && !(freebsd && (amd64 || arm64))

package ptyx

func protectMemory() error { return withholdCore() }

func unprotected() string { return "this system has no means for it that ptyctl knows" }
