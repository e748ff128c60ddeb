// Package rundir gives the processes of one user a folder where they meet: for locks, for sockets. What lies in it
// belongs to this user and to nobody else, or it is refused.
//
//	dir, err := rundir.Dir()            // such as /run/user/1000/ptyctl
//	leave, err := rundir.Enter(dir)     // one process at a time
//	defer leave()
//
// A lock is the operating system's lock on an open file (flock(2), LockFileEx): the kernel gives it up with the process.
package rundir
