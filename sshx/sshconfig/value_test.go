package sshconfig

import (
	"strings"
	"testing"
)

// Each of these lines must leave the default of its keyword and give a warning.
func TestBadValues(t *testing.T) {
	long := strings.Repeat("x ", 40)
	for _, line := range []string{
		"NumberOfPasswordPrompts -1", "NumberOfPasswordPrompts x", "NumberOfPasswordPrompts", "NumberOfPasswordPrompts 1 2",
		"NumberOfPasswordPrompts 2147483648", "ConnectTimeout", "ConnectTimeout 1 2", "ConnectTimeout 99999999999",
		"RekeyLimit", "RekeyLimit 1G 1h x", "RekeyLimit x", "RekeyLimit 1G x", `RekeyLimit ""`,
		"AddKeysToAgent", "AddKeysToAgent maybe", "AddKeysToAgent confirm x", "AddKeysToAgent 5m 5m",
		"UserKnownHostsFile", `UserKnownHostsFile ""`, "UserKnownHostsFile " + long, "GlobalKnownHostsFile a none",
		"CanonicalDomains", "CanonicalDomains a..b", "CanonicalDomains a/b", "CanonicalDomains .", "CanonicalDomains " + long,
		"CanonicalizePermittedCNAMEs a", "CanonicalizePermittedCNAMEs a:", "CanonicalizePermittedCNAMEs",
		"SendEnv", `SendEnv ""`, "SetEnv", "SetEnv =x",
		"Ciphers", "Ciphers a b", "Ciphers +-a", "Ciphers " + strings.Repeat("a,", 300),
		"LocalForward", "LocalForward 1 a:1 b:2", "DynamicForward 1 2", "RemoteForward",
		"AddressFamily ipv4", "RequestTTY maybe", "PubkeyAuthentication perhaps", "ForwardAgent", "ForwardAgent a b",
		"VersionAddendum a\x01b", "KnownHostsCommand", "IdentityFile", "IdentityFile a b",
	} {
		o := options(t)
		o.UserFile = write(t, t.TempDir(), "config", line+"\n")
		cfg := evaluate(t, o)
		keyword, _, _ := strings.Cut(line, " ")
		if len(cfg.Warnings) != 1 || cfg.Warnings[0].Origin.Line != 1 || !cfg.Warnings[0].Applies ||
			len(cfg.Unsupported) != 0 {
			t.Errorf("%.40s: warnings %v, refusals %v", line, cfg.Warnings, cfg.Unsupported)
		}
		if cfg.Origin(keyword).Source != Default {
			t.Errorf("%.40s: it was set", line)
		}
	}
}

// For the keywords that fail closed, each of these lines must refuse this host only.
func TestBadStrictValues(t *testing.T) {
	for _, line := range []string{
		"HostName", "HostName a b", `HostName "a`, "Port", "Port x", "Port -1", "Port 99999", "User", "ProxyJump", `ProxyJump "a`,
		`ProxyJump "a" b`, "ProxyJump a b", "ProxyCommand", "ProxyCommand 'a", "StrictHostKeyChecking", "StrictHostKeyChecking maybe",
		"RevokedHostKeys", `RevokedHostKeys "a`, "HostKeyAlias a b", "CanonicalizeHostname maybe", "RemoteCommand", "RemoteCommand \"a",
	} {
		keyword, _, _ := strings.Cut(line, " ")
		o := options(t)
		o.UserFile = write(t, t.TempDir(), "config", "Host foo\n"+line+"\n")
		if cfg := evaluate(t, o); len(cfg.Unsupported) != 1 || cfg.Unsupported[0].Keyword != keyword ||
			cfg.Unsupported[0].Origin.Line != 2 {
			t.Errorf("%s: refusals %v, warnings %v", line, cfg.Unsupported, cfg.Warnings)
		}
		o.Host = "bar"
		if cfg := evaluate(t, o); len(cfg.Unsupported) != 0 || len(cfg.Warnings) != 1 || cfg.Warnings[0].Applies {
			t.Errorf("%s: for another host: refusals %v, warnings %v", line, cfg.Unsupported, cfg.Warnings)
		}
	}
}

// Every limit on repeated lines must hold and be reported.
func TestManyLines(t *testing.T) {
	var text strings.Builder
	for i := range 2 * maxValues {
		text.WriteString("IdentityFile /k/" + strings.Repeat("x", i) + "\n")
	}
	text.WriteString(strings.Repeat("SendEnv A\nSetEnv B=1\nRefuseConnection no\n", 200))
	for i := range 2 * maxWarnings {
		text.WriteString("Frob" + strings.Repeat("x", i%50) + " 1\n")
	}
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", text.String())
	cfg := evaluate(t, o)
	if len(cfg.IdentityFiles) != maxValues || len(cfg.SendEnv) != 1 || len(cfg.SetEnv) != 1 {
		t.Errorf("%d identities, %d SendEnv, %d SetEnv", len(cfg.IdentityFiles), len(cfg.SendEnv), len(cfg.SetEnv))
	}
	if len(cfg.Warnings) != maxWarnings || len(cfg.Unsupported) != maxRefusals {
		t.Errorf("%d warnings, %d refusals", len(cfg.Warnings), len(cfg.Unsupported))
	}
	if warned(cfg, "more than 100 values") == nil {
		t.Errorf("the dropped identities are not mentioned")
	}
}

func TestSystemResolve(t *testing.T) {
	if cname, err := systemResolve(t.Context(), "127.0.0.1"); err != nil || cname == "" {
		t.Errorf("127.0.0.1: %q, %v", cname, err)
	}
	if cname, err := systemResolve(t.Context(), "bad..name"); err == nil {
		t.Errorf("a name that cannot exist is %q", cname)
	}
}
