// Package changes has the parts of ptyctl_session_config that are about the configuration of a device: snapshots of it,
// the differences between them, and how a change is made that undoes itself.
//
// All of it follows from the session's profile. The profile names the command that shows the configuration, the parts
// of its output that change by themselves, and the steps of a change. Only the command that shows the configuration is
// ever typed, as an exec of the caller: the rules judge it, the audit log has it, and a lock refuses it.
package changes

// Instructions tell a model how the parts work together.
const Instructions = `- A risky change of a device: ptyctl_session_config snapshot first. get has trials, the steps of a ` +
	`change that undoes itself unless you confirm it; type them, look with diff and from a second session, then confirm.` +
	"\n" +
	`- A reload: answer its questions (waiting_for) with ptyctl_session_io write. Once the session has ended, ` +
	`ptyctl_session reopen with wait_ms, wait with until_state open, log in, and diff.`
