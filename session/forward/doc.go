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
//   - A forward leads to one address, in the form of package address, and the session's Gate has judged it.
//   - It ends with its session, and so do its connections. Its goroutines belong to the session.
//   - The end of the data in one direction is passed on, and the other direction goes on.
//   - A connection that its client does not read stops only its own far side (the window of RFC 4254 section 5.2).
//     Here it has 4 KiB for each direction, and 64 KiB more for a direction with a large last piece.
//   - A connection counts against the limit until the far side has confirmed its end.
//   - The end of a forward is on record once, by Stop or by the end of the session.
//   - An error ends one connection, and is counted and shown.
package forward
