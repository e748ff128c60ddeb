//go:build !unix

package source

import "os"

// ownerOnly says that the permissions of a file tell who may read it.
const ownerOnly = false

func openRegular(path string) (*os.File, error) { return os.Open(path) }
