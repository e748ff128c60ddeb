//go:build long

package ssh

// restrictedRounds is how often each restricted account runs a command.
const restrictedRounds = 100
