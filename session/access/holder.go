package access

import (
	"ptyctl/lockmgr"
	"ptyctl/term"
)

// A Holder is who holds a session's lock: a principal and which of its tasks. It is an identity; nothing that a caller
// passes is one, because no caller chooses its principal.
type Holder struct {
	Principal term.Principal
	Task      string // empty for an attached person, who is a principal of their own
}

// A Lease is a session's lock as one holder has it.
type Lease = lockmgr.Lease[Holder]

// A LockTable keeps the locks of sessions. Its zero value is ready for use.
type LockTable = lockmgr.Table[Holder]

// HolderOf returns who an actor is where locks are concerned.
func HolderOf(a term.Actor) Holder {
	p := a.Principal()
	if p.Attachment != (term.Attachment{}) {
		return Holder{Principal: p}
	}
	return Holder{Principal: p, Task: a.Task}
}

// Attached reports whether it is an attached person.
func (h Holder) Attached() bool { return h.Principal.Attachment != (term.Attachment{}) }

// Nameless reports whether it is a caller that names no task, and so cannot hold a lock.
func (h Holder) Nameless() bool { return h.Task == "" && !h.Attached() }

// String returns the name to show: the task, or the person's name. It must not be used to identify anyone.
func (h Holder) String() string {
	if h.Attached() {
		return h.Principal.Attachment.String()
	}
	return h.Task
}

// anotherClient replaces a task's name in messages to other principals.
const anotherClient = "another client"

// as says who h is to another, in a sentence.
func (h Holder) as(to Holder) string {
	if h.Attached() || h.Principal != to.Principal {
		return h.shown(to)
	}
	return "task " + h.Task
}

// shown returns the name of h as the holder to may see it: the task's name only within one principal.
func (h Holder) shown(to Holder) string {
	if !h.Attached() && h.Principal != to.Principal {
		return anotherClient
	}
	return h.String()
}
