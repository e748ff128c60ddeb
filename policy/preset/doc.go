// Package preset has built-in lists of commands that change nothing, for
// operators without a list of their own.
//
//	list, err := preset.Named("read-only-linux")
//	ok, why := list.Allows([]string{"ls", "-l", "/etc"})
//
// A list names programs with their options and the form of their operands, one
// line each, in read-only-*.txt; see presetSpec for the form of a line. A
// command is allowed only if all its parts are listed, so an option of a later
// version of a program is not.
//
// The package starts no program.
package preset
