package nodes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"ptyctl/cluster/proof"
)

// A Node is a node's description of itself.
type Node struct {
	Name    string            `json:"name"` // a letter or digit, then letters, digits and hyphens: at most 32 in all
	Version string            `json:"version"`
	WireMin int               `json:"wire_min"` // the lowest and highest number of the protocol between nodes that it speaks
	WireMax int               `json:"wire_max"`
	Key     []byte            `json:"key"`              // X25519: others know its calls by it
	Labels  map[string]string `json:"labels,omitempty"` // for example site: fra

	Sessions    int  `json:"sessions"`
	Consoles    int  `json:"consoles"`     // that it owns
	MaxSessions int  `json:"max_sessions"` // 0: as many as there are
	Draining    bool `json:"draining,omitempty"`

	// The first hex digits of digests of settings that all nodes should have in common; empty: there is no digest.
	Rules   string `json:"rules,omitempty"`   // in force
	Callers string `json:"callers,omitempty"` // who may call over HTTP, with which tokens

	Started time.Time `json:"started"` // by the clock of the node

	Proof *proof.Shown `json:"proof,omitempty"` // that the name is its own; never changed, so copies share it
}

// The limits of a node's entry. They hold for entries that are read, too.
const (
	maxValue      = 16 << 10 // bytes of the key's value
	keyBytes      = 32       // of a public key of X25519
	maxVersion    = 64       // bytes
	maxLabels     = 32
	maxDigest     = 64  // hex digits
	maxLabelName  = 63  // bytes
	maxLabelValue = 255 // bytes
)

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)
	digestPattern = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{0,%d}$`, maxDigest))
	labelPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
)

// check returns an error unless n is valid.
func (n Node) check() error {
	switch {
	case !namePattern.MatchString(n.Name):
		return fmt.Errorf("node name %q: it must be 1 to 32 letters, digits and hyphens, and begin with no hyphen", n.Name)
	case len(n.Version) > maxVersion:
		return fmt.Errorf("node %s: the version has %d bytes, and at most %d are allowed", n.Name, len(n.Version), maxVersion)
	case n.WireMin < 1 || n.WireMax < n.WireMin:
		return fmt.Errorf("node %s: the protocol numbers %d to %d are no range", n.Name, n.WireMin, n.WireMax)
	case len(n.Key) != keyBytes:
		return fmt.Errorf("node %s: the key has %d bytes and not %d", n.Name, len(n.Key), keyBytes)
	case n.Sessions < 0 || n.Consoles < 0 || n.MaxSessions < 0:
		return fmt.Errorf("node %s: the counts of sessions and consoles must not be negative", n.Name)
	case !digestPattern.MatchString(n.Rules) || !digestPattern.MatchString(n.Callers):
		return fmt.Errorf("node %s: the digests of its rules and its callers must be at most %d hex digits", n.Name, maxDigest)
	case len(n.Labels) > maxLabels:
		return fmt.Errorf("node %s: it has %d labels, and at most %d are allowed", n.Name, len(n.Labels), maxLabels)
	}
	for name, value := range n.Labels {
		if err := checkLabel(name, value); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return nil
}

func checkLabel(name, value string) error {
	switch {
	case len(name) > maxLabelName || !labelPattern.MatchString(name):
		return fmt.Errorf("label %.80q: the name must be 1 to %d letters, digits, dots, slashes, hyphens and underscores", name, maxLabelName)
	case len(value) > maxLabelValue:
		return fmt.Errorf("label %q: the value has %d bytes, and at most %d are allowed", name, len(value), maxLabelValue)
	}
	return nil
}

// ParseLabels reads labels of the form name=value, for example "site=fra".
func ParseLabels(all []string) (map[string]string, error) {
	labels := make(map[string]string, len(all))
	for _, text := range all {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("label %.80q has no value: write name=value, for example site=fra", text)
		}
		if err := checkLabel(name, value); err != nil {
			return nil, err
		}
		if _, twice := labels[name]; twice {
			return nil, fmt.Errorf("label %q is there twice", name)
		}
		labels[name] = value
	}
	return labels, nil
}

// clone returns a copy that shares nothing with n.
func (n Node) clone() Node {
	n.Labels = maps.Clone(n.Labels)
	n.Key = bytes.Clone(n.Key)
	return n
}

// A value is the value of a node's key.
type value struct {
	Format int    `json:"v"`  // 1; a reader takes the fields that it knows of a later one
	ID     string `json:"id"` // of the process, which recognizes a write with a lost answer by it
	Node
}

// keyPrefix is before the name of a node in its key.
const keyPrefix = "node."

// encode returns the value.
func (v value) encode() ([]byte, error) {
	v.Format = 1
	text, err := json.Marshal(v)
	if err == nil && len(text) > maxValue {
		err = fmt.Errorf("node %s: its description has %d bytes, and at most %d are allowed", v.Name, len(text), maxValue)
	}
	return text, err
}

// decode reads the value of a key. Another node has written it, so nothing in it is trusted.
func decode(key string, text []byte) (value, error) {
	var v value
	if len(text) > maxValue {
		return v, fmt.Errorf("%d bytes, and at most %d are allowed", len(text), maxValue)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return value{}, err
	}
	if keyPrefix+v.Name != key {
		return value{}, errors.New("the name in it is another node's")
	}
	return v, v.check()
}
