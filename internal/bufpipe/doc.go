// Package bufpipe joins two net.Conns in memory, with a buffer in each direction.
//
// [net.Pipe] passes every Write to a waiting Read. Protocols in which both sides write first
// deadlock on it: for example, an SSH client and server each send their identification string
// before they read the peer's (RFC 4253 section 4.2). With bufpipe a Write returns as soon as
// its bytes are buffered.
//
//	a, b := bufpipe.New(0)
//	go server.ServeConn(b)
//	client, chans, reqs, err := ssh.NewClientConn(a, "demo:22", config)
//
// A [Listener] does the same for code that accepts and dials.
//
// The package guarantees:
//
//   - Bytes arrive in order, and all of them before the end of the stream, no matter when the
//     writer closes.
//   - Deadlines behave as on a TCP connection: they end waiting calls with
//     [os.ErrDeadlineExceeded], and may be moved.
//   - With a limit, a peer that stops reading must block the writer, like a full TCP window.
//   - A waiting call blocks only on a [sync.Cond] or a channel, so time advances in a
//     testing/synctest bubble.
//   - All methods may be called from any goroutine.
package bufpipe
