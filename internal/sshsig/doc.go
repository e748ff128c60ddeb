// Package sshsig makes and checks the signatures of ssh-keygen -Y: the format SSHSIG of OpenSSH's PROTOCOL.sshsig.
//
//	text, err := sshsig.Sign(rand.Reader, signer, "file", message)
//	key, err := sshsig.Verify(text, "file", message, keys)
//
// Verify accepts the signatures of ssh-keygen -Y sign with ed25519, ECDSA and RSA keys and with those of security keys
// (sk), and ssh-keygen -Y verify accepts those of Sign. A signature by a certificate is refused.
package sshsig
