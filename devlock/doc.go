// Package devlock gives a device one owner among the processes of a user on this machine. Every agent's host starts a
// ptyctl of its own, and a console port takes one connection.
//
//	dir, err := devlock.DefaultDir()
//	...
//	lock, err := devlock.Acquire(dir, "switch-001", devlock.Owner{PID: os.Getpid(), Session: id})
//	if held, ok := errors.AsType[*devlock.HeldError](err); ok {
//		return fmt.Errorf("process %d has it", held.Owner.PID)
//	}
//	defer lock.Release()
//
// A device's lock is an operating system's lock on a file (flock(2), LockFileEx), whose name is a hash of the device's.
// The file says who the owner is:
//
//	gate           held for the few steps in which a device's file is opened, locked, and written or read
//	<hash>.lock    held by the owner as long as it owns the device
//
// What it promises:
//
//   - At most one Lock of a device exists at any time, in all processes that use the same folder, this one included.
//   - The lock of a process that was killed is free at once: it is the kernel that holds it.
//   - A HeldError names the owner who has the lock at that moment. What a dead owner has left behind is never believed,
//     because nobody reads a device's file without the gate, and nobody who gets the lock leaves the gate before the
//     file says so.
//   - The folder and the files in it belong to this user and to nobody else, or they are refused. A symbolic link is.
//
// The locks bind those who ask for them. They do not keep another program, another user or another machine from
// connecting to the device.
package devlock
