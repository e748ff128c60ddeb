//go:build !unix

package exhausted

import "os"

// openNull opens the null device, and returns a function that closes it.
func openNull() (closeNull func(), err error) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
