// Package mux is the SSH connection protocol (RFC 4254) on an authenticated connection: the
// channels for terminals, commands, subsystems and forwarded connections.
//
//	link := &mux.Link{Name: "u@web1:22", Raw: tcp, Conn: conn}
//	link.Start(chans, reqs, nil, 30*time.Second, 3)
//	slots := mux.NewSlots(link, 4, dial)
//	exit, err := slots.Exec(ctx, term.ExecRequest{Command: "uptime"}, &out, &errs)
//
// A Link is one connection with its keepalives and goroutines. A Channel is a session channel
// on it. Slots hands out channels for commands and subsystems, and makes another connection
// if the server allows no further channel on the first.
//
// The package guarantees:
//
//   - No call waits for a frozen server without end: it ends with its context or with the Link.
//   - Every goroutine ends with its channel or with its Link, and Wait waits for it.
//   - A server may open channels to a forwarded agent only, and a request of it changes nothing
//     except known_hosts, as ssh_config(5) UpdateHostKeys describes.
//
// The package knows no configuration, no credential and no user: see package sshx.
package mux
