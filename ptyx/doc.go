// Package ptyx runs programs on this machine: on a pseudo-terminal or on pipes. For example:
//
//	var h ptyx.Host
//	t, err := h.Open(ctx, term.Target{Local: term.LocalOptions{Argv: []string{"gdb", "-q", "./a.out"}}}, nil)
//
// A Terminal is a program on a pseudo-terminal. A Program runs on pipes, with separate output
// and errors. Both are the leader of their own session and process group (setsid(2)).
//
// The package guarantees:
//
//   - A program gets no shell unless its arguments name one, only chosen environment
//     variables, and no descriptors except its own three.
//   - When the program ends, or Close is called, the processes that it has started end too:
//     they get a signal first and are killed after a moment. On Linux this includes processes
//     that have left its session (double fork, setsid). Close returns within a second.
//   - All output before the program's end is read, even from a very short program.
//   - An idle terminal costs no thread. A write to a program that does not read blocks only
//     its caller, and Close wakes it.
//
// The package changes nothing that other parts of the process could notice, except one thread
// of its own (Linux). Two features concern the whole process, and are off until the main
// function turns them on: EnableLimits, without which Limits are refused, and Supervise,
// which adopts and reaps orphans.
//
// The package is tested on Linux. macOS, FreeBSD and Windows (ConPTY) are only
// compiled and vetted; other systems have no terminals.
package ptyx
