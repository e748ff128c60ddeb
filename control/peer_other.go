//go:build unix && !linux && !darwin && !freebsd

package control

import "errors"

// peerUID fails, so that no connection is accepted: this system has no known way to
// identify the peer.
func peerUID(int) (int, error) { return -1, errors.ErrUnsupported }
