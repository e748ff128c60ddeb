package ptyctl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The most that a reader is asked to keep in mind at once.
const (
	mostMethods = 45 // of a type
	mostFields  = 25 // of a struct
	mostFiles   = 40 // in a folder
)

// flat are the structs with more fields, and why: their fields do not depend on each other.
var flat = map[string]string{
	"audit.Entry":                   "a line of the audit log",
	"internal/lab.Result":           "the members of all results",
	"mcpapi/internal/mcptest.Reply": "the members of all results",
	"mcpapi/tools.ioArgs":           "the arguments of a tool, one line each",
	"mcpapi/tools.sessionArgs":      "the arguments of a tool, one line each",
	"mcpapi/tools.sessionOut":       "the members of a result, one line each",
	"mcpapi/wire.Details":           "the members of an error's details",
	"mcpapi/wire.SessionStatus":     "the members of a result, one line each",
	"sshx/sshconfig.Config":         "the keywords of ssh_config",
}

// TestSizes checks that no type and no folder grows too large to be read in one sitting.
func TestSizes(t *testing.T) {
	methods, fields, files := map[string]int{}, map[string]int{}, map[string]int{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name == "testdata" || name == "build" || len(name) > 1 && name[0] == '.' {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		files[folder]++
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(src, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[folder+"."+receiver(n.Recv.List[0].Type)]++
				}
				return false
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					fields[folder+"."+n.Name.Name] = s.Fields.NumFields()
				}
				return false
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, want at most %d: give a part of its state a type of its own", name, n, mostMethods)
		}
	}
	for name, n := range fields {
		if _, ok := flat[name]; ok != (n > mostFields) {
			t.Errorf("%s has %d fields, of at most %d: group fields that belong together, or change flat", name, n, mostFields)
		}
		delete(flat, name)
	}
	for name := range flat {
		t.Errorf("flat has %s, which is no struct", name)
	}
	for name, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d Go files, want at most %d", name, n, mostFiles)
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
