//go:build !unix

package record

import "os"

const openFlags = 0

// openAny opens a file to read.
func openAny(path string) (*os.File, error) { return os.Open(path) }
