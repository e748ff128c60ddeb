package main

import (
	"strings"
	"testing"
)

// TestWantsJSON: --json counts wherever the flags of a command stand, and not among the words of another program.
func TestWantsJSON(t *testing.T) {
	for line, want := range map[string]bool{
		"sessions --json":                  true,
		"sessions -json=true":              true,
		"sessions --json=1":                true,
		"sessions --json=false":            false,
		"sessions":                         false,
		"status ID --json":                 true,
		"config show --json":               true,
		"version --nosuch --json":          true,
		"exec --json web1 -- true":         true,
		"exec web1 --json -- true":         true,
		"exec --profile --json web1 -- x":  false, // the value of a flag
		"exec web1 -- kubectl --json":      false,
		"exec web1 kubectl --json":         false,
		"exec --json web1 true":            true,
		"open --json web1":                 true,
		"exec --nosuch --json web1 -- x":   true,
		"exec --nosuch a --json web1 -- x": true, // perhaps the value of that flag
		"exec --nosuch=a web1 x --json":    false,
		"exec --timeout --json web1 -- x":  true, // no value of a flag that takes a time
		"exec -p22 --json web1 -- true":    true,
		"nosuch --json":                    true,
		"nosuch -- --json":                 false,
		"--json":                           true,
		"--nosuch --json":                  true,
		"help nosuch --json":               true,
		"complete sessions --json":         false, // words to complete
		"":                                 false,
	} {
		if got := wantsJSON(newCommandLine(), strings.Fields("ptyctl "+line)); got != want {
			t.Errorf("wantsJSON(%q) = %t, want %t", line, got, want)
		}
	}
}
