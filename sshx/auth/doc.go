// Package auth logs in to an SSH server (RFC 4252): it chooses the authentication method of
// each attempt, and the keys of the agent, of files and of the call that are offered.
//
//	login := auth.NewPlanner(ctx, account, person, ended)
//	defer login.Close()
//	config.AuthCallback = login.Next // of ssh.ClientConfig
//	login.Prove(proof)               // when the host's key is known, before the first attempt
//
// An Account has the credentials for one host, and the operator's rules for them. A Planner is
// one login there; its Record has the attempts. Identities lists the keys that a login could
// use, for a person who looks for a problem.
//
// The package guarantees:
//
//   - A credential is compared with the operator's rules directly before its use, when the
//     host's key is known.
//   - A host with a key that contradicts the record receives no password and no answer (Distrust).
//   - The caller's password is sent once. A passphrase is asked only for a key that the server
//     accepts, where the key's public half is known.
//   - A Record has names and fingerprints, never a secret.
package auth
