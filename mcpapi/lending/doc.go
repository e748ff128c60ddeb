// Package lending lets one node of a cluster read files of another node's session, for a copy between the two. The node
// of the session lends the files, and the node that copies uses them as the session.CopySource of the copy:
//
//	l := table.Lend(ctx, files, lending.Terms{To: "ams2", Path: path})  // at the node of the session
//	...
//	source := lending.Borrow(lending.Options{ID: l.ID(), Call: call})   // at ams2
//	...
//	answer, err := table.Serve(ctx, "ams2", body)                       // for each call, at the node of the session
//	...
//	bytes := l.Over()                                                   // the call of the copy's client is over
//
// The package promises:
//
//   - Only the node that files were lent to can read them, and no node can write them. The node of the session learns
//     from the client's node who may read, and which files. The node that copies says only what it needs next.
//   - It reads the path that the client has named, or files below it and behind no link. The node of the session
//     authorizes and records each file before it is read.
//   - The memory that a copy takes on both nodes does not depend on the size of the file.
//   - A loan ends with the copy, with the session, and when the node that copies is silent for too long.
//
// Nothing in a request or an answer is trusted.
package lending
