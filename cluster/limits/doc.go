// Package limits counts sessions over all nodes of a cluster, so that a limit such as the sessions of a token or the
// connections to a shared jump host holds for the nodes together. The counts are in a bucket of NATS JetStream.
//
//	book, err := limits.Open(ctx, limits.Options{Conn: nc, Group: "ptyctl", Node: "fra-1"})
//	...
//	defer book.Close(ctx)
//	release, err := book.Take(ctx, limits.Use{What: "token", Name: "ci", Most: 50}, limits.Use{What: "jump", Name: "bastion", Most: 10})
//	if full, ok := errors.AsType[*limits.FullError](err); ok {
//		return fmt.Errorf("%s %s has %d sessions", full.What, full.Name, full.Most)
//	}
//	defer release()
//
// How it works:
//
//   - Each limit has one key, which holds the share of each process. A share is written as a count and not as a change
//     of one, if the key still has the revision that was read (a compare-and-set). So a write can be repeated when its
//     answer is lost, and no write ever raises the sum of a key above the limit.
//   - Each process has a key of its own with a TTL, which it renews every TTL/6: while it is there, the shares of the
//     process count. A process takes nothing unless its last renewal was sent less than TTL minus Options.Margin ago, by
//     the monotonic clock, both before it writes and when the write is confirmed.
//   - A process that finds a limit full looks for the keys of the processes that have shares. Where a key is gone, it
//     writes a grave in its place, which fails unless the key is gone for the majority of the servers too, and then
//     removes the share. The process that was cut off can no longer renew its key: it begins another, and writes its
//     counts there.
//   - A release is counted here at once, and written by the book in the background. One that cannot be written is
//     written after the next renewal that succeeds.
//
// The guarantee: at no time do the shares of the processes with keys exceed a limit because of a Take. It does not
// cover a node that was cut off from the servers for longer than the TTL: the node keeps its sessions, and other nodes
// may take its share meanwhile. When it is back, its count is written as it is, and no node gets more until enough
// sessions have ended. The clocks of the servers must differ by less than Margin; those of the nodes do not matter.
//
// A node may subscribe to _INBOX.> and publish to these subjects, and needs no other rights. BUCKET is GROUP-limits; the
// line with CREATE is for the node that makes the bucket.
//
//	publish $KV.BUCKET.>
//	publish $JS.API.INFO
//	publish $JS.API.STREAM.CREATE.KV_BUCKET
//	publish $JS.API.STREAM.INFO.KV_BUCKET
//	publish $JS.API.STREAM.MSG.GET.KV_BUCKET
package limits
