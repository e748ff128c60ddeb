package ptyctl_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library has the packages that other programs start from.
var library = []string{
	"mcpapi", "mcpapi/httpserve", "mcpapi/schema", "mcpapi/stdio", "mcpapi/toolset", "ptyx", "quote", "record", "screen", "serial", "session",
	"sshx", "telnet", "telnet/gotelnet", "term", "vt",
}

// TestAPI compares the exported API of the library with docs/api, so that a review shows each change of it.
//
//	go test . -update
//
// writes the files again. Each declaration is there once, without its comment, and in the order of go doc.
func TestAPI(t *testing.T) {
	for _, folder := range library {
		got := exported(t, folder)
		file := filepath.Join("docs", "api", strings.ReplaceAll(folder, "/", "-")+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what package %s exports (%v): run go test . -update, and look at its difference", file, folder, err)
		}
	}
}

// exported returns the declarations that a package exports on Linux.
func exported(t *testing.T, folder string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no Go file (%v)", folder, err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || elsewhere(name) {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(fset, files, "ptyctl/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	show := func(decl ast.Node) {
		if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, fset, bare(decl)); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			show(v.Decl)
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			show(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		show(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return b.Bytes()
}

// TestForeignTypes checks which other modules have types in the exported API of the library, besides Go and this one.
func TestForeignTypes(t *testing.T) {
	want := map[string][]string{
		"record": {"filippo.io/age"}, // the recipients of a recording
		"sshx":   {"golang.org/x/crypto/ssh", "golang.org/x/crypto/ssh/agent"},

		"telnet/gotelnet": {"github.com/reiver/go-telnet"}, // the package that it adapts to
	}
	module := strings.Fields(readText(t, "go.mod"))[1]
	for _, folder := range library {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+string(exported(t, folder)), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		paths := imports(t, folder)
		var got []string
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				x, ok := sel.X.(*ast.Ident)
				switch {
				case !ok:
				case paths[x.Name] == "":
					t.Errorf("package %s: no file imports %s by that name", folder, x.Name)
				case strings.HasPrefix(paths[x.Name], module+"/"):
				case strings.Contains(strings.Split(paths[x.Name], "/")[0], "."):
					got = append(got, paths[x.Name])
				}
			}
			return true
		})
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want[folder]) {
			t.Errorf("package %s exports types of %q, want %q", folder, got, want[folder])
		}
	}
}

// imports returns the imports of a package's files, by the last element of the path or the name that a file gives it.
func imports(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	paths := make(map[string]string)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			short := path[strings.LastIndexByte(path, '/')+1:]
			if i.Name != nil {
				short = i.Name.Name
			}
			paths[short] = path
		}
	}
	return paths
}

// elsewhere reports whether the name of a file says that it is not for Linux.
func elsewhere(name string) bool {
	return slices.ContainsFunc([]string{"_windows.go", "_darwin.go", "_freebsd.go", "_bsd.go", "_other.go"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

// bare removes the comments of a declaration.
func bare(decl ast.Node) ast.Node {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	return decl
}

// TestImporters checks which modules of others an importer of the library compiles on Linux.
func TestImporters(t *testing.T) {
	widths := []string{"github.com/clipperhouse/displaywidth", "github.com/clipperhouse/uax29/v2"}
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.TrimSpace(string(out))
	for folder, want := range map[string][]string{
		"session": widths, "screen": widths, "telnet": nil, "term": nil, "vt": nil,
		"ptyx": {"github.com/landlock-lsm/go-landlock", "golang.org/x/sys", "kernel.org/pub/linux/libs/security/libcap/psx"},
		"sshx": {"golang.org/x/crypto", "golang.org/x/net", "golang.org/x/sys"},
	} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+folder)
		cmd.Env = append(os.Environ(), "GOOS=linux")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Compact(slices.Sorted(strings.Lines(string(out))))
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		got = slices.DeleteFunc(got, func(m string) bool { return m == "" || m == ours })
		if !slices.Equal(got, want) {
			t.Errorf("an importer of %s compiles %q, want %q", folder, got, want)
		}
	}
}
