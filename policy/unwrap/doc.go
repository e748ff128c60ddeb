// Package unwrap finds the commands that a line runs, and those that they run
// in turn: sudo rm, find -exec, sh -c, git with an alias.
//
//	r := unwrap.Reader{
//		Judge: func(c unwrap.Command) error { ... },
//		Env:   func(assignment string) error { ... },
//		File:  func(name string, write bool) error { ... },
//	}
//	err := r.Script("sudo -u web systemctl restart app > log")
//
// A [Reader] calls its functions for each command, variable and file, and stops
// at the first error. It decides about none of them. A part that it cannot read is a
// *grammar.Refusal; a command with effects that cannot be seen has Opaque set.
//
// The package is mostly lists: which program runs the command in its arguments,
// with which options, and which words a shell evaluates by itself. In the closed
// grammar such a program must have a form that all its versions read alike;
// see strict.go.
package unwrap
