//go:build !unix

package app

import (
	"io"
	"os"
)

// Stdin returns the standard input, and a function that does nothing.
func Stdin() (in io.Reader, restore func()) { return os.Stdin, func() {} }
