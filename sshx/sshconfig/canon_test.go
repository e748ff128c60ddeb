package sshconfig

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCanonicalize(t *testing.T) {
	names := map[string]string{ // the name looked up, and the end of its CNAME chain
		"web.example.com.": "web.example.com.",
		"db.example.org.":  "db-1.example.org.",
		"fqdn.example.net": "real.example.net.",
		"anchored.":        "anchored.",
		"dotted.x.a.com.":  "dotted.x.a.com.",
	}
	for _, tt := range []struct {
		name, host, config string
		want               string // HostName
		lookups            string
		port               int
	}{
		{"off", "web", "CanonicalDomains example.com", "web", "", 22},
		{"found", "web", "CanonicalizeHostname yes\nCanonicalDomains example.com", "web.example.com", "web.example.com.", 22},
		{"second domain", "db", "CanonicalizeHostname yes\nCanonicalDomains example.com example.org", "db.example.org", "db.example.com. db.example.org.", 22},
		{"upper case", "WEB", "CanonicalizeHostname yes\nCanonicalDomains example.com", "web.example.com", "web.example.com.", 22},
		{"not found", "none", "CanonicalizeHostname yes\nCanonicalDomains example.com", "none", "none.example.com.", 22},
		{"too many dots", "dotted.x", "CanonicalizeHostname yes\nCanonicalizeMaxDots 0\nCanonicalDomains a.com", "dotted.x", "", 22},
		{"enough dots", "dotted.x", "CanonicalizeHostname yes\nCanonicalDomains a.com", "dotted.x.a.com", "dotted.x.a.com.", 22},
		{"anchored", "anchored.", "CanonicalizeHostname yes\nCanonicalDomains a.com", "anchored", "anchored.", 22},
		{"address", "10.0.0.1", "CanonicalizeHostname yes\nCanonicalDomains a.com", "10.0.0.1", "", 22},
		{"no domains", "web", "CanonicalizeHostname yes\nCanonicalDomains none", "web", "", 22},
		{"jump", "web", "CanonicalizeHostname yes\nProxyJump gw\nCanonicalDomains example.com", "web", "", 22},
		{"jump, always", "web", "CanonicalizeHostname always\nProxyJump gw\nCanonicalDomains example.com", "web.example.com", "web.example.com.", 22},
		{"jump none", "web", "CanonicalizeHostname yes\nProxyJump none\nCanonicalDomains example.com", "web.example.com", "web.example.com.", 22},
		{"HostName first", "x", "HostName web\nCanonicalizeHostname yes\nCanonicalDomains example.com", "web.example.com", "web.example.com.", 22},
		{"CNAME allowed", "db", "CanonicalizeHostname yes\nCanonicalDomains example.org\nCanonicalizePermittedCNAMEs *.example.org:*.example.org", "db-1.example.org", "db.example.org.", 22},
		{"CNAME not allowed", "db", "CanonicalizeHostname yes\nCanonicalDomains example.org\nCanonicalizePermittedCNAMEs *.example.org:*.example.com", "db.example.org", "db.example.org.", 22},
		{"CNAME star", "db", "CanonicalizeHostname yes\nCanonicalDomains example.org\nCanonicalizePermittedCNAMEs *", "db-1.example.org", "db.example.org.", 22},
		{"CNAME of a name with dots", "fqdn.example.net", "CanonicalizeHostname yes\nCanonicalizePermittedCNAMEs fqdn.*:real.*", "real.example.net", "fqdn.example.net", 22},
		{"second pass", "web", "CanonicalizeHostname yes\nCanonicalDomains example.com\nHost web.example.com\nPort 2222", "web.example.com", "web.example.com.", 2222},
		{"Match canonical", "web", "CanonicalizeHostname yes\nCanonicalDomains example.com\nMatch canonical host *.example.com\nPort 2222", "web.example.com", "web.example.com.", 2222},
		{"second pass even if not found", "none", "CanonicalizeHostname yes\nCanonicalDomains example.com\nMatch canonical all\nPort 2222", "none", "none.example.com.", 2222},
		{"HostName of the second pass is too late", "web", "CanonicalizeHostname yes\nCanonicalDomains example.com\nHost web.example.com\nHostName other", "web.example.com", "web.example.com.", 22},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			o.Host = tt.host
			o.UserFile = write(t, t.TempDir(), "config", tt.config)
			var lookups []string
			o.Resolve = func(_ context.Context, name string) (string, error) {
				lookups = append(lookups, name)
				if cname, ok := names[name]; ok {
					return cname, nil
				}
				return "", errors.New("no such host")
			}
			cfg := evaluate(t, o)
			if cfg.HostName != tt.want || cfg.Port != tt.port {
				t.Errorf("HostName %q, Port %d; want %q, %d", cfg.HostName, cfg.Port, tt.want, tt.port)
			}
			if got := strings.Join(lookups, " "); got != tt.lookups {
				t.Errorf("lookups %q, want %q", got, tt.lookups)
			}
			if len(cfg.Warnings)+len(cfg.Unsupported) != 0 {
				t.Errorf("messages %v %v", cfg.Warnings, cfg.Unsupported)
			}
		})
	}
}

func TestCanonicalizeWithoutFallback(t *testing.T) {
	o := options(t)
	o.UserFile = write(
		t,
		t.TempDir(),
		"config",
		"CanonicalizeHostname yes\nCanonicalDomains example.com\nCanonicalizeFallbackLocal no\n",
	)
	if cfg := evaluate(t, o); refused(cfg, "CanonicalizeFallbackLocal") == nil {
		t.Errorf("refusals %v", cfg.Unsupported)
	}
}

func TestAssemble(t *testing.T) {
	set := AlgorithmSet{Default: []string{"a", "b", "c"}, Supported: []string{"a", "b", "c", "old-1", "old-2"}}
	for _, tt := range []struct{ spec, want, unknown string }{
		{"", "a,b,c", ""},
		{"c,a", "c,a", ""},
		{"a,a", "a", ""},
		{"+old-1", "a,b,c,old-1", ""},
		{"+old-*", "a,b,c,old-1,old-2", ""},
		{"+a", "a,b,c", ""},
		{"-b", "a,c", ""},
		{"-*", "", ""},
		{"-x", "a,b,c", ""},
		{"^c", "c,a,b", ""},
		{"^old-2,b", "old-2,b,a,c", ""},
		{"old-?", "old-1,old-2", ""},
		{"x,a,y", "a", "x,y"},
		{"+x", "a,b,c", "x"},
		{"x", "", "x"},
		{"a,,b,", "a,b", ""},
	} {
		result, unknown := set.assemble(tt.spec)
		if got := strings.Join(result, ","); got != tt.want || strings.Join(unknown, ",") != tt.unknown {
			t.Errorf("%q: %q, unknown %q; want %q, %q", tt.spec, result, unknown, tt.want, tt.unknown)
		}
	}
	if result, unknown := (AlgorithmSet{}).assemble("+x,y"); !slices.Equal(result, []string{"x", "y"}) || unknown != nil {
		t.Errorf("zero set: %q, unknown %q", result, unknown)
	}
	if !slices.Equal(set.Default, []string{"a", "b", "c"}) {
		t.Errorf("the default was changed: %q", set.Default)
	}
}
