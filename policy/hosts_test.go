package policy_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// planned returns a hop with its own name.
func planned(host string, addresses ...string) term.PlannedHop {
	return meant(host, host, addresses...)
}

// meant returns a hop with the alias of a host by the operator's configuration.
func meant(alias, host string, addresses ...string) term.PlannedHop {
	h := misled(alias, host, addresses...)
	h.Vouched = []string{alias, host}
	return h
}

// misled returns a hop with a host that only the caller has chosen.
func misled(alias, host string, addresses ...string) term.PlannedHop {
	h := term.PlannedHop{Alias: alias, Host: host, Port: 22, User: "u"}
	for _, a := range addresses {
		h.Addresses = append(h.Addresses, netip.MustParseAddr(a))
	}
	return h
}

// opens returns the verdict about a plan.
func opens(t *testing.T, p *policy.Policy, plan term.Plan) error {
	t.Helper()
	return p.Check(t.Context(), term.Action{Verb: term.VerbOpen, Target: &term.Target{Protocol: "ssh"}, Plan: &plan})
}

func TestHosts(t *testing.T) {
	p := gate(t, policy.Rules{
		Hosts: rules("hosts", "web*", "Core?", "10.0.0.*", "2001:db8::*"), DenyHosts: rules("deny_hosts", "web-secret"),
		ReadOnlyHosts: rules("read_only_hosts", "core?"), ExecOnlyHosts: rules("exec_only_hosts", "web9"),
	})
	for host, want := range map[string]string{
		"web1": "", "WEB1": "", "web1.": "", "10.0.0.7": "", "::ffff:10.0.0.7": "", "2001:DB8:0::7": "", "[2001:db8::7]": "",
		"db1": "open", "web-secret": "open", "WEB-Secret.": "open", "10.0.1.7": "open", "": "open", "10.0.0.evil.example": "open",
		"core1": "exec write signal file_write forward", "CORE1": "exec write signal file_write forward",
		"web9": "write file_write forward",
	} {
		if got := refusedVerbs(t, p, planned(host)); got != want {
			t.Errorf("on %q %q is refused, want %q", host, got, want)
		}
	}
	if err := p.Check(t.Context(), acts(planned("web1"))["new"]); err == nil {
		t.Error("a verb that nobody has decided about is allowed")
	}
	if e := denied(t, opens(t, p, term.Plan{Hops: []term.PlannedHop{planned("db1")}})); !strings.Contains(
		e.Msg,
		"web*, Core?",
	) ||
		len(term.FactOf[term.Denial](e).Allowed) != 4 {
		t.Errorf("denial = %v, want the allowed hosts in it", e)
	}
}

// TestWays checks that an allowed name means the right host, and that every
// host on the path is judged.
func TestWays(t *testing.T) {
	p := gate(t, policy.Rules{Hosts: rules("hosts", "web*", "127.0.0.1"), DenyHosts: rules("deny_hosts", "web6")})
	proxy := func(name string) *term.PlannedHop { h := planned(name); return &h }
	byHost := misled("x", "web1")
	byHost.Vouched = []string{"web1"}
	for name, tt := range map[string]struct {
		plan term.Plan
		ok   bool
	}{
		"plain":                      {term.Plan{Hops: []term.PlannedHop{planned("web1", "192.0.2.1")}}, true},
		"before it is looked up":     {term.Plan{Unresolved: true, Hops: []term.PlannedHop{planned("evil")}}, false},
		"alias":                      {term.Plan{Hops: []term.PlannedHop{meant("web1", "192.0.2.1")}}, true},
		"evaluated name":             {term.Plan{Hops: []term.PlannedHop{meant("x", "web1")}}, true},
		"HostName of the caller's":   {term.Plan{Hops: []term.PlannedHop{misled("web1", "evil")}}, false},
		"a caller's allowed name":    {term.Plan{Hops: []term.PlannedHop{byHost}}, true},
		"not the operator's meaning": {term.Plan{Hops: []term.PlannedHop{misled("web1", "web1")}}, false},
		"jump":                       {term.Plan{Hops: []term.PlannedHop{planned("web2"), planned("web3"), planned("web1")}}, true},
		"foreign jump":               {term.Plan{Hops: []term.PlannedHop{planned("web2"), planned("evil"), planned("web1")}}, false},
		"denied jump":                {term.Plan{Hops: []term.PlannedHop{planned("web6"), planned("web1")}}, false},
		"own proxy":                  {term.Plan{Proxy: proxy("web2"), Hops: []term.PlannedHop{planned("web1")}}, true},
		"foreign proxy":              {term.Plan{Proxy: proxy("evil"), Hops: []term.PlannedHop{planned("web1")}}, false},
		"old form of an address":     {term.Plan{Hops: []term.PlannedHop{planned("2130706433")}}, false},
	} {
		if err := opens(t, p, tt.plan); (err == nil) != tt.ok {
			t.Errorf("plan %s = %v, want the verdict of the table", name, err)
		}
	}
}

