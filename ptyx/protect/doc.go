// Package protect keeps other programs of the same user from the memory of this process, because
// keys and passwords pass through it. For example, early in main:
//
//	if err := protect.Memory(); err != nil { ... }
//	if why := protect.Unprotected(); why != "" { ... } // for a person
//
// The package changes this process alone: it refuses debuggers and writes no core file. A program
// that is started under WithCore has the limit on core files that this process had.
package protect
