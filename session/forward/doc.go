// Package forward listens on this machine for connections that the far side of a session makes to other addresses.
//
//	set := forward.NewSet(id, carrier, auth, &forward.Options{})
//	f, err := set.Open(ctx, forward.Request{To: "db1:5432"})
//	// a client on this machine connects to f.Socket, and talks to db1:5432 as the far side reaches it
//
// A Set has the forwards of one session. Each has a Unix socket in a folder of this user alone, or a port of 127.0.0.1.
//
//	client -> socket -> accept loop -> a connection:  copy up   -> term.Stream -> far side
//	                                                  copy down <-
//
// The package promises:
//
//   - A forward leads to one address, in the one form of package address, which the session's Gate has judged.
//   - It ends with its session, and so do its connections. Each of its goroutines is one of the session's.
//   - The end of the data in one direction is passed on, and the other direction goes on.
//   - A connection that nobody reads stops its own far side (the window of RFC 4254 section 5.2), and no other. Here it
//     has 4 KiB for each direction, and 64 KiB more for one whose last piece was large.
//   - A connection has its room among those at a time until the far side has confirmed its end.
//   - The end of a forward is on record once, by Stop or by the end of the session.
//   - An error ends one connection, and is counted and shown.
package forward
