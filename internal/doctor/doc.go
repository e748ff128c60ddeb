// Package doctor finds out why something does not work: on this machine, and on the way to a host step by step.
//
//	r := doctor.NewReport(os.Stdout)
//	if cfg, ok := r.Configuration(source, "ptyctl.toml"); ok {
//		r.Machine(ctx, cfg, "v1.2.3")
//		r.Host(ctx, cfg, term.Target{Protocol: "ssh", Host: "web1"})
//	}
//
// Promises:
//   - Each finding that is not ok says one thing to do.
//   - It connects as a session does, asks the same rules, and opens a terminal that it closes at once.
//   - Keys appear only with their public properties, and no secret is printed.
package doctor
