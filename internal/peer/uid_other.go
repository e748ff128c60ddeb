//go:build unix && !linux && !darwin && !freebsd

package peer

import "errors"

// uid fails, so that no connection is accepted: this system has no known way to
// identify the peer.
func uid(int) (int, error) { return -1, errors.ErrUnsupported }
