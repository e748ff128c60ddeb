//go:build unix

package ptyx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// TestJudgedProgram checks that the file chosen by rules is started, even if
// argv[0] would now find another: with a terminal, without one, and through the
// shim.
func TestJudgedProgram(t *testing.T) {
	dir := t.TempDir()
	for name, says := range map[string]string{"good/tool": "good", "bad/tool": "bad"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	o := term.LocalOptions{
		Argv: []string{"tool"}, Program: filepath.Join(dir, "good/tool"),
		Env: []term.EnvVar{{Name: "PATH", Value: filepath.Join(dir, "bad") + ":/usr/bin:/bin"}},
	}
	limited := o
	limited.Limits.OpenFiles = 64
	for name, o := range map[string]term.LocalOptions{"plain": o, "limits": limited} {
		if out, _, e := run(t, ptyx.Host{}, job{LocalOptions: o}); out != "good\n" || e.Code != 0 {
			t.Errorf("%s: the program says %q, exit %+v, want good", name, out, e)
		}
	}
	o.Argv, o.Program = []string{"called", "-c", "echo $0; tr '\\0' ' ' <\"/proc/$$/cmdline\""}, "/bin/sh"
	if out, _, _ := run(t, ptyx.Host{}, job{LocalOptions: o}); !strings.HasPrefix(out, "called\n") {
		t.Errorf("argv[0] is shown as %q, want called", out)
	}
	for _, program := range []string{"good/tool", filepath.Join(dir, "nowhere"), dir} {
		o.Program = program
		if _, _, _, err := tryRun(t.Context(), ptyx.Host{}, job{LocalOptions: o}); term.KindOf(err) != term.InvalidArgument {
			t.Errorf("Program %q: %v, want %s", program, err, term.InvalidArgument)
		}
	}
}
