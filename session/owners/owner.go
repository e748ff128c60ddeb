package owners

import (
	"time"

	"ptyctl/term"
)

// A Place is where a client works. A client that is started again has the same one.
type Place struct {
	Client string // name of the program, as it gives it; see Registry.Named
	Dir    string // its working folder, an absolute path
	User   string // as the system knows the user that it runs as
	Any    bool   // of every client in Dir: a person has left the session there
}

// Fits reports whether a client at q may adopt a session that was left at p.
func (p Place) Fits(q Place) bool {
	return p.Dir != "" && p.Dir == q.Dir && (p.Any || p.Client == q.Client && p.User == q.User)
}

// String says where it is, for a person.
func (p Place) String() string {
	name := p.Client
	if name == "" {
		name = "a client"
	}
	if p.Dir == "" {
		return name
	}
	return name + " in " + p.Dir
}

// An Owner is the owner of a session.
type Owner struct {
	// Principal is the owner's, without the attachment of a person; zero once a person has left the session to a client
	// that is to come.
	Principal term.Principal
	Place     Place     // where the owner's client works; zero: not known
	Orphaned  time.Time // since when no client has it; zero: one does, or it needs none

	over bool // the time of an orphan is over: it ends, or had ended before and is kept for a moment
}

// Is reports whether the session is a's.
func (o Owner) Is(a term.Principal) bool { return o.Principal == a.Client() }

// A Member is a client that is present.
type Member struct {
	Principal term.Principal
	Place     Place
	Since     time.Time

	gone bool // its calls may still go on
}
