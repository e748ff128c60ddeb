package term_test

import (
	"testing"

	"ptyctl/term"
)

// An end that is not known has the exit status 0, too.
func TestOK(t *testing.T) {
	for _, tt := range []struct {
		exit term.Exit
		want bool
	}{
		{term.Exit{Started: true, Known: true}, true},
		{term.Exit{Started: true}, false},
		{term.Exit{}, false},
		{term.Exit{Started: true, Known: true, Code: 1}, false},
		{term.Exit{Started: true, Known: true, Code: 137, Signal: "KILL"}, false},
		{term.Exit{Started: true, Killed: "unknown"}, false},
	} {
		if got := tt.exit.OK(); got != tt.want {
			t.Errorf("OK of %+v is %v, want %v", tt.exit, got, tt.want)
		}
	}
}
