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
// A process that is stopped between the check of its lease and the write goes on with the write when it is continued,
// however late that is. Its own code cannot prevent that. So the fence process has a duplicate of each socket, and the
// time until which its lease lasts, which this process reports after each renewal. When that time has come, the fence
// cuts the connection: also for this process, because both have the same socket.
//
// Promises, on Linux:
//
//   - A connection is cut when its lease is over by the clock of the fence, unless a renewal was reported before. The
//     clock is CLOCK_BOOTTIME: on a machine that was suspended, the time is over when it wakes up.
//   - Nothing of a cut connection is sent any more: neither what this process writes later nor what the kernel has not
//     yet sent. The far side gets a reset (RST). Only what was on its way arrives.
//   - When this process ends, in whatever way, all connections that it still held are cut at once.
//   - Signals to the process group of this process, such as those of a terminal, do not reach the fence. It ignores all
//     that ask a process to end, and ends with the last connection.
//   - A fence process that ends or does not answer is replaced, and gets the connections once more. If that fails, the
//     connections are cut here and their leases end, so that sessions end and say why.
//
// The fence process has none of the secrets of this one: its environment is empty but for two settings of the runtime,
// and it keeps no descriptor besides its socket and those that it is given.
//
// What it cannot do: if both processes are stopped, as a frozen control group or virtual machine is, nothing is cut until
// the fence goes on. It then cuts at once, but this process may be faster by one write of what it had checked. The same
// holds if this process is stopped in the moment in which a fence process is being replaced.
//
// On other systems there is no fence: Hold fails with errors.ErrUnsupported.
package fence
