package policy_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// A rule about a host is about connections to it through another one, too, as far as its names are known.
func TestForwardTo(t *testing.T) {
	p := gate(t, policy.Rules{
		DenyHosts:     rules("deny_hosts", "db-secret", "10.1.*", "127.0.0.1", "localhost"),
		ReadOnlyHosts: rules("read_only_hosts", "core*", "192.0.2.7"), ExecOnlyHosts: rules("exec_only_hosts", "gate2"),
		Meaning: func(_ context.Context, name string) policy.Meaning {
			switch name {
			case "db-secret":
				return policy.Meaning{Host: "db7.example.net", Port: 2222, Addresses: []netip.Addr{netip.MustParseAddr("10.9.9.9")}}
			case "gate2":
				return policy.Meaning{Host: "192.0.2.5"}
			}
			return policy.Meaning{Host: name}
		},
	})
	for to, rule := range map[string]string{
		"db1:5432": "", "10.0.0.1:443": "", "[2001:db8::5]:80": "", "core.evil:80": "read_only_hosts",
		"localhost:80": "", "127.0.0.1:80": "", "[::1]:80": "", "127.8.8.8:80": "", "x.localhost:80": "", // the session's host
		"db-secret:5432": "deny_hosts", "10.1.2.3:443": "deny_hosts", "[64:ff9b::a01:203]:443": "deny_hosts",
		"db7.example.net:5432": "deny_hosts", "10.9.9.9:5432": "deny_hosts", "10.9.9.9:2222": "deny_hosts",
		"core1:22": "read_only_hosts", "192.0.2.7:22": "read_only_hosts",
		"gate2:22": "exec_only_hosts", "192.0.2.5:80": "exec_only_hosts",
	} {
		err := p.Check(t.Context(), term.Action{Verb: term.VerbForward, Protocol: "ssh", Host: "web1", To: to})
		if rule == "" {
			if err != nil {
				t.Errorf("a forward to %s = %v, want it allowed", to, err)
			}
			continue
		}
		if e := denied(t, err); !strings.Contains(term.FactOf[term.Denial](e).Rule, rule) || !strings.Contains(e.Msg, to) {
			t.Errorf("a forward to %s = %v, want a denial by %s", to, e, rule)
		}
	}
}
