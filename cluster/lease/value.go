package lease

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"ptyctl/cluster/lease/rules"
	"ptyctl/devlock"
)

// A value is the value of a device's key while the device has an owner.
type value struct {
	Version int    `json:"v"` // 1
	Device  string `json:"device"`
	ID      string `json:"id"`              // of this lease, chosen by its owner, to recognize a write with a lost answer
	Heir    bool   `json:"heir,omitempty"`  // it is not used: it is given back when its former owner cannot count on it
	Token   uint64 `json:"token,omitempty"` // absent in the write that has won the device: its revision is the token
	devlock.Owner
}

// longestName is the most bytes of a device's name. The servers limit the length of a subject.
const longestName = 1024

// keyOf returns the key of a device: dev. and its name in base64url, because a name may have any bytes and a key only a
// few letters.
func keyOf(device string) (string, error) {
	switch {
	case device == "":
		return "dev.=", nil
	case len(device) > longestName:
		return "", fmt.Errorf("lease: a device's name has at most %d bytes, and this one has %d", longestName, len(device))
	}
	return "dev." + base64.RawURLEncoding.EncodeToString([]byte(device)), nil
}

// encode returns the value with that token; 0: none yet.
func (v value) encode(token uint64) []byte {
	v.Version, v.Token = 1, token
	text, err := json.Marshal(v)
	if err != nil { // it has strings and numbers only, but a time may be out of range
		panic(err)
	}
	return text
}

// An entry is the state of a key on the servers.
type entry struct {
	value
	held     bool
	expired  bool   // the last write is a marker that the key has expired
	revision uint64 // of the last write, which may be a marker that it was deleted or has expired; 0: the key has no write
}

// newEntry reads the last write of a key. If it cannot read a value, the device still has an owner: a newer version may
// have written it.
func newEntry(data []byte, marker bool, revision uint64) entry {
	e := entry{revision: revision, held: !marker}
	if !marker {
		if err := json.Unmarshal(data, &e.value); err != nil {
			e.value = value{}
		}
		if e.Token == 0 {
			e.Token = revision
		}
	}
	return e
}

// seenBy returns e as the lease with that id sees it.
func (e entry) seenBy(id string) rules.Key {
	return rules.Key{Held: e.held, Mine: e.held && e.ID == id, Expired: e.expired, Revision: e.revision, Token: e.Token}
}

// holding returns e for a caller.
func (e entry) holding(device string, stale bool) devlock.Holding {
	return devlock.Holding{Device: device, Held: e.held, Owner: e.Owner, Token: e.Token, Heir: e.Heir, MayBeStale: stale}
}
