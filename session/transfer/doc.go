// Package transfer gives callers the files of a machine: this one, or the far side of a session.
//
//	far := transfer.NewFar(id, session, connect) // once for a session
//	...
//	data, err := far.Files(auth).Read(ctx, term.FileRead{Path: "/etc/hosts"})
//
// Every action passes the same gate as those on the terminal; see package access. The package promises:
//
//   - The connection to the far side is made at first use, kept for a minute without use, and closed before the session
//     has ended.
//   - An action that only reads is repeated once if an old connection turns out to be lost. A write is never
//     repeated.
//   - No content of a file is in an event: only its path and the number of bytes.
//
// It knows the session only as a [Carrier], and knows nothing of SFTP.
package transfer
