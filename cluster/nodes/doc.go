// Package nodes keeps the registry of the nodes of a cluster in a bucket of NATS JetStream: which nodes there are,
// their features and their load. It also chooses the node of a new session.
//
//	r, err := nodes.Join(ctx, nodes.Options{Conn: nc, Group: "ptyctl"}, nodes.Node{
//		Name: "fra-1", Version: "1.4.0", WireMin: 1, WireMax: 2, Key: public, Labels: map[string]string{"site": "fra"},
//	})
//	if taken, ok := errors.AsType[*nodes.NameTakenError](err); ok {
//		return fmt.Errorf("another process is node %s", taken.Name)
//	}
//	defer r.Leave(ctx)
//	n, err := r.Place(nodes.Need{Labels: map[string]string{"site": "fra"}})
//
// How it works:
//
//   - Each node has one key, node.NAME. Join creates it, which fails if it is there: a name belongs to one process. The
//     servers remove the key Options.TTL after its last write, so the name of a process that was killed is free then.
//   - A node writes its key every Options.Every, if it still has the revision of the write before. A node that finds its
//     key gone, because no server was reachable for so long, creates it again. One that finds another process there does
//     not count as alive (Registry.Err), and tries again for as long as it runs.
//   - All nodes watch all keys. A node that was not heard of for Options.TTL, on the monotonic clock of the watcher, is
//     silent, whether or not the servers have said that its key has expired. A watch that reports nothing for two
//     periods, although this node writes in each, is begun again.
//
// The registry is a view: it lags behind a change by the time of a message, and by up to Options.TTL for a node that
// was killed. Package lease decides who owns a console, not this package. A node's Key is as trustworthy as the rights
// of the NATS accounts, so give each node the right to write its own key only. It may subscribe to _INBOX.> and publish
// to these subjects, and needs no other rights. BUCKET is GROUP-nodes and NODE the node's name; the line with
// STREAM.CREATE is for the node that makes the bucket.
//
//	publish $KV.BUCKET.node.NODE
//	publish $JS.API.INFO
//	publish $JS.API.STREAM.CREATE.KV_BUCKET
//	publish $JS.API.STREAM.INFO.KV_BUCKET
//	publish $JS.API.STREAM.MSG.GET.KV_BUCKET
//	publish $JS.API.CONSUMER.CREATE.KV_BUCKET.>
//	publish $JS.API.CONSUMER.DELETE.KV_BUCKET.>
//	publish $JS.FC.KV_BUCKET.>
package nodes
