// Package agent holds twenty tasks that an agent does on hosts, and counts their cost.
//
// A task is a script in two arms. The first is ptyctl over stdio in its default configuration, called as a competent
// model calls it. The second is a tool for Bash commands with ssh, scp and tmux beside it, which an agent has for free.
// A call is one use of a tool, and its bytes are those of the result that the model reads. After each arm the hosts
// themselves say whether the work is done, and what ptyctl stated about exit codes and ends is compared with them.
//
// Both arms keep the same rules, so that their counts mean the same:
//
//   - Where the next input depends on the output, the call ends and its result is read.
//   - Input that waits for its prompt needs no look. ptyctl's steps wait for it, from the first terminal on. With tmux,
//     a program is started on the host by ssh itself, and its keys and lines go out in one call; a call ends with a look
//     where another program begins to read, and before a secret, which must only be typed at its question.
//   - An input that no other depends on, such as the end of a program after the last look, shares the call before it.
//   - Bash waits for a pattern in a loop inside of a call, never by a call of its own, and leaves out empty lines.
//   - A command on the host (grep, tail, sed) shortens its output in both arms where it can.
//
// A task about many hosts has a second script for ptyctl, with the set of tools for them, and a total of its own.
//
// TestTasks does all tasks with ptyctl. With -compare it does them with Bash as well and prints the table: task
// bench:agent.
package agent
