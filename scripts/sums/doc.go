// Command sums writes SHA256SUMS of all files in the folder of a release, and signs it with an SSH key.
//
//	go run ./scripts/sums -key FILE build/release
//
// FILE is a private key, or a public key with its private half in the SSH agent (SSH_AUTH_SOCK), for example of an
// encrypted file or a security key. The signature, SHA256SUMS.sig, is one of ssh-keygen -Y for the namespace
// ptyctl-release. Without -key it writes no signature; with -key and without a folder it only tries the key.
package main
