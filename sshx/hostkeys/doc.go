// Package hostkeys decides whether the key an SSH server presents is the key of the host one meant to reach,
// from the same files and by the same rules as OpenSSH: sshd(8) "SSH_KNOWN_HOSTS FILE FORMAT" and the
// host key options of ssh_config(5).
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
// Both lines are needed. A server has a key of each type and shows the one the client asks for first; Algorithms
// asks for a type that is on record, so that a host known by one key is not taken for a changed one.
//
// One Verifier serves one connection:
//
//	files --> database --> the lines of this host --> judge --> Policy --> accept, record, ask or refuse
//	                                    |
//	                                    `--> Algorithms
//
// What it promises:
//
//   - A key that is revoked, by an @revoked line of this host or by a RevokedHostKeys file, is refused under every
//     policy. A revocation list that cannot be read is an error, never an empty list.
//   - A host on record under a different key is a mismatch, also when the recorded key is of another type, and is
//     refused under every policy but Disabled.
//   - One bad line, or a missing file, costs that line or file and a warning; it never hides the rest.
//   - The decision is taken once. A later key exchange on the same connection neither asks nor writes again,
//     and must show the same key.
//   - A line is added under a lock, after the files were read again, by one append; no other line is touched.
//
// Where it is stricter than OpenSSH: revoked keys stay refused under Disabled; an @revoked line for the host without
// its port counts for every port; an address that contradicts the name (CheckHostIP) is refused under Ask rather than
// asked about; a different key at a later key exchange is refused even if that one is on record too.
//
// Where it is more helpful: when only the name without a port is on record, Algorithms prefers the types recorded
// there; and where no file can take the key, Ask and Disabled accept it for this connection, with a warning.
package hostkeys
