package sshserver

import (
	"encoding/binary"

	"golang.org/x/crypto/ssh"
)

// ttyOpEnd ends the encoded terminal modes. Opcodes from ttyOpUnknown on have arguments
// of unknown length (RFC 4254 section 8).
const (
	ttyOpEnd     = 0
	ttyOpUnknown = 160
)

// decodeModes decodes the terminal modes of a pty-req: opcodes, each with a uint32. It
// stops at an unknown opcode, and keeps the modes before it.
func decodeModes(encoded string) ssh.TerminalModes {
	modes := make(ssh.TerminalModes)
	for b := []byte(encoded); len(b) >= 5 && b[0] != ttyOpEnd && b[0] < ttyOpUnknown; b = b[5:] {
		modes[b[0]] = binary.BigEndian.Uint32(b[1:5])
	}
	return modes
}
