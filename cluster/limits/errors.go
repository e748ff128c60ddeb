package limits

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptyctl/cluster/internal/bucket"
)

// An UnavailableError says that the servers could not say in time whether there is room. The call may be tried again.
type UnavailableError = bucket.UnavailableError

// A FullError says that a limit is reached.
type FullError struct {
	What  string         // of Use
	Name  string         // of Use
	Most  int            // of Use
	Nodes map[string]int // how many each node has
}

// Error names the limit, and the sessions of each node.
func (e *FullError) Error() string {
	sum, names := 0, slices.Sorted(maps.Keys(e.Nodes))
	slices.SortStableFunc(names, func(a, b string) int { return e.Nodes[b] - e.Nodes[a] })
	var all []string
	for i, name := range names {
		sum += e.Nodes[name]
		if i < 10 {
			all = append(all, fmt.Sprintf("%s has %d", name, e.Nodes[name]))
		}
	}
	if len(names) > 10 {
		all = append(all, fmt.Sprintf("%d more nodes have the others", len(names)-10))
	}
	return fmt.Sprintf("%s %q has %d of at most %d sessions on all nodes: %s", e.What, e.Name, sum, e.Most, strings.Join(all, ", "))
}

// errClosed is the error of a call that comes after Close.
var errClosed = errors.New("limits: the book is closed")

// errNoKey is the error of an attempt while this process's key may be gone.
var errNoKey = errors.New("the key of this process was not renewed in time")
