//go:build !linux

package config

import "errors"

// overwriteBlock fails: no portable way exists to write to the initial environment.
func overwriteBlock([]string) error {
	return errors.New("initial environment not writable on this system; put secrets into a file")
}
