//go:build !linux

package config

import "errors"

func overwriteBlock([]string) error {
	return errors.New("the initial environment cannot be overwritten on this system; give secrets in a file")
}
