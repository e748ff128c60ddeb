//go:build !linux && !darwin && !freebsd

package ptypair

import (
	"errors"
	"os"
)

// Open returns errors.ErrUnsupported on this system.
func Open() (master, tty *os.File, err error) { return nil, nil, errors.ErrUnsupported }
