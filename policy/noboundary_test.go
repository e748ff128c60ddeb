package policy

import "testing"

// TestNoBoundary checks that rules which only deny or ask are reported as no
// boundary, in each of their forms.
func TestNoBoundary(t *testing.T) {
	list := []Rule{{Text: "rm *", Name: "policy.deny"}}
	for name, tt := range map[string]struct {
		rules Rules
		want  bool
	}{
		"no rules":               {Rules{}, false},
		"deny":                   {Rules{Deny: list}, true},
		"deny and allow":         {Rules{Deny: list, Allow: list}, false},
		"permissions deny":       {Rules{Permissions: `{"bash": {"rm *": "deny"}}`}, true},
		"permissions ask":        {Rules{Permissions: `{"bash": {"ls": "allow", "rm *": "ask"}}`}, true},
		"permissions only allow": {Rules{Permissions: `{"bash": {"ls": "allow"}}`}, false},
		"permissions deny all":   {Rules{Permissions: `{"bash": "deny"}`}, false},
		"all but some":           {Rules{Permissions: `{"bash": {"*": "deny", "ls *": "allow"}}`}, false},
		"all but some, and deny": {Rules{Deny: list, Permissions: `{"bash": {"*": "ask", "ls *": "allow"}}`}, false},
		"permissions of folders": {Rules{Permissions: `{"external_directory": "deny"}`}, false},
		"permissions and a list": {Rules{Allow: list, Permissions: `{"bash": {"rm *": "deny"}}`}, false},
		"permissions and preset": {Rules{Preset: "read-only-linux", Permissions: `{"bash": {"rm *": "deny"}}`}, false},
	} {
		if got := tt.rules.NoBoundary(); got != tt.want {
			t.Errorf("%s: NoBoundary() = %v, want %v", name, got, tt.want)
		}
	}
}
