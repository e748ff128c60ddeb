//go:build !unix

package setup

import "os/exec"

// group does nothing: processes that a program has started may stay.
func group(*exec.Cmd) (end func()) { return func() {} }
