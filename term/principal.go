package term

// A Principal stands behind a call: what the transport knows of the caller, and nothing of what the caller says. Two calls
// are of one principal if their Principals are equal.
//
// All of stdio is one, and so is each bearer token of HTTP; all of HTTP without tokens; the control socket, which lets in
// one user; and the program that calls this library. An attached person is one besides, whatever else comes the same way.
type Principal struct {
	Transport  string
	Token      string // name of the bearer token
	Attachment Attachment
}

// Principal returns who stands behind a's calls.
func (a Actor) Principal() Principal {
	return Principal{Transport: a.Transport, Token: a.Token, Attachment: a.Attachment}
}

// An Attachment is a person's stay at a terminal. Its id is compared and never shown, its name is shown and never
// compared with what a caller passes. The zero Attachment is none.
type Attachment struct{ id, name string }

// NewAttachment returns the attachment with an id, which no other person's may have, and the name that others are told.
func NewAttachment(id, name string) Attachment { return Attachment{id, name} }

// String returns the name that others are told.
func (a Attachment) String() string { return a.name }

// GoString keeps the id out of %#v too.
func (a Attachment) GoString() string { return "term.Attachment(" + a.name + ")" }
