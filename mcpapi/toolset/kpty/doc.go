// Package kpty offers the tool k_pty, which has the contract of the PTY daemon of
// Kuroryuu: one tool with the actions spawn, write, read, run, talk, resize, kill, list
// and help.
//
// The package is a thin layer over [session.Manager], and k_pty also works on sessions
// that other tools have opened. The package itself adds three things: the shell that
// spawn starts when the caller names no shell, a read position for each session and
// reader, and the contract's form of results and failures.
//
// The results are JSON objects. A success has ok true; a failure has ok false, an
// error_code of the contract (see [Code]) and a message that says how to go on, for
// example "kill a session that is no longer needed, and try again".
package kpty
