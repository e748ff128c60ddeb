// Package control lets a person reach the terminals of a running ptyctl: it has a Unix
// socket, or on Windows a named pipe, that only this user can open, and a client for it.
// The socket carries MCP over HTTP, as the network does; there is no second protocol.
//
//	l, err := control.Listen(path, log)      // server: pass it to an http.Server
//
//	sockets, err := control.Sockets()        // client
//	c, err := control.Dial(ctx, sockets[0].Path, control.Options{})
//	defer c.Close()
//	err = c.Call(ctx, "ptyctl_session", map[string]string{"action": "list"}, &list)
//
// Unless the operator chooses another path, the socket is
//
//	$XDG_RUNTIME_DIR/ptyctl/PID.sock    else /run/user/UID/ptyctl, else /tmp/ptyctl-UID/ptyctl
//	%LOCALAPPDATA%\ptyctl\PID.sock      on Windows, a file with the name of the pipe
//
// Promises:
//
//   - The socket has mode 0600 and is in a folder of this user with mode 0700. For each
//     connection the server asks the kernel for the client's user id and refuses every
//     other user, including root. A client checks the server in the same way before it
//     sends anything. On Windows package winpipe keeps these promises.
//   - A file at the path that is not a socket of this user is never touched. The socket
//     of a dead process is replaced, that of a live process is not. If several processes
//     start with the same path, exactly one gets it.
//   - After Client.Attach a client is one person, and no other client can use
//     that person's locks. Only the client's memory holds the proof.
package control
