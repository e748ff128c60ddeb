// Package processes finds and ends the processes of programs that this process has started (Linux).
//
// A process is found by its descent, by its session, and by its tag: a limit without effect that it cannot lose by
// fork(2), execve(2) or setsid(2). For example, this finds and ends the processes that a tagged program left behind
// among the children of this process:
//
//	left, err := processes.Adopted()
//	left = slices.DeleteFunc(left, func(pid int) bool { return !tag.On(pid) })
//	processes.Signal(processes.Living(left), time.Second, unix.SIGTERM)
//
// The number of a process may be reused. A signal therefore goes to a descriptor (pidfd_open(2)) that is compared
// with the process by the time of its start.
package processes
