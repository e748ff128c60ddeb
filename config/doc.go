// Package config gives the file, the environment and the flags as one struct,
// with defaults.
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
// A value is decided by the last of these layers that names it:
//
//	defaults  <  TOML file  <  PTYCTL_* environment  <  flags
//
// One table (table.go) drives everything: it holds for each key its path, type,
// default, bounds, description, environment variable and flag. [Keys] shows it
// to whoever builds a command line or a reference page, and [Example] prints it
// as a TOML file. A new key is a field in a struct and a row in the table.
// Tables of which the file may hold any number, [[policy.credential]] and
// [forward.NAME], are declared in the same way: see kinds and [Tables].
//
// What the package promises:
//
//   - It is strict. An unknown key, a wrong type or a value out of bounds is an
//     error with file:line:column and what to write instead. [Load] reports all
//     problems of all layers together.
//   - It never guesses. Paths are absolute or begin with ~/, because the
//     working directory of a server started by an agent host is anyone's guess.
//   - It never prints a value of type [TypeSecret].
//   - It does not panic on any file or environment.
package config
