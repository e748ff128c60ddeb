// Package lockmgr keeps leases, for example of terminal sessions: one holder per key, for a time to live (TTL), with a
// fencing epoch.
//
//	var leases lockmgr.Table[string] // holders are strings
//
//	lease, err := leases.Acquire("web1-k3f9q2zd", "task-7", time.Minute)
//	if held, ok := errors.AsType[*lockmgr.HeldError[string]](err); ok {
//		return fmt.Errorf("ask %s, or wait until %v", held.Lease.Holder, held.Lease.Expires)
//	}
//
// The epoch distinguishes one grant from the next. Code that checks a lease and acts on
// it later should check again just before the act, with the epoch of the first check:
//
//	epoch, err := leases.Check(key, holder)
//	...
//	err = leases.CheckEpoch(key, holder, epoch) // refused if the grant has ended since
//
// Promises:
//
//   - A key has at most one live lease. A lease lives until its TTL has passed, and is
//     dead from exactly that instant.
//   - Every grant has an epoch greater than all earlier grants of the Table, for all keys
//     and also after Drop. Extending a live lease is not a new grant; acquiring after
//     expiry is, also for the same holder.
//   - There are no goroutines and no timers. Each call reads the monotonic clock, so
//     changes of the wall clock have no effect.
//   - A Table stores one lease per key until it is released or dropped, or a call for
//     that key finds it expired. Keys should therefore name things that end, and Drop
//     should be called when they do.
package lockmgr
