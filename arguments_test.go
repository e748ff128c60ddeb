package ptyctl_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryArgumentIsRead type-checks the packages of tools: each field of a struct of arguments must be read
// somewhere, or the tool would take an argument that does nothing.
func TestEveryArgumentIsRead(t *testing.T) {
	everyCall := readByEveryCall(t)
	for _, folder := range []string{"mcpapi/tools", "mcpapi/tools/files", "mcpapi/toolset/aiterm", "mcpapi/toolset/kpty", "mcpapi/toolset/pty"} {
		bound, unread := unreadArguments(t, folder, nil, everyCall)
		if bound == 0 {
			t.Errorf("%s binds no tool: this test looks in the wrong place", folder)
		}
		for _, name := range unread {
			t.Errorf("%s: no code reads the argument %s", folder, name)
		}
	}
}

// An argument that is only written, or only named in a literal, counts as unread.
func TestUnreadArgumentsAreFound(t *testing.T) {
	const source = `package p

import (
	"context"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
)

type base struct{ Shared string }

type inner struct{ Read, Unread string }

type args struct {
	base
	Read    string
	Written string
	Object  inner
	List    []item
	Same    converted
	TaskID  string ` + "`json:\"task_id,omitempty\"`" + `
}

type item struct{ InList string }

type converted struct{ ByAll string }

type other struct{ ByAll string }

var tool = toolset.Bind(schema.Tool{}, do)

func do(ctx context.Context, c *toolset.Call, in *args) (any, error) {
	in.Written = "x"
	_ = in.List
	_ = other(in.Same)
	_ = args{Written: in.Read + in.Object.Read}
	return nil, nil
}
`
	_, unread := unreadArguments(t, "mcpapi/tools", source, []string{"task_id"})
	if want := []string{"args.Written", "base.Shared", "inner.Unread", "item.InList"}; !slices.Equal(unread, want) {
		t.Errorf("unread are %q, want %q", unread, want)
	}
}

// unreadArguments returns how many tools a package binds, and the fields of their arguments that its code does not
// read, as "struct.Field". The names in everyCall are read elsewhere.
// If the source is not nil, it replaces the package's files.
func unreadArguments(t *testing.T, folder string, source any, everyCall []string) (bound int, unread []string) {
	t.Helper()
	set := token.NewFileSet()
	names := []string{"p.go"}
	if source == nil {
		var err error
		if names, err = filepath.Glob(filepath.Join(folder, "*.go")); err != nil {
			t.Fatal(err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{
		Uses: make(map[*ast.Ident]types.Object), Instances: make(map[*ast.Ident]types.Instance),
		Types: make(map[ast.Expr]types.TypeAndValue),
	}
	c := types.Config{Importer: importer.ForCompiler(set, "gc", exportData(t, folder))}
	pkg, err := c.Check("p", set, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[*types.Var]string)
	for id, of := range info.Instances {
		if f := info.Uses[id]; id.Name == "Bind" && f.Pkg().Name() == "toolset" {
			bound++
			addFields(fields, pkg, of.TypeArgs.At(0), everyCall)
		}
	}
	// A field that is assigned to, or is the key of a literal, is not read. A conversion reads all fields of a struct.
	written := make(map[*ast.Ident]bool)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if s, ok := left.(*ast.SelectorExpr); ok && n.Tok == token.ASSIGN {
						written[s.Sel] = true
					}
				}
			case *ast.CallExpr:
				if !info.Types[n.Fun].IsType() {
					break
				}
				if s, ok := info.TypeOf(n.Args[0]).Underlying().(*types.Struct); ok {
					for f := range s.Fields() {
						delete(fields, f)
					}
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok {
					written[id] = true
				}
			}
			return true
		})
	}
	for id, object := range info.Uses {
		if v, ok := object.(*types.Var); ok && !written[id] {
			delete(fields, v)
		}
	}
	return bound, slices.Sorted(maps.Values(fields))
}

// readByEveryCall returns the arguments that the server reads by their names for every tool that takes them.
func readByEveryCall(t *testing.T) (names []string) {
	t.Helper()
	byName := regexp.MustCompile(`\.Text\("([a-z_]+)"\)`)
	for _, file := range []string{"mcpapi/invocation.go", "mcpapi/toolset/call.go"} {
		for _, m := range byName.FindAllStringSubmatch(readText(t, file), -1) {
			names = append(names, m[1])
		}
	}
	if !slices.Contains(names, "task_id") {
		t.Fatalf("%q are read by their names, want task_id among them: this test looks in the wrong place", names)
	}
	return names
}

// addFields adds the fields of a struct of arguments and of its objects, if they are declared in pkg.
func addFields(fields map[*types.Var]string, pkg *types.Package, of types.Type, everyCall []string) {
	switch p := of.Underlying().(type) {
	case *types.Pointer:
		of = p.Elem()
	case *types.Slice:
		of = p.Elem()
	}
	named, ok := of.(*types.Named)
	if !ok || named.Obj().Pkg() != pkg {
		return
	}
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		name, _, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if !f.Embedded() && !slices.Contains(everyCall, name) {
			fields[f] = named.Obj().Name() + "." + f.Name()
		}
		addFields(fields, pkg, f.Type(), everyCall)
	}
}

// exportData opens the compiler's export data of a package that folder's package imports.
func exportData(t *testing.T, folder string) importer.Lookup {
	t.Helper()
	cmd := withoutCgo("list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", ".")
	cmd.Dir = folder
	list, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	at := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		at[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(at[path]) }
}
