package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A test that calls a function that its platform lacks does not compile there, and there alone.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod":       "module example\n\ngo 1.26\n\nrequire other v0.0.0\n\nreplace other => ./other\n",
		"a.go":         "package a\n\nfunc hidden() int { return 1 }\n",
		"a_test.go":    "package a\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestA(*testing.T) { syscall.Mkfifo(\"a\", uint32(hidden())) }\n",
		"b/b.go":       "package b\n\nimport _ \"example\"\n",
		"c/c_unix.go":  "//go:build unix\n\npackage c\n\nvar _ int = \"text\"\n",
		"c/c.go":       "package c\n",
		"d/d.go":       "package d\n\nimport _ \"other\"\n",
		"other/go.mod": "module other\n\ngo 1.26\n",
		"other/o.go":   "package other\n\nfunc f() { println(1 << 40) }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ platform, packages, want string }{
		{"windows/amd64", ".", "undefined: syscall.Mkfifo"},
		{"darwin/arm64", ".", ""},
		{"freebsd/amd64", "./c", "cannot use"},
		{"windows/amd64", "./c", ""},
		{"windows/amd64", "./b", ""}, // its imports are checked without their tests
		{"darwin/arm64", "./missing", "missing"},
		{"linux/arm", "./d", "overflows"}, // in a package of another module
		{"linux/arm64", "./d", ""},
	} {
		faults := check(tt.platform, []string{tt.packages})
		if tt.want == "" && len(faults) > 0 || tt.want != "" && (len(faults) == 0 || !strings.Contains(faults[0].Error(), tt.want)) {
			t.Errorf("%s on %s: %v, want %q", tt.packages, tt.platform, faults, tt.want)
		}
	}
}
