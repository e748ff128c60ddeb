//go:build !linux

package serial

import bugst "go.bug.st/serial"

// known returns the ports of the system.
func known() ([]string, error) { return bugst.GetPortsList() }

// lockedBy knows no process: this system has no lock files.
func lockedBy(string) (pid int, program string) { return 0, "" }

// lacks says nothing: it is known when the device is opened.
func lacks(string) string { return "" }