// TestDeniedSpellings checks that a denied host is denied in every form that
// some resolver accepts for it.
func TestDeniedSpellings(t *testing.T) {
	for rule, hosts := range map[string][]term.PlannedHop{
		"10.1.2.3": {
			planned("10.1.2.3"), planned("::ffff:10.1.2.3"), planned("::FFFF:0a01:0203"),
			planned("[::ffff:10.1.2.3]"), planned("10.1.2.3."), planned("10.1.515"), planned("10.66051"),
			planned("167838211"), planned("0xA010203"), planned("0xa.0x1.0x2.0x3"), planned("012.01.02.03"),
			planned("64:ff9b::a01:203"),
			planned("db", "10.1.2.3"), planned("db", "192.0.2.1", "::ffff:10.1.2.3"), meant("db", "10.1.2.3"),
		},
		"10.1.*":     {planned("10.1.9.9"), planned("10.1.2309"), planned("db", "10.1.0.1")},
		"127.0.0.1":  {planned("127.1"), planned("0"), planned("0.0.0.0"), planned("::"), planned("localhost"), planned("x.localhost."), planned("lo", "127.0.0.1")},
		"localhost":  {planned("127.0.0.1"), planned("127.8.8.8"), planned("::1"), planned("LOCALHOST."), planned("x", "::1"), planned("[::1]")},
		"fe80::1":    {planned("fe80::1%eth0"), planned("FE80:0:0::0001")},
		"prod":       {planned("PROD"), planned("prod."), meant("prod", "192.0.2.9"), meant("x", "prod"), misled("prod", "192.0.2.9")},
		"2001:db8:*": {planned("2001:0DB8::1")},
	} {
		p := gate(t, policy.Rules{DenyHosts: rules("deny_hosts", rule), ReadOnlyHosts: rules("read_only_hosts", rule)})
		for _, h := range hosts {
			if got := refusedVerbs(t, p, h); got != "open exec write signal file_write forward" {
				t.Errorf("%q: of %+v only %q is refused, want all", rule, h, got)
			}
		}
		for _, h := range []term.PlannedHop{
			planned("192.0.2.77"), planned("web", "192.0.2.77"), planned("10x.1.2.3"),
			planned("1.2.3.4.5"), planned("10.1.2.3.example.net"),
		} {
			if got := refusedVerbs(t, p, h); got != "" {
				t.Errorf("%q: of %+v %q is refused, want none", rule, h, got)
			}
		}
	}
}

