// Package sshserver is a real SSH server for demonstrations and tests: it listens on the loopback address only, makes
// its own throw-away host key, and runs the local shell.
//
//	srv, err := sshserver.Listen(sshserver.Config{Passwords: map[string]string{"demo": "demo"}})
//	if err != nil { ... }
//	defer srv.Close()
//	fmt.Printf("ssh -p %d demo@127.0.0.1\n", srv.Port())
//
// Where no process can run, as in a testing/synctest bubble, a [Handler] takes the place of the shell and
// [Server.ServeConn] takes a connection made in memory:
//
//	srv, err := sshserver.New(sshserver.Config{NoAuth: true, Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
//		time.Sleep(10 * time.Minute)
//		return sshserver.Exit{Status: 7}
//	}})
//	client, server := bufpipe.New(0)
//	go srv.ServeConn(server)
//
// It behaves as OpenSSH's sshd where a client can tell: the exit status is sent when the command ends, even while a
// background process holds its output; a command without a terminal outlives its channel; closing a channel with a
// terminal hangs up; a signal goes to the process group; a channel too many is refused with "open failed". [Faults] make
// it behave as badly as servers are known to.
//
// The package promises:
//   - every process, goroutine and file descriptor that a Server started is gone when Close returns. A process that
//     left its session with setsid(2) is not followed, and outside Linux background jobs that left the process group
//     of their shell are not found;
//   - processes inherit nothing but the environment in [Config];
//   - nothing a client sends makes it panic.
//
// It is not hardened for hostile networks. Local processes run on Linux, macOS and FreeBSD; elsewhere New fails
// unless there is a Handler.
package sshserver
