//go:build !unix

package tty

import "os"

// Resized never sends: this system has no signal for a new size.
func Resized() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
