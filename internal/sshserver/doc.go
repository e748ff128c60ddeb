// Package sshserver is a real SSH server for demonstrations and tests. It listens on the
// loopback address only, creates a temporary host key, and runs the local shell. For example:
//
//	srv, err := sshserver.Listen(sshserver.Config{Passwords: map[string]string{"demo": "demo"}})
//	if err != nil { ... }
//	defer srv.Close()
//	fmt.Printf("ssh -p %d demo@127.0.0.1\n", srv.Port())
//
// Where processes cannot run, for example in a testing/synctest bubble, a [Handler] replaces
// the shell and [Server.ServeConn] serves a connection in memory:
//
//	run := func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
//		time.Sleep(10 * time.Minute)
//		return sshserver.Exit{Status: 7}
//	}
//	srv, err := sshserver.New(sshserver.Config{NoAuth: true, Handler: run})
//	client, server := bufpipe.New(0)
//	go srv.ServeConn(server)
//
// To a client it behaves like OpenSSH's sshd. The exit status is sent when the command ends,
// even while a background process has its output open. A command without a terminal outlives
// its channel; closing a channel with a terminal hangs up. A signal goes to the process
// group. A channel beyond the limit is refused with "open failed". [Faults] add the known
// misbehaviours of servers.
//
// The package guarantees:
//
//   - Every process, goroutine and file descriptor of a Server is gone when Close returns.
//     Two kinds of processes are not found: those that left their session by setsid(2), and,
//     outside Linux, background jobs in another process group.
//   - Processes inherit only the environment in [Config].
//   - No data from a client causes a panic.
//
// The server must not be exposed to hostile networks. Local processes run on Linux, macOS and
// FreeBSD; on other systems New fails without a Handler.
package sshserver
