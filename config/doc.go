// Package config loads the configuration from its defaults, a file, the environment and
// flags into one struct.
//
//	cfg, warnings, err := config.Load(config.Source{})
//	if err != nil {
//		return err // one line for each problem, all of them at once
//	}
//	for _, w := range warnings {
//		logger.Warn(w.String())
//	}
//	serve(cfg.Server.Transport, cfg.Session.MaxSessions)
//
// The last of these layers that names a key decides its value:
//
//	defaults  <  TOML file  <  PTYCTL_* environment  <  flags
//
// One table (table.go) drives everything: for each key it has the path, type, default,
// bounds, description, environment variable and flag. [Keys] returns it for command lines
// and reference pages, and [Example] prints it as a TOML file. To add a key, add a field
// to a struct and a row to the table. Tables that the file may repeat, for example
// [[policy.credential]] and [forward.NAME], are declared in the same way: see kinds and
// [Tables].
//
// Promises:
//
//   - It is strict. An unknown key, a wrong type or a value out of bounds is an error
//     with file:line:column and advice. [Load] reports all problems of all layers
//     together.
//   - It never guesses. Paths must be absolute or begin with ~/, because the working
//     directory of a server that an agent host starts is unknown.
//   - It never prints a value of type [TypeSecret].
//   - It does not panic for any file or environment.
package config
