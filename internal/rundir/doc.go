// Package rundir provides a folder that the processes of one user share, for locks and
// sockets. The folder and its files must belong to this user alone; otherwise they are
// refused.
//
//	dir, err := rundir.Dir()            // for example /run/user/1000/ptyctl
//	leave, err := rundir.Enter(dir)     // one process at a time
//	defer leave()
//
// A lock is the operating system's lock on an open file (flock(2), LockFileEx): the kernel
// releases it with the process.
package rundir
