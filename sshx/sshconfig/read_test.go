package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Relative Include paths must start in ~/.ssh, or next to the system's file.
func TestIncludeAnchors(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, o.HomeDir, ".ssh/config", "Include rel ~/tilde\n")
	write(t, o.HomeDir, ".ssh/rel", "User rel\n")
	write(t, o.HomeDir, "tilde", "Port 2200\n")
	dir := t.TempDir()
	o.SystemFile = write(t, dir, "ssh_config", "Include ssh_config.d/*.conf\nInclude ~/tilde\n")
	write(t, dir, "ssh_config.d/10.conf", "BatchMode yes\n")
	cfg := evaluate(t, o)
	if cfg.User != "rel" || cfg.Port != 2200 || !cfg.BatchMode {
		t.Errorf("User %q, Port %d, BatchMode %t", cfg.User, cfg.Port, cfg.BatchMode)
	}
	if w := warned(cfg, "cannot include from a home directory"); w == nil || w.Origin.Line != 2 {
		t.Errorf("warnings %v", cfg.Warnings)
	}
	if got := cfg.Origin("BatchMode"); got.Source != SystemFile || filepath.Base(got.File) != "10.conf" {
		t.Errorf("origin %+v", got)
	}

	// A caller's file uses the same folder as the user's.
	o.CallerFile = write(t, dir, "caller", "Include rel\n")
	if cfg := evaluate(t, o); cfg.User != "rel" || !cfg.Origin("User").Caller() {
		t.Errorf("User %q from %s", cfg.User, cfg.Origin("User"))
	}
}

func TestIncludeDepth(t *testing.T) {
	dir := t.TempDir()
	for i := 1; i <= 17; i++ {
		write(t, dir, fmt.Sprint(i), fmt.Sprintf("Include %s/%d\n", dir, i+1))
	}
	write(t, dir, "17", "User bob\n")
	o := options(t)
	o.UserFile = filepath.Join(dir, "1") // 17 is 16 levels below
	if cfg := evaluate(t, o); cfg.User != "bob" {
		t.Errorf("User = %q", cfg.User)
	}
	write(t, dir, "17", fmt.Sprintf("Include %s/18\n", dir))
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("error %v", err)
	}
}

// Evaluation must end soon for files that include each other many times.
func TestIncludeBomb(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "16", "User bob\n")
	for i := range 16 {
		line := fmt.Sprintf("Include %s/%d\n", dir, i+1)
		write(t, dir, fmt.Sprint(i), strings.Repeat(line, 10))
	}
	o := options(t)
	o.UserFile = filepath.Join(dir, "0")
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) ||
		!strings.Contains(err.Error(), "files are included") {
		t.Errorf("error %v", err)
	}
}

func TestUnusualFiles(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.UserFile = write(t, dir, "user", "User bob\n")

	o.CallerFile = os.DevNull
	if cfg := evaluate(t, o); cfg.User != "me" {
		t.Errorf("%s: User = %q", os.DevNull, cfg.User)
	}
	o.CallerFile = dir
	if cfg := evaluate(t, o); cfg.User != "me" {
		t.Errorf("a directory: User = %q", cfg.User)
	}
	var fileError *FileError
	o.CallerFile = write(t, dir, "large", strings.Repeat("# comment\n", maxBytes/10+1))
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("a large file: %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "user", "User bob\n")
	if _, err := Evaluate(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The limit must cover all files together, not each one.
func TestTotalSize(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, dir, fmt.Sprint(i), strings.Repeat("# comment\n", maxBytes/20))
	}
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", "Include "+dir+"/*\n")
	var fileError *FileError
	if _, err := Evaluate(t.Context(), o); !errors.As(err, &fileError) {
		t.Errorf("error %v", err)
	}
}

func TestMissingFiles(t *testing.T) {
	o := options(t)
	o.UserFile = filepath.Join(write(t, t.TempDir(), "file", ""), "below")
	o.SystemFile = write(t, t.TempDir(), "system", "Include "+o.UserFile+"\nUser bob\n")
	if cfg := evaluate(t, o); cfg.User != "bob" {
		t.Errorf("User = %q", cfg.User)
	}
}

// Both passes must see the same text of a file, and report each warning once.
func TestWarningsOnce(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "user", "Frob 1\nHost bar\nFrob 2\nMatch final\nFrob 3\n")
	cfg := evaluate(t, o)
	var lines []string
	for _, w := range cfg.Warnings {
		lines = append(lines, fmt.Sprint(w.Origin.Line, w.Applies))
	}
	if got := strings.Join(lines, ", "); got != "1 true, 3 false, 5 true" {
		t.Errorf("warnings at %s", got)
	}
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.conf", "a/2.conf", "a/.3.conf", "b/1.conf", "b/x", "[/y"} {
		write(t, dir, name, "")
	}
	for _, tt := range []struct {
		pattern string
		want    string
	}{
		{"a/*.conf", "a/1.conf a/2.conf"},
		{"*/1.conf", "a/1.conf b/1.conf"},
		{"?/[!1].conf", "a/2.conf"},
		{"a/.*", "a/.3.conf"},
		{"none/*", ""},
		{"*/x/y", ""},
		{"b/x", "b/x"},
		{"*/x", "b/x"},
	} {
		e := &evaluator{}
		got, err := e.glob(filepath.Join(dir, tt.pattern))
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		var names []string
		for _, path := range got {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(rel))
		}
		if s := strings.Join(names, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.pattern, s, tt.want)
		}
	}
	e := &evaluator{}
	if _, err := e.glob(dir + "/[a"); err == nil {
		t.Error("an unclosed bracket is accepted")
	}
	e.budget.entries = maxEntries
	if _, err := e.glob(dir + "/*"); err == nil {
		t.Error("the budget is not kept")
	}
}

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

// Variables finds the names in the operator's files, in blocks for any host and in included files.
func TestVariables(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, o.HomeDir, ".ssh/config", `SendEnv LANG LC_* -OLD
# SendEnv COMMENT
Host a
	IdentityFile ${KEYS}/id
	IdentityAgent $AGENT_OF_A
Match host b
	ProxyCommand connect "$VIA" %h$PORT_b.x
	Include more
Host c
	User literal
	Hostname cost$
`)
	write(t, o.HomeDir, ".ssh/more", "CertificateFile ${CERT_1}-cert.pub\n")
	got, err := Variables(t.Context(), o)
	want := []string{"AGENT_OF_A", "CERT_1", "KEYS", "LANG", "LC_*", "PORT_b", "VIA"}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("Variables = %v, %v, want %v", got, err, want)
	}
}
