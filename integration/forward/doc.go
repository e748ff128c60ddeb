// Package forward tests forwarded connections: the built program, OpenSSH's sshd, and clients and servers of this
// machine at both ends.
package forward
