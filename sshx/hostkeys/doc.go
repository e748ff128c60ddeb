// Package hostkeys decides whether the key of an SSH server is the key of the host that the
// user means to reach. It uses the files and rules of OpenSSH: sshd(8) "SSH_KNOWN_HOSTS FILE
// FORMAT" and the host key options of ssh_config(5).
//
// The smallest program:
//
//	v, err := hostkeys.NewVerifier("web1.example.org", 22, nil, hostkeys.Options{
//		UserFiles: []string{filepath.Join(home, ".ssh/known_hosts")},
//	})
//	if err != nil {
//		return err
//	}
//	config.HostKeyAlgorithms = v.Algorithms(ssh.SupportedAlgorithms().HostKeys)
//	config.HostKeyCallback = v.HostKeyCallback(ctx)
//
// Both lines are needed. A server has a key of each type and sends the one that the client
// asks for first. Algorithms asks for a type on record; otherwise a host recorded with one
// key would look like a host with a changed key.
//
// One Verifier serves one connection:
//
//	files --> database --> the lines of this host --> judge --> Policy --> accept, record, ask or refuse
//	                                    |
//	                                    `--> Algorithms
//
// The package guarantees:
//
//   - A key that is revoked, by an @revoked line of this host or by a RevokedHostKeys file,
//     is refused under every policy. An unreadable revocation list is an error, never an
//     empty list.
//   - A different key for a recorded host is a mismatch, also if the recorded key has another
//     type, and is refused under every policy except Disabled.
//   - A bad line costs that line and a warning; it never hides the rest.
//   - A missing file is empty. Any other file that cannot be read, for example because the process
//     has no file descriptor left, is an error (UnreadableError): no key is accepted, under any
//     policy.
//   - The decision is made once. A later key exchange on the same connection does not ask or
//     write again, and must show the same key.
//   - A line is added under a lock, after the files were read again, by one append; no other
//     line is changed.
//
// It is stricter than OpenSSH in four points. Revoked keys stay refused under Disabled. An
// @revoked line for the host without its port applies to every port. An address that
// contradicts the name (CheckHostIP) is refused under Ask without a question. A different key
// at a later key exchange is refused even if that key is on record too.
//
// It is more helpful in two points. If only the name without a port is on record, Algorithms
// prefers the types recorded there. If no file can take the key, Ask and Disabled accept it
// for this connection, with a warning.
package hostkeys
