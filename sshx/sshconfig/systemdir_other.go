//go:build !windows

package sshconfig

// programData is for Windows.
func programData() (string, error) { return "", errNoProgramData }
