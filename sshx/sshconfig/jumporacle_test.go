package sshconfig

import (
	"os/exec"
	"strings"
	"testing"
)

// clearer has the jumps with a single possible reading that ssh(1) refuses, or expands later.
var clearer = map[string]string{
	"ssh://[::1]:22/": "[::1]:22", "ssh://[::1]": "[::1]", "::1": "[::1]", "1::2:3": "[1::2:3]",
	`"a,b"`: "a,b", `"a",b`: "a,b", "'a,b'": "a,b", "h%n": "htarget",
}

// TestJumpOracle: a ProxyJump must lead to the same hosts here as in ssh(1), or be refused
// here. Jumps that ssh(1) refuses must be refused, except those in clearer.
func TestJumpOracle(t *testing.T) {
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatalf("%v; run scripts/install-test-deps", err)
	}
	for _, spec := range []string{
		"localhost,u=x@h:22", "u=x@h=z", "u=x@h", "a,u=x@b:2,c", "ssh://NAME/", "ssh://u@NAME:22/", "ssh://h:22", "ssh://h/path", "ssh://[::1]:22/", "ssh://[::1]", "SSH://h",
		"ssh://u;fingerprint=x@h", "ssh://u%40x@h", "ssh://u:p@h", "ssh://a@b@h", "u%40x@h", "a@b@c", "u:p@h", "h@ssh://x", "u@", "@h", ":22", "h:", "h:22/x", "h/", "h:022", "h:ssh", "h:0", "h:65536", "h:-1", "h:+22", "h: 22",
		"[::1]:22", "[::1]", "u@[::1]", "[h]:22", "[h]", "[::1", "::1]", "::1", "1::2:3", "fe80::1%eth0", "[fe80::1%lo]:22", "h.", "h..", "-h", "u@-h", "-u@h", "h;x", "h$x", "h'x", "h\\x", "h|x", "u;x@h", "u'x@h", "u$x@h",
		"a,,b", ",a", "a,", "a, b", "a ,b", "a b", "none", "NONE", "none,a", "a,none", "a,NONE", "ssh://", "ssh:///", "ssh://u@", "h:22:23", "[h]:22:23", "[[h]]", "[]", "[]:22", "\"a,b\"", "\"a\",b", "'a,b'", "a#b", "h%n", "%h",
	} {
		for _, form := range []string{"ProxyJump ", "ProxyJump=", "ProxyJump = "} {
			option := form + spec
			theirs, refused := jumpOf(t, ssh, option)
			parsed, err := ParseExtraArgs([]string{"-o", option})
			var cfg *Config
			if err == nil {
				cfg, err = Evaluate(t.Context(), Options{Host: "target", NoFiles: true, Overrides: parsed.Overrides})
			}
			if err != nil || len(cfg.Unsupported) > 0 {
				continue // refused here
			}
			var hops []string
			for _, j := range cfg.ProxyJump {
				hops = append(hops, j.String())
			}
			if ours := strings.Join(hops, ","); (refused || ours != theirs) && ours != clearer[spec] {
				t.Errorf("-o %q leads through %q, with ssh(1) through %q (refused: %v)", option, ours, theirs, refused)
			}
		}
	}
}

// jumpOf returns the jump that ssh -G prints for an option.
func jumpOf(t *testing.T, ssh, option string) (jump string, refused bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), ssh, "-F", "none", "-G", "-o", option, "target").Output()
	if err != nil {
		return "", true
	}
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "proxyjump "); ok {
			jump = value
		}
	}
	return jump, false
}
