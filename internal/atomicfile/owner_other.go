//go:build !unix

package atomicfile

import "os"

// keepOwner does nothing: a file has the owner of its folder.
func keepOwner(*os.File, string) error { return nil }
