//go:build !long

package ssh

// restrictedRounds is how often each restricted account runs a command; see rounds_long_test.go.
const restrictedRounds = 3
