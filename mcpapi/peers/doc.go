// Package peers has the interface between a server and the other nodes of a cluster: to pass on calls about their
// sessions, and to choose the node of a new session. It knows no transport; a cluster implements Peers.
//
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: manager, Peers: cluster})
//	...
//	result, err := srv.ServePeer(ctx, call, client) // at the other node
//
// Guarantees that the server keeps, and that an implementation of Peers must not break:
//
//   - The id of a session or of a run over many hosts ends in "@" and the name of its node, and no call about it is
//     answered anywhere else.
//   - The node that a client is connected to says who calls. Both nodes check what that caller may do.
//   - A call is passed on once, and a copy between two nodes once to each. The error of a call without an answer says
//     whether the call was done, or that this is unknown.
package peers
