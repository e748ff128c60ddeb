//go:build !unix

package ptypair

import (
	"errors"
	"os"
)

// Resize sets the size of the window, in cells.
func Resize(*os.File, int, int) error { return errors.ErrUnsupported }
