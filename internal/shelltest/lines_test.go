package shelltest

import "testing"

func TestHarmful(t *testing.T) {
	for line, want := range map[string]bool{
		"show a b":          false,
		"show >/dev/null":   false,
		"show ./a1 a/b ~/*": false,
		"show /etc":         true,
		"show '/'**":        true, // a walk through all folders takes longer than a line may
		"show /**":          true,
		"show ../x":         true,
		"kill 1":            true,
	} {
		if got := Harmful(line); got != want {
			t.Errorf("Harmful(%q) = %v, want %v", line, got, want)
		}
	}
}
