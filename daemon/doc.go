// Package daemon keeps terminal sessions apart from the clients that use them: a daemon process holds the sessions, and
// each client starts a shim, which carries its MCP conversation to the daemon.
//
//	l, err := daemon.Listen(place, log)                    // the daemon
//	err = daemon.NewServer(daemon.Options{Serve: converse}).Run(ctx, l)
//
//	conn, welcome, err := place.Join(ctx, hello, starter)  // the shim
//	err = daemon.Relay{Conn: conn, In: os.Stdin, Out: os.Stdout}.Run(ctx)
//
// A shim sends one line, its Hello, and the daemon answers with one line, its Welcome. Then the connection carries the
// MCP conversation as stdin and stdout would: there is no second protocol.
//
//	client --stdio--> shim --socket--> daemon: sessions
//
// Promises:
//
//   - One daemon serves a user, a runtime folder, a protocol number and a configuration of the engine: they make the
//     name of the socket. However many shims start at once, one daemon starts. The build is not part of the name, so an
//     upgrade keeps the sessions.
//   - Only this user can connect, and a shim sends nothing to a process of another user. A program that the daemon has
//     started is refused.
//   - A daemon outlives the client that has started it, its process group and its terminal. It ends when it has had no
//     session and no client for a while.
//   - If the daemon is lost, the shim answers each call, also those in progress, with an error that says so. It never
//     opens a session again.
package daemon
