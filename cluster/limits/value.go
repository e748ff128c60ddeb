package limits

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// A Use is one limit that a session counts towards.
type Use struct {
	What string // the kind: a lower-case letter, then such letters, digits and hyphens: at most 32; for example "token"
	Name string // of the token (never its value), the host, or the jump host: at most 256 bytes of any kind
	Most int    // sessions on all nodes; 0 or less: no limit, and nothing is counted
}

// longestName is the most bytes of a name. The servers limit the length of a subject.
const longestName = 256

// key returns the key of the limit: count.WHAT. and the name in base64url, because a name may have any bytes and a key
// only a few letters.
func (u Use) key() (string, error) {
	switch {
	case !whatPattern.MatchString(u.What):
		return "", fmt.Errorf("limits: the kind of a limit is %.80q: it must be 1 to 32 lower-case letters, digits and hyphens", u.What)
	case len(u.Name) > longestName:
		return "", fmt.Errorf("limits: the name of a limit of kind %q has %d bytes, and at most %d are allowed", u.What, len(u.Name), longestName)
	case u.Name == "":
		return "count." + u.What + ".=", nil
	}
	return "count." + u.What + "." + base64.RawURLEncoding.EncodeToString([]byte(u.Name)), nil
}

// shares are the counts of one limit by process. The name of a process is NODE.ID.
type shares map[string]int

// others returns the count of all processes but one.
func (s shares) others(process string) (sum int) {
	for p, n := range s {
		if p != process {
			sum += n
		}
	}
	return sum
}

// nodes returns the counts by node.
func (s shares) nodes() map[string]int {
	all := make(map[string]int)
	for p, n := range s {
		node, _, _ := strings.Cut(p, ".")
		all[node] += n
	}
	return all
}

// maxShare is the most sessions of a process: no sum of them overflows.
const maxShare = 1 << 30

// A value is the value of a limit's key.
type value struct {
	Format int    `json:"v"` // 1
	Shares shares `json:"n"`
}

// encode returns the value; nil: there are no shares, and the key is deleted.
func (s shares) encode() []byte {
	if len(s) == 0 {
		return nil
	}
	text, err := json.Marshal(value{1, s})
	if err != nil { // it has strings and numbers only
		panic(err)
	}
	return text
}

// decode reads the value of a key.
func decode(text []byte) (shares, error) {
	var v value
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("a count that cannot be read: %w", err)
	}
	for p, n := range v.Shares {
		if n < 0 || n > maxShare || !processPattern.MatchString(p) { // it becomes part of a subject
			return nil, fmt.Errorf("a count that cannot be read: %.80q has %d", p, n)
		}
	}
	if v.Shares == nil {
		v.Shares = make(shares)
	}
	return v.Shares, nil
}
