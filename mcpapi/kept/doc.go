// Package kept has the record of a session that the nodes of a cluster share, so that a caller can reopen the session
// when its node is gone:
//
//	k, err := kept.Of(id, remembered) // at the node that has it
//	text := k.Encode()
//	...
//	k, err := kept.Decode(id, text) // at another
//	target := k.Target.Open()
//
// Guarantees:
//
//   - A Session has no secret: no type in it has a place for one, and options that may hold secrets are not kept.
//   - Decode checks what it reads: a Session that another node has written wrongly, or for a program on this machine,
//     is an error, and is not opened.
//   - Nothing is reopened by itself: a Memory only remembers.
package kept
