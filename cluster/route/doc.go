// Package route passes calls on from the node that a client is connected to, the entry node, to the node that has the
// session, its owner, over NATS. It is the transport of package ptyctl/mcpapi/peers.
//
//	r, err := route.New(route.Options{Conn: nc, Group: "ptyctl", Node: "fra1", Key: key, Nodes: registry})
//	...
//	defer r.Close()
//	go r.Serve(ctx, server)                                  // as an owner
//	result, err := r.Forward(ctx, "ams2", call, client)      // as an entry node
//
// The messages, all on core NATS, without a stream:
//
//   - A call goes to GROUP.v1.call.NODE, or in pieces to GROUP.v1.large.NODE, where the owner takes one message after the
//     other. Its body is a peers.Call in JSON. Headers have the id of the call, which is random, the entry node, the time
//     after which the call is not taken, and a token: the HMAC of all of these, the owner's name and a hash of the body,
//     with a key that only these two nodes can compute from their keys in the registry (X25519). So an owner takes each
//     call once, and no one but the entry node can tell it who the caller is.
//   - The pieces before the last one have a token of their own, so that an owner knows which entry node has sent them.
//     It keeps the pieces of one call for each entry node, which sends one such call after the other.
//   - The owner answers to the call's reply subject, an inbox of the entry node: taken, if there is no answer within
//     50 ms, then alive every two seconds while the call runs, progress and questions about the call, and at last the
//     result in pieces, or an error.
//   - The entry node sends the id to GROUP.v1.cancel.NODE when its client has given the call up, and when the owner was
//     silent for too long: an owner that goes on after a pause does not begin a call that no client waits for.
//
// The errors that a caller gets when the owner does not answer:
//
//   - NATS has no subscriber for the owner, or the owner is not in the registry: NODE_UNREACHABLE. Nothing was done.
//   - The owner has not said "taken" for Options.Patience, or not "alive" for that time, or the servers are gone after
//     the call was sent: NODE_SILENT. How much was done is unknown.
//
// The number in the subjects is that of the wire protocol (Version). A node says in the registry which numbers it
// speaks, so that two versions can run side by side.
package route
