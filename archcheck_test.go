package ptyctl_test

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestViolations(t *testing.T) {
	rules := []rule{
		{pkg: "leaf", why: "leaves stand alone"},
		{pkg: "mid", ours: []string{"leaf"}, theirs: []string{"example.org/wire"}},
		{pkg: "mid", file: "adapter.go", theirs: []string{"example.org/adapted"}},
		{pkg: "tree/...", ours: []string{"mid"}},
		{pkg: "cmd/top", anything: true},
	}
	one := func(folder, name string, imports ...string) goPackage {
		return goPackage{folder: folder, files: []goFile{{name: name, doc: true, imports: imports}}}
	}
	tests := []struct {
		name string
		pkg  goPackage
		want []string // a part of each violation, in order
	}{
		{"std", one("leaf", "a.go", "fmt", "net/http", "crypto/internal/fips140"), nil},
		{"allowed of ours", one("mid", "a.go", "m/leaf"), nil},
		{"allowed of theirs", one("mid", "a.go", "example.org/wire", "example.org/wire/v2/sub"), nil},
		{"top imports all", one("cmd/top", "main.go", "m/mid", "m/tree/x", "example.org/other"), nil},
		{"tree", one("tree/x/y", "a.go", "m/mid"), nil},
		{"file with its own rule", one("mid", "adapter.go", "example.org/adapted"), nil},

		{"upward", one("leaf", "a.go", "m/mid"), []string{`leaf/a.go imports "m/mid", which it may not (leaves stand alone); allowed besides std: nothing`}},
		{"below an allowed package", one("mid", "a.go", "m/leaf/sub"), []string{`"m/leaf/sub"`}},
		{"prefix of a name is no prefix of a path", one("mid", "a.go", "example.org/wiretap"), []string{`"example.org/wiretap"`}},
		{"own root is not std", one("leaf", "a.go", "m/fmt"), []string{`"m/fmt"`}},
		{"third party", one("leaf", "a.go", "golang.org/x/sys/unix"), []string{`"golang.org/x/sys/unix"`}},
		{"adapter's import elsewhere", one("mid", "a.go", "example.org/adapted"), []string{"mid/a.go imports"}},
		{"adapter has not the package's rights", one("mid", "adapter.go", "example.org/wire"), []string{"mid/adapter.go imports"}},
		{"tree does not hold its root", one("tree", "a.go"), []string{"package tree has no rule"}},
		{"no package may import integration", one("cmd/top", "main.go", "m/integration"), []string{"everything but integration and internal/lab"}},
		{"no package may import a package of integration", one("cmd/top", "main.go", "m/integration/ssh"), []string{"everything but integration"}},
		{"the lab is for tests", one("cmd/top", "main.go", "m/internal/lab"), []string{"everything but integration"}},
		{"cgo", one("cmd/top", "main.go", "C"), []string{"uses cgo"}},
		{"two at once", one("leaf", "a.go", "m/mid", "m/cmd/top"), []string{`"m/mid"`, `"m/cmd/top"`}},
		{"unknown package", one("util", "a.go"), []string{"package util has no rule"}},
		{"root package", one(".", "a.go"), []string{"package . has no rule"}},
		{"no package comment", goPackage{"leaf", []goFile{{name: "a.go"}}}, []string{"leaf has no package comment"}},
		{"two package comments", goPackage{"leaf", []goFile{{name: "a.go", doc: true}, {name: "doc.go", doc: true}}}, []string{"leaf has 2 package comments, in a.go, doc.go"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := violations(rules, "m", []goPackage{tt.pkg})
			if len(got) != len(tt.want) {
				t.Fatalf("got %d violations, want %d: %q", len(got), len(tt.want), got)
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("violation %q does not contain %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestInspect(t *testing.T) {
	tests := []struct {
		name, src string
		doc       bool
		imports   []string
	}{
		{"comment", "// Package a is a.\npackage a\nimport `fmt`", true, []string{"fmt"}},
		{"block comment", "/* Package a is a. */\npackage a", true, nil},
		{"detached comment", "// Copyright.\n\npackage a", false, nil},
		{"build tag alone", "//go:build linux\npackage a", false, nil},
		{"named and blank imports", "package a\nimport (\n\tx \"m/leaf\"\n\t_ \"C\"\n)", false, []string{"m/leaf", "C"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := parser.ParseFile(token.NewFileSet(), "a.go", tt.src, parser.ImportsOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			f := inspect(t, "a.go", src)
			if f.doc != tt.doc || !slices.Equal(f.imports, tt.imports) {
				t.Errorf("got doc %v, imports %q; want %v, %q", f.doc, f.imports, tt.doc, tt.imports)
			}
		})
	}
}
