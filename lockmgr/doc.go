// Package lockmgr keeps leases: one holder per key, for a time to live (TTL),
// under a fencing epoch.
//
//	var leases lockmgr.Table[string] // whose holders are strings
//
//	lease, err := leases.Acquire("web1-k3f9q2zd", "task-7", time.Minute)
//	if held, ok := errors.AsType[*lockmgr.HeldError[string]](err); ok {
//		return fmt.Errorf("ask %s, or wait until %v", held.Lease.Holder, held.Lease.Expires)
//	}
//
// The epoch tells one grant from the next. Whoever checks a lease and acts on it
// later asks again just before the act, with the epoch from the check:
//
//	epoch, err := leases.Check(key, holder)
//	...
//	err = leases.CheckEpoch(key, holder, epoch) // refused if the grant has ended since
//
// What it promises:
//
//   - A key has at most one live lease. A lease lives until its TTL has passed,
//     and is dead from exactly then on.
//   - Every grant has an epoch greater than all earlier grants of the Table, over
//     all keys and also after Drop. Extending a live lease is not a new grant;
//     acquiring again after expiry is, for the same holder too.
//   - There are no goroutines and no timers: each call compares with the clock, on
//     its monotonic reading, so setting the wall clock changes nothing.
//   - Memory is one lease per key that was ever leased, until it is released,
//     dropped, or found expired by a call for that key. Keys should therefore name
//     things that end, and Drop be called when they do.
package lockmgr
