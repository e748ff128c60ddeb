package lending

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ptyctl/term"
)

// The kinds of requests.
const (
	doPermit  = "permit"  // Path, What, Copy, Exec: permission to read; the answer has its number
	doDone    = "done"    // Number of a permission, Bytes, Note, Failure: the outcome
	doOpen    = "open"    // the connection to the files
	doLook    = "look"    // Path
	doEntries = "entries" // Path, Most
	doSource  = "source"  // Path, Follow: the answer has the number of the open file, and its entry
	doRead    = "read"    // Number of a file, At, Most: the answer is the bytes; fewer than Most are the last of the file
	doClose   = "close"   // Number of a file
	doAlive   = "alive"   // the copy goes on
	doEnd     = "end"     // the copy is over
)

// Limits of a lending.
const (
	maxRequest = 64 << 10  // bytes
	maxRead    = 512 << 10 // bytes of one read, which are one message between nodes
	maxReads   = 12        // at a time, as for reads of a session's far side within one node
	maxOpen    = 16        // permissions, and open files
	maxText    = 8 << 10   // bytes of a failure's texts
)

// A request is one of the node that copies. Paths and names are bytes that need not be text.
type request struct {
	ID string `json:"id"` // of the lending
	Do string `json:"do"`

	Path    []byte   `json:"path,omitempty"`
	What    string   `json:"what,omitempty"`
	Copy    string   `json:"copy,omitempty"`
	Exec    string   `json:"exec,omitempty"`
	Follow  bool     `json:"follow,omitempty"`
	Number  int      `json:"number,omitempty"`
	At      int64    `json:"at,omitempty"`
	Most    int      `json:"most,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	Note    string   `json:"note,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

// An answer answers every request but doRead. A failure of doRead is an error of the call.
type answer struct {
	Number  int      `json:"number,omitempty"`
	Entries []entry  `json:"entries,omitempty"` // one for doLook and doSource
	Failure *failure `json:"failure,omitempty"`
}

// An entry is a term.FileEntry.
type entry struct {
	Name []byte      `json:"name"`
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size"`
	Unix int64       `json:"unix"` // time of modification, in seconds; a time.Time in JSON has no year 10000
	Nano int         `json:"nano,omitempty"`
}

func entryOf(e term.FileEntry) entry {
	return entry{[]byte(e.Name), e.Mode, e.Size, e.Modified.Unix(), e.Modified.Nanosecond()}
}

func (e entry) file() (term.FileEntry, error) {
	if e.Size < 0 || e.Nano < 0 || e.Nano >= int(time.Second) {
		return term.FileEntry{}, fmt.Errorf("%.100q has %d bytes", e.Name, e.Size)
	}
	return term.FileEntry{Name: string(e.Name), Mode: e.Mode, Size: e.Size, Modified: time.Unix(e.Unix, int64(e.Nano))}, nil
}

// A failure is the wire form of a term.Error. It has only the facts that errors of files have.
type failure struct {
	Op      string       `json:"op,omitempty"`
	Kind    term.Kind    `json:"kind"`
	Reason  term.Reason  `json:"reason,omitempty"`
	Msg     string       `json:"msg"`
	Advice  string       `json:"advice,omitempty"`
	Rule    string       `json:"rule,omitempty"`
	Setting term.Setting `json:"setting,omitempty"`
	Allowed []string     `json:"allowed,omitempty"`
	Limit   term.Limit   `json:"limit,omitempty"`
	Value   int64        `json:"value,omitempty"`
	Field   term.Field   `json:"field,omitempty"`
}

func failureOf(err error) *failure {
	e, ok := errors.AsType[*term.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return &failure{Kind: term.Internal, Msg: "it has failed"} // the text of such an error is for the log alone
	}
	denied, limit := term.FactOf[term.Denial](e), term.FactOf[term.LimitReached](e)
	f := &failure{
		Op: e.Op, Kind: e.Kind, Reason: e.Reason, Msg: e.Msg, Advice: e.Advice,
		Rule: denied.Rule, Setting: denied.Setting, Allowed: denied.Allowed, Limit: limit.Limit, Value: limit.Value,
		Field: term.FactOf[term.ArgumentFault](e).Field,
	}
	if f.Msg == "" {
		f.Msg, f.Advice = e.Message(), ""
	}
	return f
}

// err returns the error about a session's files. node is the node that has written f.
func (f *failure) err(node, session string) error {
	size := len(f.Op) + len(f.Kind) + len(f.Reason) + len(f.Msg) + len(f.Advice) + len(f.Rule) + len(f.Setting) + len(f.Limit) + len(f.Field)
	for _, name := range f.Allowed {
		size += len(name)
	}
	if size > maxText || len(f.Allowed) > 32 {
		return garbled(node, "an error that is too long")
	}
	e := &term.Error{Op: f.Op, Session: session, Kind: f.Kind, Reason: f.Reason, Msg: f.Msg, Advice: f.Advice}
	switch {
	case f.Kind == term.Internal, f.Kind == "":
		e.Kind, e.Msg = term.IOError, "node "+node+" has failed; its log says why"
	case f.Rule != "" || f.Setting != "":
		e.Facts = term.Facts{term.Denial{Rule: f.Rule, Setting: f.Setting, Allowed: f.Allowed}}
	case f.Limit != "":
		e.Facts = term.Facts{term.LimitReached{Limit: f.Limit, Value: f.Value}}
	case f.Field != "":
		e.Facts = term.Facts{term.ArgumentFault{Field: f.Field}}
	}
	return e
}

// garbled is the error for an answer that cannot be one.
func garbled(node, what string) error {
	return term.Errorf(term.IOError, "node %s has answered a request for a file with %s", node, what)
}

// decode reads an answer of a node.
func decode(node, session string, text []byte) (a answer, err error) {
	if json.Unmarshal(text, &a) != nil {
		return a, garbled(node, "what cannot be read")
	}
	if a.Failure != nil {
		return a, a.Failure.err(node, session)
	}
	return a, nil
}
