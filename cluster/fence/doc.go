// Package fence shuts down the connections of a process that is paused for longer than its leases last, from a small
// process of the same program.
//
//	func main() {
//		fence.Enable() // first: in a fence process it does not return
//		...
//	}
//
//	f := fence.New(fence.Options{})
//	defer f.Close()
//	l, err := store.Acquire(ctx, "switch-001", owner)
//	...
//	release, err := f.Hold(conn, l) // before the first byte is sent
//	...
//	conn.Close()
//	release()
//
// A process that is stopped between the check of its lease and the write makes the write when it is continued, however
// late that is. Its own code cannot prevent that. So the fence process has a duplicate of each socket, and knows until
// when its lease lasts: this process reports that after each renewal. At that time the fence cuts the connection, also
// for this process, because both have the same socket.
//
// Promises, on Linux:
//
//   - A connection is cut when its lease is over by the clock of the fence, unless a renewal was reported before. The
//     clock is CLOCK_BOOTTIME: on a machine that was suspended, the time is over when it wakes up.
//   - A cut connection sends nothing more: neither later writes of this process nor data that the kernel has not yet
//     sent. The far side gets a reset (RST). Only data that was already on its way arrives.
//   - When this process ends, in whatever way, all connections that it still held are cut at once.
//   - Signals to the process group of this process, such as those of a terminal, do not reach the fence. It ignores all
//     signals that ask a process to end, and ends with the last connection.
//   - A fence process that ends or does not answer is replaced, and the new one gets the connections. If that fails,
//     this process cuts the connections and ends their leases, so that sessions end and say why.
//
// The fence process has none of the secrets of this one. Its environment has only two settings of the runtime, and it
// keeps no descriptor besides its socket and those that it gets from this process.
//
// One case remains: if both processes are stopped, as in a frozen control group or virtual machine, nothing is cut
// until the fence goes on. It then cuts at once, but this process may be faster by one write that it had already
// checked. The same holds if this process is stopped at the moment in which a fence process is being replaced.
//
// On other systems there is no fence: Hold fails with errors.ErrUnsupported.
package fence
