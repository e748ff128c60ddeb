package app

import (
	"strings"
	"testing"

	"ptyctl/config"
	"ptyctl/daemon"
)

// The name of a daemon depends on what its engine does, and neither on the conversations of its clients nor on keys
// that have their defaults, which another version may not have.
func TestEngine(t *testing.T) {
	plain := config.Default()
	if e := Engine(plain); len(e) != 0 {
		t.Errorf("Engine of the defaults = %v, want nothing", e)
	}
	same := config.Default()
	same.Server.Results, same.Server.ReadOnly, same.Server.JSONRPCErrors = config.ResultsText, true, true
	same.Server.Toolsets = []string{"core", "pty"}
	same.Server.HTTP.Listen = "127.0.0.1:1"
	same.Daemon.OnDifference = config.DifferenceRefuse
	if d := Engine(same).Difference(Engine(plain)); d != "" {
		t.Errorf("settings of a conversation differ: %s, want none to count", d)
	}
	other := config.Default()
	other.Policy.Deny = []string{"halt"}
	if d := Engine(other).Difference(Engine(plain)); d != `policy.deny is ["halt"] here and the default there` {
		t.Errorf("a rule differs as %q, want policy.deny named", d)
	}
	if Engine(other).Name() == Engine(plain).Name() {
		t.Error("another rule gives the same name, want another daemon")
	}
}

// A client of a later version learns before its conversation begins what this daemon does not offer.
func TestPresentsOfLaterVersion(t *testing.T) {
	c := &conversations{app: &App{cfg: config.Default(), version: "1.2.3"}}
	for part, p := range map[string]daemon.Presents{
		`no set of tools "later"`:    {Toolsets: []string{"later"}, Results: "compact"},
		`no form of results "later"`: {Results: "later"},
	} {
		if err := c.presents(p); err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "1.2.3") {
			t.Errorf("presents(%+v) = %v, want an error with the version and %q", p, err, part)
		}
	}
}
