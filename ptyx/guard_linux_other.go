//go:build linux && !amd64 && !arm64

package ptyx

// forkCalls are not known here.
var forkCalls []abi
