// Package ptyx runs programs on this machine: on a terminal of their own, or without one.
//
//	var h ptyx.Host
//	t, err := h.Open(ctx, term.Target{Local: term.LocalOptions{Argv: []string{"gdb", "-q", "./a.out"}}}, nil)
//
// A Terminal is a program on a pseudo-terminal; a Program runs on pipes, with its output and its errors apart. Both are
// the leader of a session and a process group of their own (setsid(2)).
//
// What it promises:
//
//   - A program gets no shell but the one that its arguments name, an environment of which every variable was chosen,
//     and no descriptor but its own three.
//   - When the program ends, or Close is called, what it has started ends too: told first, killed after a moment. On
//     Linux that holds for those that left its session (double fork, setsid), too. Close returns within a second.
//   - What a program wrote before it ended is read, however quickly it ended.
//   - An idle terminal costs no thread, and a write to a program that does not read blocks nobody but its caller, whom
//     Close wakes.
//
// What it does to the process that uses it: nothing that another part of that process could notice, but one thread of
// its own (Linux). Two things are left to the program as a whole, and are off until its main function asks for them:
// EnableLimits, without which Limits are refused, and Supervise, with which orphans are adopted and reaped.
//
// On Linux it was tried. Other Unix systems (through creack/pty) and Windows (ConPTY) are compiled and vetted only.
package ptyx
