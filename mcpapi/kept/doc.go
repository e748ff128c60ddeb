// Package kept says what the nodes of a cluster keep of their sessions in common, so that a caller can open a session
// again whose node is gone:
//
//	k, err := kept.Of(id, remembered) // at the node that has it
//	text := k.Encode()
//	...
//	k, err := kept.Decode(id, text) // at another
//	target := k.Target.Open()
//
// Guarantees:
//
//   - A Session has no secret: no type in it has a place for one, and options whose values may be secrets are not kept.
//   - What Decode returns was checked: a Session that another node has written wrongly, or for a program on this machine,
//     is an error, and not opened.
//   - Nothing is reopened by itself: a Memory only remembers.
package kept
