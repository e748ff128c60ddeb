//go:build !linux

package fence

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"ptyctl/devlock"
)

// Available says whether connections can be held on this system.
const Available = false

// Enable does nothing on this system.
func Enable() {}

// A Fence holds nothing on this system.
type Fence struct{}

// New returns a Fence that holds nothing.
func New(Options) *Fence { return &Fence{} }

// Hold fails with errors.ErrUnsupported.
func (*Fence) Hold(syscall.Conn, *devlock.Lease) (release func(), err error) {
	return nil, fmt.Errorf("fence: not available on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Close does nothing.
func (*Fence) Close() {}
