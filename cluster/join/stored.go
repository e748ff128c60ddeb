package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ptyctl/cluster/nodes"
	"ptyctl/cluster/proof"
	"ptyctl/mcpapi/peers"
)

// A stored is the value of a session's key. Any node has the right to write it, so the node of the session signs the
// entry, and a node that goes on with the session signs that it does.
type stored struct {
	Session json.RawMessage `json:"session"`         // kept.Session
	TTL     int64           `json:"ttl_s"`           // of the key, from its last write on
	At      int64           `json:"at"`              // Unix milliseconds: when the node of the session has written it
	Proof   *proof.Shown    `json:"proof,omitempty"` // of the node in the session's id, for all of the above

	Again string       `json:"again,omitempty"` // the session that goes on in its place
	Claim *proof.Shown `json:"claim,omitempty"` // of the node in the id of that one
}

// maxTTL bounds the TTL in another node's entry.
const maxTTL = 30 * 24 * time.Hour

// clocks is by how much the clocks of the nodes may differ.
const clocks = time.Minute

// text is the text that the node of a session signs. No part but the last has a zero byte.
func (v *stored) text(id string) []byte {
	return fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", id, v.TTL, v.At, v.Session)
}

// claimText is the text that a node signs when it goes on with a session as another.
func claimText(id, again string) []byte { return fmt.Appendf(nil, "%s\x00%s", id, again) }

// keeps returns the value of the key of a session of this node.
func (m *memory) keeps(id string, session json.RawMessage, ttl time.Duration, now time.Time) (v *stored, err error) {
	v = &stored{Session: session, TTL: int64(ttl / time.Second), At: now.UnixMilli()}
	if m.prover != nil {
		v.Proof, err = m.prover.Sign(proof.Session, nodes.Subject(m.group, m.node), v.text(id))
	}
	return v, err
}

// claim has v say that its session goes on as a session of this node.
func (m *memory) claim(id, as string, v *stored) (err error) {
	v.Again, v.Claim = as, nil
	if m.prover != nil {
		v.Claim, err = m.prover.Sign(proof.Claim, nodes.Subject(m.group, m.node), claimText(id, as))
	}
	return err
}

// check returns an error unless a value that was read is valid. An earlier value of the same session is valid for its
// time: another node can put it back, but not for longer.
func (m *memory) check(id string, v *stored, now time.Time) error {
	if m.prover == nil {
		return nil
	}
	node := peers.NodeOf(id)
	if err := m.prover.Verify(proof.Session, nodes.Subject(m.group, node), v.text(id), v.Proof); err != nil {
		return fmt.Errorf("that it is from node %s is not proven: %w", node, err)
	}
	if until := time.UnixMilli(v.At).Add(time.Duration(v.TTL) * time.Second); now.After(until.Add(clocks)) {
		return errors.New("it was to end before, and was put back")
	}
	if v.Again == "" {
		return nil
	}
	node = peers.NodeOf(v.Again)
	if err := m.prover.Verify(proof.Claim, nodes.Subject(m.group, node), claimText(id, v.Again), v.Claim); err != nil {
		return fmt.Errorf("that it goes on as %.80q of node %s is not proven: %w", v.Again, node, err)
	}
	return nil
}
