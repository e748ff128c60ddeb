// Package reach makes the network connection to the first server of a route: by TCP, through a SOCKS5 or HTTP proxy,
// or through a program of the operator (ProxyCommand).
//
//	server := &reach.Endpoint{Host: "web1", Port: 22, Family: "tcp", Attempts: 1}
//	conn, err := server.Reach(ctx, progress)
//
// LookUp resolves the server, or its proxy, before. Reach then connects to the addresses that
// it has found and no others, so that a policy can judge them in between.
//
// The package guarantees:
//
//   - Reach and LookUp end with their context.
//   - The URL of a proxy may contain a password: no error quotes it.
//   - A program ends with its connection, and so do the programs of its process group.
//
// The package knows no SSH.
package reach
