// Package lease gives consoles one owner among the machines of a cluster. Its Store is a devlock.Store on a key-value
// bucket of NATS JetStream, with one key for each device.
//
//	store, err := lease.Open(ctx, lease.Options{Servers: []string{"nats://nats1:4222"}, Node: "site-a"})
//	...
//	defer store.Close(ctx)
//	l, err := store.Acquire(ctx, "switch-001", devlock.Owner{PID: os.Getpid(), Session: id})
//	if held, ok := errors.AsType[*devlock.HeldError](err); ok {
//		return fmt.Errorf("node %s has it", held.Owner.Node)
//	}
//	defer store.Release(ctx, l)
//
// How a lease works, on the servers and here:
//
//   - Acquire creates the key, which fails if it is there. The revision of that write is the lease's token. The servers
//     remove the key Options.TTL after its last write.
//   - One goroutine renews all leases of a Store every TTL/6: it writes the value again, if the key still has the
//     revision of the write before (a compare-and-set). TTL is the bucket's, because an update drops the TTL of a key.
//   - A lease lasts until the time at which its last confirmed renewal was sent, plus TTL, minus Options.Margin, on the
//     monotonic clock of this process. The servers count from a later moment, so the key is still there when the lease
//     ends. Lease.Check fails from then on, whether or not a server can be reached, and a timer ends the lease.
//   - If a key has expired, and its owner has not deleted it, the next node that wants the device takes the key, and
//     gives it back after TTL minus Margin: the former owner may rely on it for as long. Acquire fails until then.
//   - After a refused write (error 10071) the Store reads from the stream's leader, which alone knows who has the key.
//     A refusal because of another write under way (error 10164) is not a loss: the write is tried again.
//
// A lease is safe if the clocks of the servers jump by less than TTL, and TTL is longer than an election of the servers
// takes (8 s were measured for the default timers). The clock of this machine does not matter.
//
// A node may subscribe to _INBOX.> and publish to these subjects, and needs no other rights. BUCKET is Options.Bucket; the
// line with STREAM.CREATE is for the node that makes the bucket.
//
//	publish $KV.BUCKET.>
//	publish $JS.API.INFO
//	publish $JS.API.STREAM.CREATE.KV_BUCKET
//	publish $JS.API.STREAM.INFO.KV_BUCKET
//	publish $JS.API.STREAM.MSG.GET.KV_BUCKET
//	publish $JS.API.DIRECT.GET.KV_BUCKET.>
//	publish $JS.API.CONSUMER.CREATE.KV_BUCKET.>
//	publish $JS.API.CONSUMER.DELETE.KV_BUCKET.>
//
// A process that is stopped between a check and the write that follows makes the write when it goes on, whatever has
// happened meanwhile. The same holds for a suspended machine: its monotonic clock may stop. A console server cannot
// check tokens.
package lease
