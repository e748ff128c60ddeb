//go:build linux && !amd64 && !arm64

package ptyx

// forkCalls is nil: the calls are not known for this processor.
var forkCalls []abi
