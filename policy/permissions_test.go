package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/term"

	"ptyctl/policy"
)

// TestPermissions checks the meaning of rules from other terminal servers, and
// ways around them that are closed here.
func TestPermissions(t *testing.T) {
	tests := []struct {
		name, json, verdicts string
	}{
		{"all allowed", `{"bash": "allow"}`, "+ rm -rf /\n+ $x"},
		{"nothing said", `{}`, "+ rm -rf /"},
		{"all denied", `{"bash": "deny"}`, "- ls\n- npm test"},
		{"all asked", `{"bash": "ask"}`, "- ls"},
		{"example", `{"bash": {"npm *": "allow", "git push": "deny", "rm -rf *": "deny"}, "external_directory": "deny"}`, `
			+ npm
			+ npm test
			+ npm run dev -- --port 3000
			+ ls
			+ git status
			+ rm x
			+ rm -r -f x
			- git push
			- git push origin main
			- git --no-pager push
			- rm -rf /
			- rm -v -rf x
			- rm -rf
			- npm test && rm -rf /
			- sh -c 'git push'
			- echo $(git push)`},
		{"ask is deny", `{"bash": {"npm run dev": "allow", "npm test *": "allow", "terraform *": "ask"}}`, `
			+ npm run dev
			+ terraformer
			- terraform
			- terraform apply
			- sudo terraform apply`},
		{
			"the longest counts",
			`{"bash": {"*": "deny", "git *": "allow", "git push *": "deny", "git push --dry-run": "allow"}}`,
			`
			+ git status
			+ git push --dry-run
			+ git push --dry-run origin
			- git push
			- git push origin
			- ls
			- git status; ls
			- git $x`,
		},
		{"wildcards", `{"bash": {"*": "deny", "l?": "allow", "cat *.txt": "allow", "g*t": "allow"}}`, `
			+ ls
			+ ls -la x
			+ ll
			+ cat a.txt
			+ cat a b.txt c
			+ git
			+ gt x
			- lsof
			- l
			- cat a.md
			- cat`},
		{"across lines", `{"bash": {"echo *secret*": "deny"}}`, "- echo 'a␤secret␤b'\n+ echo 'a␤b'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			verdicts(t, gate(t, policy.Rules{Permissions: tt.json}), tt.verdicts)
		})
	}
}

func TestExternalDirectory(t *testing.T) {
	top := t.TempDir()
	own := filepath.Join(top, "own")
	if err := os.MkdirAll(filepath.Join(own, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, filepath.Join(own, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(own)
	for action, outside := range map[string]bool{"allow": true, "deny": false, "ask": false} {
		p := gate(t, policy.Rules{Permissions: `{"external_directory": "` + action + `"}`})
		for dir, ok := range map[string]bool{
			"": true, own: true, filepath.Join(own, "sub"): true, "sub": true,
			top: outside, own + "er": outside, filepath.Join(own, "link"): outside, filepath.Join(own, ".."): outside,
		} {
			if err := p.Check(t.Context(), localExec("ls", dir)); (err == nil) != ok {
				t.Errorf("external_directory %s, folder %q = %v, want the verdict of the action", action, dir, err)
			} else if err != nil && !strings.Contains(term.FactOf[term.Denial](denied(t, err)).Rule, "PTY_PERMISSIONS") {
				t.Errorf("external_directory %s, folder %q = %v, want the verdict of the action", action, dir, err)
			}
		}
	}
}

func TestWrongPermissions(t *testing.T) {
	for _, text := range []string{
		`{`, `[]`, `"deny"`, `{"bash": 1}`, `{"bash": {"ls": true}}`, `{"bash": "never"}`,
		`{"bash": {"ls": ""}}`, `{"bash": {" ": "deny"}}`, `{"external_directory": "no"}`,
	} {
		if _, err := policy.New(policy.Rules{Permissions: text}); err == nil ||
			!strings.Contains(err.Error(), "PTY_PERMISSIONS") {
			t.Errorf("parse %s = %v, want an error that names the variable", text, err)
		}
	}
}

// A caller with an environment of its own is judged in its own folder and PATH, not in those of this process.
func TestCallersEnvironment(t *testing.T) {
	top := t.TempDir()
	theirs, ours := filepath.Join(top, "theirs"), filepath.Join(top, "ours")
	for _, dir := range []string{theirs, ours} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Join(theirs, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Chdir(ours)
	ctx := term.WithEnvironment(t.Context(), term.NewEnvironment(theirs, []string{"PATH=" + theirs}))
	p := gate(t, policy.Rules{Permissions: `{"external_directory": "deny"}`})
	for dir, ok := range map[string]bool{"": true, theirs: true, ours: false, "../ours": false} {
		if err := p.Check(ctx, localExec("ls", dir)); (err == nil) != ok {
			t.Errorf("Check in %q for a caller in %s = %v, want allowed %t", dir, theirs, err, ok)
		}
	}
	p = gate(t, policy.Rules{Programs: rules("programs", theirs)})
	open := localOpen("tool", theirs, true)
	open.Argv = []string{"tool"}
	open.Target.Local.Argv = open.Argv
	if r, err := p.Rule(ctx, open); err != nil || r.Program != tool {
		t.Errorf("Rule(tool) for a caller whose PATH has it = %q, %v, want %s", r.Program, err, tool)
	}
	if r, err := p.Rule(t.Context(), open); err == nil {
		t.Errorf("Rule(tool) for a caller without an environment = %q, want it refused", r.Program)
	}
}
