package elicit

import (
	"testing"
)

// Only the form's own "allow once" allows anything.
func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		content any
		want    bool
	}{
		{map[string]any{"decision": "allow_once"}, true},
		{map[string]any{"decision": "deny"}, false},
		{map[string]any{"decision": true}, false},
		{map[string]any{"decision": "allow"}, false},
		{map[string]any{"trust": true}, false},
		{"allow_once", false},
		{nil, false},
	} {
		if got := agrees(c.content); got != c.want {
			t.Errorf("%v: %v", c.content, got)
		}
	}
}
