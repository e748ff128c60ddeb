// Package bufpipe joins two net.Conns in memory, with a buffer in each direction.
//
// [net.Pipe] hands every Write to a waiting Read. Protocols in which both sides write first deadlock on it: an SSH
// client and server each send their identification string before they read the peer's (RFC 4253 section 4.2). Here a
// Write returns as soon as its bytes are buffered.
//
//	a, b := bufpipe.New(0)
//	go server.ServeConn(b)
//	client, chans, reqs, err := ssh.NewClientConn(a, "demo:22", config)
//
// A [Listener] does the same for code that accepts and dials.
//
// The package promises:
//   - bytes arrive in order, and all of them before the end of the stream, however early the writer closed;
//   - deadlines behave as on a TCP connection: they end calls that wait, may be moved, and fail with [os.ErrDeadlineExceeded];
//   - with a limit, a peer that stops reading blocks the writer, as a full TCP window does;
//   - a waiting call blocks on a [sync.Cond] or a channel only, so time stands still for it in a testing/synctest bubble;
//   - all methods may be called from several goroutines.
package bufpipe
