// Package lending has one node of a cluster read files of a session of another one, for a copy between the two. The node
// of the session lends them, and the node that copies has them as the session.CopySource of that copy:
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
//   - Files that were lent to a node are read by no other, and none is written: who may read, and what, the node of
//     the session knows from the node that the client is connected to. The node that copies says only what it needs
//     next.
//   - It reads the path that the client has named, or files below it and behind no link, and each file only after it was
//     authorized and recorded at the node of the session.
//   - The memory of both nodes that a copy takes does not depend on the size of the file.
//   - A loan ends with the copy, with the session, and when the node that copies is silent for too long.
//
// Nothing in a request or an answer is trusted.
package lending
