// Package explain shows how a host would be reached: each value of ssh_config with its place, the keys of ptyctl.toml
// that decide in its place, and the lines that are not supported.
//
//	in, refusal := sshx.Inspect(ctx, target, options)
//	err := explain.New(in, refusal, cfg, false).Print(os.Stdout)
//
// Promises:
//   - Nothing is sent to the host.
//   - Every value has its origin: a file and line, "default", "argument", or a key of ptyctl.toml.
package explain
