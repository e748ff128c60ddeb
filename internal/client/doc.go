// Package client finds the running ptyctl processes of this user and calls their tools, for the commands that people
// use beside an agent: sessions, status, tail, attach, answer.
//
//	all, _, err := client.Connect(ctx, client.Options{})
//	if err != nil {
//		return err
//	}
//	defer all.Close()
//	s, err := all.Find(ctx, "web1")
//
// Promises:
//   - It calls the same tools as an agent; there is no second protocol.
//   - A process that does not answer within DialTime holds up no other.
//   - An id may be given by its beginning, and one that begins several ids is refused.
package client
