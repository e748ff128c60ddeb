// Package changes has the parts of ptyctl_session_config that are about the configuration of a device: snapshots of it,
// the differences between them, and how a change is made that undoes itself.
//
// All of it follows from the session's profile, which names the command that shows the configuration, what changes in
// that by itself, and the steps. Only the command that shows the configuration is ever typed, as an exec of the caller:
// the rules judge it, the audit log has it, and a lock refuses it.
package changes