// TestMeaning checks that a restricted name also applies to sessions that use
// the host's address or another name.
func TestMeaning(t *testing.T) {
	p := gate(t, policy.Rules{
		ReadOnlyHosts: rules("read_only_hosts", "core1", "nat*"), ExecOnlyHosts: rules("exec_only_hosts", "gate2"),
		Meaning: func(_ context.Context, name string) policy.Meaning {
			switch name {
			case "core1":
				return policy.Meaning{Host: "core1.example.net", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
			case "gate2":
				return policy.Meaning{Host: "192.0.2.5", Port: 2202}
			}
			t.Errorf("Meaning(%q) was called, want only restricted names", name)
			return policy.Meaning{Host: name}
		},
	})
	other := planned("192.0.2.5")
	other.Port = 2202
	for want, hops := range map[string][]term.PlannedHop{
		"core1": {planned("192.0.2.1"), planned("::ffff:192.0.2.1"), planned("www", "192.0.2.1"), planned("core1.example.net")},
		"gate2": {other},
		"":      {planned("192.0.2.5"), planned("192.0.2.2")},
	} {
		for _, h := range hops {
			ruling, err := p.Rule(
				t.Context(),
				term.Action{
					Verb:   term.VerbOpen,
					Target: &term.Target{Protocol: "telnet"},
					Plan:   &term.Plan{Hops: []term.PlannedHop{h}},
				},
			)
			if got := strings.Join(ruling.Grant.Names, " "); err != nil || got != want {
				t.Errorf("%s is known as %q, %v, want %q", h.Address(), got, err, want)
			}
		}
	}
	far := planned("192.0.2.1")
	far.Names = []string{"core1"}
	if err := p.Check(t.Context(), term.Action{
		Verb: term.VerbWrite, Protocol: "telnet", Host: "192.0.2.1", Far: &far,
		Data: []byte("reload\r"),
	}); err == nil {
		t.Error("a host that is only read is typed at, by its address")
	}
}

// TestCallerEnv checks that variables which a caller sends at login are judged
// like those of a command.
func TestCallerEnv(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "ls", "LANG=*")})
	for name, ok := range map[string]bool{"LANG": true, "LC_ALL": true, "LD_PRELOAD": false} {
		v := []term.EnvVar{{Name: name, Value: "C"}}
		if err := opens(t, p, term.Plan{Env: v, CallerEnv: v, Hops: []term.PlannedHop{planned("web1")}}); (err == nil) != ok {
			t.Errorf("plan %s = %v, want the verdict of the table", name, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	const mine = "SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"
	p := gate(t, policy.Rules{Credentials: []policy.Credential{
		{Source: "key:" + mine, Hosts: []string{"web*"}, Users: []string{"deploy", "ci-*"}, HostKey: "pinned", Name: "policy.credential"},
		{Source: "key:" + mine, Hosts: []string{"web1"}, HostKey: "recorded", Name: "policy.credential", Where: "f:9"},
		{Source: "password", Hosts: []string{"10.0.0.*"}, Name: "policy.credential"},
	}})
	grant := func(h term.PlannedHop, user string) term.CredentialGrant {
		h.User = user
		ruling, err := p.Rule(
			t.Context(),
			term.Action{
				Verb:   term.VerbOpen,
				Target: &term.Target{Protocol: "ssh"},
				Plan:   &term.Plan{Hops: []term.PlannedHop{planned("j"), h}},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if !ruling.Grant.Hop(0).Keys[mine].Never {
			t.Error("the jump host may be shown the key")
		}
		return ruling.Grant.Hop(1)
	}
	for name, tt := range map[string]struct {
		h     term.PlannedHop
		user  string
		key   term.CredentialCondition
		never bool
	}{
		"by the first":      {planned("web2"), "deploy", term.CredentialCondition{HostKey: "pinned"}, false},
		"a user's pattern":  {planned("web2"), "ci-7", term.CredentialCondition{HostKey: "pinned"}, false},
		"the weaker of two": {planned("web1"), "deploy", term.CredentialCondition{HostKey: term.HostKeyRecorded}, false},
		"any user":          {meant("x", "web1"), "root", term.CredentialCondition{HostKey: term.HostKeyRecorded}, false},
		"another user":      {planned("web2"), "root", term.CredentialCondition{}, true},
		"another case":      {planned("web2"), "Deploy", term.CredentialCondition{}, true},
		"another host":      {planned("db1"), "deploy", term.CredentialCondition{}, true},
		"misled":            {misled("web1", "evil"), "deploy", term.CredentialCondition{}, true},
	} {
		g := grant(tt.h, tt.user)
		if k := g.Keys[mine]; k.Never != tt.never || k.HostKey != tt.key.HostKey ||
			!strings.Contains(k.Rule, "policy.credential") {
			t.Errorf("%s: key allowed by %+v, want it denied", name, k)
		}
		if !g.Ruled || !g.KeepRecord || !g.Agent.Never || !g.OtherKeys.Never || !g.Password.Never || len(g.Keys) != 1 {
			t.Errorf("%s: grant = %+v, want all other credentials denied", name, g)
		}
	}
	if g := grant(planned("10.0.0.9"),
		"root"); g.Password != (term.CredentialCondition{Rule: `policy.credential "password at 10.0.0.*"`}) {
		t.Errorf("password allowed by %+v, want it denied", g.Password)
	}
	if g := grant(planned("web1"), "root"); !strings.HasSuffix(g.Keys[mine].Rule, "(f:9)") {
		t.Errorf("rule of the key = %q, want that of its entry", g.Keys[mine].Rule)
	}
	open := gate(t, policy.Rules{Protocols: rules("protocols", "ssh")})
	ruling, err := open.Rule(
		t.Context(),
		term.Action{
			Verb:   term.VerbOpen,
			Target: &term.Target{Protocol: "ssh"},
			Plan:   &term.Plan{Hops: []term.PlannedHop{planned("web1")}},
		},
	)
	if err != nil || ruling.Grant.Hop(0).Ruled {
		t.Errorf("grant without an entry = %+v, %v; want no rules for credentials", ruling.Grant, err)
	}
}
