// Package control is the way by which a person reaches the terminals of a running ptyctl: a Unix socket that only this
// user can open, and a client for it. What is spoken there is MCP over HTTP, as on the network; there is no second
// protocol.
//
//	l, err := control.Listen(path, log)      // the server's side: an http.Server serves it
//
//	sockets, err := control.Sockets()        // a command's side
//	c, err := control.Dial(ctx, sockets[0].Path, control.Options{})
//	defer c.Close()
//	err = c.Call(ctx, "ptyctl_session", map[string]string{"action": "list"}, &list)
//
// Where the socket is, unless the operator names it:
//
//	$XDG_RUNTIME_DIR/ptyctl/PID.sock    else /run/user/UID/ptyctl, else /tmp/ptyctl-UID/ptyctl
//
// What it promises:
//
//   - The socket lies in a folder that is this user's and closed to others (0700), has the mode 0600, and whoever
//     connects is asked the kernel's word for his user id: another one, root too, is refused. A client asks the same of
//     the server before it says anything.
//   - What lies at the path and is no socket of this user is never touched. The socket of a dead process is replaced;
//     that of a living one is not. Of several that start at once with the same path, one gets it.
//   - After Client.Attach the client is one person, whose locks no other client of the socket can use. What proves it is
//     in that client's memory alone.
//
// Windows has no such socket in a form that these promises hold for, so Listen and Sockets fail there.
package control
