package term

// A Principal is the identity of a caller: the facts that the transport knows, and
// nothing that the caller claims. Two calls belong to the same principal if their
// Principals are equal.
//
// The program that calls this library is one principal. A server that passes on the calls
// of others has one for each that it can tell apart: that of ptyctl has one for its stdin,
// one for each bearer token of HTTP, one for each subject of OAuth, one for all of HTTP without tokens, one for its
// control socket, which admits a single user, and one for each conversation of a daemon. An
// attached person is a principal of their own, even if other callers share the transport.
type Principal struct {
	Transport  string
	Token      string // as in Actor
	Shim       string // id of the conversation of a daemon; see Actor
	Attachment Attachment
}

// Client returns p without a person's attachment. This is the owner of the sessions that the caller opens and, where
// that is limited, of those that it sees.
func (p Principal) Client() Principal {
	p.Attachment = Attachment{}
	return p
}

// Principal returns the identity of a.
func (a Actor) Principal() Principal {
	return Principal{Transport: a.Transport, Token: a.Token, Shim: a.Shim, Attachment: a.Attachment}
}

// An Attachment is the presence of a person at a terminal. Its id is compared and must
// never be shown; its name is shown and never compared. The zero Attachment is no person.
type Attachment struct{ id, name string }

// NewAttachment returns an attachment with the given id, which must be unique, and the
// name to show.
func NewAttachment(id, name string) Attachment { return Attachment{id, name} }

// String returns the name.
func (a Attachment) String() string { return a.name }

// GoString keeps the id out of %#v.
func (a Attachment) GoString() string { return "term.Attachment(" + a.name + ")" }
