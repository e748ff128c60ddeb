package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// toolbox creates a folder with the programs tool and busybox, with its link
// applet, and a folder with other programs of the same names.
func toolbox(t *testing.T) (good, bad string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "bad"} {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"tool", "busybox", "sh"} {
			//nolint:gosec // it is a program
			if err := os.WriteFile(filepath.Join(dir, f), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("busybox", filepath.Join(dir, "applet")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("tool", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(top, "good"), filepath.Join(top, "bad")
}

// TestProgramVariables checks that no variable, in a call or a line, can choose
// another program if there are rules for programs.
func TestProgramVariables(t *testing.T) {
	good, bad := toolbox(t)
	t.Setenv("PATH", good)
	for name, p := range map[string]*policy.Policy{
		"programs":      gate(t, policy.Rules{Programs: rules("programs", good, "/usr/bin/env")}),
		"deny_programs": gate(t, policy.Rules{DenyPrograms: rules("deny_programs", filepath.Join(bad, "tool"))}),
	} {
		for _, v := range []struct {
			name, value string
			ok          bool
		}{
			{"PATH", bad + ":" + good, false},
			{"PATH", "", false},
			{"PATH", good, true}, // unchanged
			{"LD_PRELOAD", bad + "/x.so", false},
			{"LD_LIBRARY_PATH", bad, false},
			{"DYLD_INSERT_LIBRARIES", bad, false},
			{"BASH_ENV", bad + "/rc", false},
			{"ENV", bad + "/rc", false},
			{"PYTHONPATH", bad, false},
			{"HOME", bad, false},
			{"XDG_CONFIG_HOME", bad, false},
			{"GIT_EXTERNAL_DIFF", bad, false},
			{"OPENSSL_CONF", bad, false},
			{"LC_ALL", "C", true},
			{"GREETING", "hello", true},
		} {
			open := localOpen("tool", good, true)
			open.Env = []term.EnvVar{{Name: v.name, Value: v.value}}
			run := localOpen("tool", good, false)
			run.Env = open.Env
			exec := localExec("tool", good)
			exec.Env = open.Env
			line := localExec(v.name+"='"+v.value+"' tool", good)
			export := localExec("export "+v.name+"='"+v.value+"'; tool", good)
			actions := []term.Action{open, run, exec, line}
			if name == "deny_programs" || !v.ok { // if programs need permission, export never is allowed
				actions = append(actions, export)
			}
			for _, a := range actions {
				if err := p.Check(t.Context(), a); (err == nil) != v.ok {
					t.Errorf("%s: Check(%s %q with %v) = %v, want allowed %t", name, a.Verb, a.Command, a.Env, err, v.ok)
				}
			}
			far := sshExec("tool")
			far.Env = open.Env
			if err := p.Check(t.Context(), far); err != nil {
				t.Errorf("%s: Check on another machine with %v = %v, want nil", name, far.Env, err)
			}
		}
	}
}

// TestProgramOfALine checks the ways in which a line can give the name of an
// allowed program another meaning.
func TestProgramOfALine(t *testing.T) {
	good, bad := toolbox(t)
	t.Setenv("PATH", good)
	p := gate(t, policy.Rules{Programs: rules("programs", good, "/usr/bin/env")})
	for line, ok := range map[string]bool{
		"./tool": true, "tool && applet": true, "cd / && tool": true,
		"cd " + bad + " && ./tool": false, "./tool; cd " + bad + "; ./tool": false, "/usr/bin/env -C " + bad + " ./tool": false,
		"exec -a sh applet": false, "/usr/bin/env --argv0=sh applet": false, "/usr/bin/env -a sh applet": false,
		"PATH+=:" + bad + " tool": false, "unset PATH; tool": false, "read PATH; tool": false, "for PATH in " + bad + "; do tool; done": false,
		"printf -v PATH " + bad + "; tool": false, ": ${PATH:=" + bad + "}; tool": false, "declare -x PATH=" + bad + "; tool": false,
		"/usr/bin/env PATH=" + bad + " tool": false, "/usr/bin/env LD_PRELOAD=x tool": false, "sh -c 'PATH=" + bad + " tool'": false,
		"ARGV0=sh applet": false, "alias tool=" + bad + "/tool": false,
	} {
		if err := p.Check(t.Context(), localExec(line, good)); (err == nil) != ok {
			t.Errorf("Check(%q) = %v, want allowed %t", line, err, ok)
		}
	}
}

// TestRulingNamesTheProgram checks that a session gets the path of the judged
// file: the target of links, or the link itself for programs that behave
// according to their names.
func TestRulingNamesTheProgram(t *testing.T) {
	good, bad := toolbox(t)
	t.Setenv("PATH", good)
	t.Chdir(good)
	p := gate(t, policy.Rules{Programs: rules("programs", good)})
	for _, c := range []struct {
		argv0, dir string
		want       string // in good; empty: denied
	}{
		{"tool", "", "tool"},
		{"tool", bad, "tool"},
		{"link", "/", "tool"},
		{"applet", "", "applet"},
		{"busybox", "", "busybox"},
		{"./link", good, "tool"},
		{"./link", "", "tool"},
		{filepath.Join(good, "applet"), "", "applet"},
		{good + "/../good/link", "", "tool"},
		{"./link", bad, ""},
		{filepath.Join(bad, "tool"), "", ""},
		{"nowhere", "", ""},
		{"export", "", ""},
	} {
		a := localOpen(c.argv0, c.dir, false)
		a.Target.Local.Argv = []string{c.argv0}
		ruling, err := p.Rule(t.Context(), a)
		want := ""
		if c.want != "" {
			want = filepath.Join(good, c.want)
		}
		if (err == nil) != (want != "") || ruling.Program != want {
			t.Errorf("Rule(open %q in %q) = %q, %v, want %q", c.argv0, c.dir, ruling.Program, err, want)
		}
	}
	other := gate(t, policy.Rules{Deny: rules("deny", "rm *")})
	a := localOpen("tool", "", false)
	a.Target.Local.Argv = []string{"tool"}
	if ruling, err := other.Rule(t.Context(), a); err != nil || ruling.Program != "" {
		t.Errorf("Rule without rules for programs = %+v, %v, want none", ruling, err)
	}
}
