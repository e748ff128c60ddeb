// Package direct gives a person a host without a running server: a session with its login, and a command in it, by the
// same tools that an agent has. The commands open and exec use it with an app of their own.
//
//	at, err := direct.Open(ctx, on, direct.Host{Protocol: "ssh", Host: "web1"}, person, os.Stderr)
//	if err != nil {
//		return err
//	}
//	end, err := direct.Exec(ctx, on, at.ID, direct.Command{Line: "uptime"}, os.Stdout, os.Stderr)
//
// Promises:
//   - No byte of the output is lost in silence: a reader that is too slow gets an error that says how many are missing.
//   - A command stops when its caller has gone.
package direct
