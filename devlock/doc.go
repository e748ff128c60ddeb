// Package devlock gives a device one owner among the processes of a user on this machine.
// Every agent host starts its own ptyctl, and a console port accepts only one connection.
//
//	dir, err := devlock.DefaultDir()
//	...
//	lock, err := devlock.Acquire(dir, "switch-001", devlock.Owner{PID: os.Getpid(), Session: id})
//	if held, ok := errors.AsType[*devlock.HeldError](err); ok {
//		return fmt.Errorf("process %d has it", held.Owner.PID)
//	}
//	defer lock.Release()
//
// The lock of a device is a lock of the operating system on a file (flock(2), LockFileEx)
// with a hash of the device's name as its name. The file names the owner:
//
//	gate           held while a device's file is opened, locked, and written or read
//	<hash>.lock    held by the owner while it owns the device
//
// Promises:
//
//   - At most one Lock of a device exists at any time, in all processes that use the same
//     folder, including this one.
//   - The lock of a killed process is free at once, because the kernel holds it.
//   - A HeldError names the present owner. Data of a dead owner is never used: a device's
//     file must be read within the gate, and a new owner must write the file before it
//     leaves the gate.
//   - The folder and its files must belong to this user only; otherwise they are refused.
//     Symbolic links are refused, too.
//
// A Store is what a program needs of such locks, whether they are files of one machine (Folder)
// or leases that several machines share.
//
// The locks are advisory. They do not keep another program, another user or another
// machine from connecting to the device.
package devlock
