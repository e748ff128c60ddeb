package limits

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for want, u := range map[string]Use{
		"count.token.Y2k":      {What: "token", Name: "ci"},
		"count.host.=":         {What: "host"},
		"count.jump.Ki4-IAD_":  {What: "jump", Name: "*.> \x00\xff"},
		"the kind of a limit":  {What: "a.b", Name: "x"},
		"has 257 bytes, and a": {What: "host", Name: strings.Repeat("x", 257)},
	} {
		got, err := u.key()
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the key of %+v = %q, %v; want %q", u, got, err, want)
		}
	}
}

// Another node may write anything to a key. A value that cannot be read is an error and not an empty limit.
func TestDecode(t *testing.T) {
	if s, err := decode(shares{"a.X": 2, "b.Y": 3}.encode()); err != nil || s["a.X"] != 2 || s.others("a.X") != 3 || s.nodes()["b"] != 3 {
		t.Errorf("decode = %v, %v", s, err)
	}
	if s, err := decode([]byte(`{"v":2,"more":1}`)); err != nil || s == nil {
		t.Errorf("no shares: %v, %v", s, err)
	}
	for _, bad := range []string{"?", `[]`, `{"n":{"a.X":-1}}`, `{"n":{"a":1}}`, `{"n":{"a.*":1}}`, `{"n":{"a.X":1e18}}`, `{"n":{"a.X":1.5}}`, `{"n":{"a.X y":1}}`} {
		if s, err := decode([]byte(bad)); err == nil {
			t.Errorf("decode(%s) = %v", bad, s)
		}
	}
}

// The error names the nodes that have the most, and not a thousand.
func TestFullError(t *testing.T) {
	e := &FullError{What: "host", Name: "rack1\x1b", Most: 40, Nodes: map[string]int{"a": 3, "b": 9, "c": 3}}
	if want := `host "rack1\x1b" has 15 of at most 40 sessions on all nodes: b has 9, a has 3, c has 3`; e.Error() != want {
		t.Errorf("Error() = %s, want %s", e, want)
	}
	for i := range 20 {
		e.Nodes[strings.Repeat("x", i+1)] = 1
	}
	if !strings.HasSuffix(e.Error(), "13 more nodes have the others") {
		t.Errorf("Error() = %s", e)
	}
}
