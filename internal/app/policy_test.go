package app

import (
	"slices"
	"testing"

	"ptyctl/config"
	"ptyctl/policy"
)

// TestPresetNames: the configuration takes the presets that there are.
func TestPresetNames(t *testing.T) {
	want := policy.PresetNames()
	got := []string{string(config.PolicyPresetReadOnlyLinux), string(config.PolicyPresetReadOnlyNetwork)}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("policy.preset takes %q, want %q", got, want)
	}
}
