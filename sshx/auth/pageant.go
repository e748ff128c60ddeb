package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// pageantPipe returns the named pipe of a user's Pageant, as PuTTY computes it (windows/utils/agent_named_pipe_name.c and
// cryptoapi.c, 0.77 and later): the word Pageant, filled up with zeros to a block of CryptProtectMemory, encrypted in place
// by protect, and hashed as a string of SSH (RFC 4251, 5).
func pageantPipe(user string, protect func(block []byte)) string {
	const blockSize = 16 // CRYPTPROTECTMEMORY_BLOCK_SIZE
	block := make([]byte, blockSize)
	copy(block, "Pageant")
	protect(block)
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint32(nil, blockSize), block...))
	return `\\.\pipe\pageant.` + user + "." + hex.EncodeToString(sum[:])
}
