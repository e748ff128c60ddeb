package nodes

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Need says which nodes can take a new session.
type Need struct {
	Labels  map[string]string // the node has all of these
	Exclude []string          // nodes that are not asked for, for example because they have just refused

	// Host chooses one node by this name, whatever the load: all nodes that see the same registry choose the same one,
	// and when a node comes or goes, only the names move that are its own. Empty: the least loaded node is chosen, by
	// name if there are several.
	Host string

	WireMin, WireMax int // of the caller; 0: those of the registry's own node
}

// A PlaceWhy is the reason why no node can take a session.
type PlaceWhy string

// The reasons of a PlaceError. With several nodes it is that of the nodes that came closest.
const (
	NoNode      PlaceWhy = "no node is live"
	NoLabels    PlaceWhy = "no live node has the labels"
	AllExcluded PlaceWhy = "the nodes that remain are excluded"
	NoProtocol  PlaceWhy = "no node that remains speaks a protocol of this node"
	AllDraining PlaceWhy = "the nodes that remain take no new sessions, because they are draining"
	AllFull     PlaceWhy = "the nodes that remain have as many sessions as they may"
)

// stages are the reasons in the order in which nodes are sorted out.
var stages = [...]PlaceWhy{NoNode, NoLabels, AllExcluded, NoProtocol, AllDraining, AllFull}

// A PlaceError says that no node can take a session.
type PlaceError struct {
	Why     PlaceWhy
	Labels  []string // with NoLabels: those that no live node has, such as "site=fra", or all if only no node has all of them
	Each    bool     // with NoLabels: each label is there, but no node has all of them
	Nodes   []string // that were sorted out for this reason, at most ten; nil with NoNode and NoLabels
	Silents int      // nodes that are silent
}

// Retryable reports whether time alone may help. The nodes that have the labels may have left to be upgraded: then nothing
// is known of them.
func (e *PlaceError) Retryable() bool {
	return e.Why == NoNode || e.Why == NoLabels || e.Why == AllDraining || e.Why == AllFull
}

// Error says why no node can take the session.
func (e *PlaceError) Error() string {
	s := "no node for the session: " + string(e.Why)
	if e.Each {
		s = "no node for the session: no live node has all of the labels"
	}
	if all := append(slices.Clone(e.Labels), e.Nodes...); len(all) > 0 {
		s += ": " + strings.Join(all, ", ")
	}
	if e.Silents > 0 {
		s += fmt.Sprintf(" (%d more nodes are silent)", e.Silents)
	}
	return s
}

// place chooses a node.
func (t *table) place(need Need, now time.Time) (*entry, error) {
	var best *entry
	var bestWeight uint64
	var reached [len(stages)]int
	host := uint64(0)
	if need.Host != "" {
		host = hashOf(need.Host)
	}
	for _, e := range t.all {
		stage := t.stage(e, &need, now)
		if stage < len(stages) {
			reached[stage]++
			continue
		}
		if need.Host != "" {
			if w := mix(host ^ e.hash); best == nil || w > bestWeight {
				best, bestWeight = e, w
			}
		} else if best == nil || e.load() < best.load() {
			best = e
		}
	}
	if best == nil {
		return nil, t.placeError(need, now, reached)
	}
	return best, nil
}

// stage returns the number of the reason for which a node cannot take the session; len(stages): it can.
func (t *table) stage(e *entry, need *Need, now time.Time) int {
	switch {
	case !t.live(e, now):
		return 0
	case !e.node.has(need.Labels):
		return 1
	case slices.Contains(need.Exclude, e.node.Name):
		return 2
	case e.node.WireMin > need.WireMax || e.node.WireMax < need.WireMin:
		return 3
	case e.node.Draining:
		return 4
	case need.Host == "" && e.node.MaxSessions > 0 && e.node.Sessions+e.placed >= e.node.MaxSessions:
		// With a host, the node itself refuses: the nodes' views of its load differ, and they must choose the same.
		return 5
	}
	return len(stages)
}

// placeError explains why no node was found.
func (t *table) placeError(need Need, now time.Time, reached [len(stages)]int) *PlaceError {
	stage := 0
	for i, n := range reached {
		if n > 0 {
			stage = i
		}
	}
	e := &PlaceError{Why: stages[stage], Silents: reached[0]}
	switch e.Why {
	case NoNode:
	case NoLabels:
		all := make([]string, 0, len(need.Labels))
		for _, name := range slices.Sorted(maps.Keys(need.Labels)) {
			text := name + "=" + need.Labels[name]
			all = append(all, text)
			if !slices.ContainsFunc(t.all, func(e *entry) bool {
				return t.live(e, now) && e.node.has(map[string]string{name: need.Labels[name]})
			}) {
				e.Labels = append(e.Labels, text)
			}
		}
		if e.Labels == nil {
			e.Labels, e.Each = all, true
		}
	default:
		for _, n := range t.all {
			if t.stage(n, &need, now) == stage && len(e.Nodes) < 10 {
				e.Nodes = append(e.Nodes, n.node.Name)
			}
		}
	}
	return e
}

// has reports whether n has all of the labels.
func (n *Node) has(labels map[string]string) bool {
	for name, value := range labels {
		if has, ok := n.Labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}

// unlimited is the limit that load assumes for a node without a limit.
const unlimited = 1000

// load returns how full a node is: 1 is full.
func (e *entry) load() float64 {
	return float64(e.node.Sessions+e.placed) / float64(cmp.Or(e.node.MaxSessions, unlimited))
}

// hashOf and mix weigh a node for a host (rendezvous hashing). All nodes must compute the same, so a change of either
// needs a new number of the protocol between nodes.
func hashOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
