//go:build !linux

package local

import "errors"

// peek fails: the test that needs it is for Linux alone.
func peek() error { return errors.ErrUnsupported }
