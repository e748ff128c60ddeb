// Package winpipe has the named pipes of Windows that only their owner can use, as connections. On other systems it has
// names alone.
//
//	l, err := winpipe.Listen(winpipe.NewName(), refused)
//	c, err := l.Accept()
//
//	c, err := winpipe.Dial(ctx, name)
//
//	c, err := winpipe.DialService(ctx, `\\.\pipe\openssh-ssh-agent`) // a pipe of another program
//
// Promises:
//
//   - The pipe admits only processes of this user on this machine, and of an elevated process only elevated ones. The
//     rights do not depend on those of a folder. The user of each client is checked once more when it has connected.
//   - A client lets the process at the other end see who it is, and not act for it. It checks that the pipe belongs to
//     this user before it sends anything.
//   - Conn.CloseWrite ends the output, and the input goes on: the other side reads io.EOF.
//
// The pipe has messages, of at most maxMessage bytes, and an empty one ends the output. Each read takes a whole
// message, so that no message is merged with the empty one.
package winpipe
