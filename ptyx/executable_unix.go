//go:build unix

package ptyx

import (
	"os"

	"golang.org/x/sys/unix"
)

// executable returns path if it is a program that this user may start (access(2)).
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", unix.EISDIR
	}
	return path, unix.Access(path, unix.X_OK)
}
