// Package lane runs commands in a terminal, one at a time, as a person would: it waits for the prompt, types a line,
// and follows the output until the command has ended.
//
// The parts, in reading order:
//
//   - lane.go: Terminal, which is all that the lane needs of a session, and Lane.
//   - request.go: Request and the line that is typed for it.
//   - command.go: Command, one command from its preparation to its end.
//   - paced.go: commands of several lines for a device, which are typed line by line.
//   - turns.go: the turns of commands in the terminal, and the queue.
//   - ready.go: waits until the terminal shows a prompt.
//   - follow.go: reads the output until a marker, a prompt or silence ends the command.
//   - within.go: commands that have started a shell, and those that run in it.
//   - stalled.go: finds an unfinished line that does not change any more.
//   - autopage.go, pagecut.go: turns the pages of a pager and takes its line out of the output.
//   - emit.go: passes the output on, except for a last line that may be the prompt.
//   - interrupt.go: stops a command with the keys that a person would press.
//
// Package prompt judges the terminal's last line; package marker makes the typed line and finds its end.
package lane
