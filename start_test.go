package ptyctl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programFiles returns the Go files of this module that are linked into ptyctl.
func programFiles(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{$dir := .Dir}}{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$dir}}/{{.}}\n{{end}}{{end}}{{end}}", "./cmd/ptyctl")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// TestExpressionsAreLazy checks that no package of the program compiles regular expressions for its variables: that
// would be done at each start, which uses few of them.
func TestExpressionsAreLazy(t *testing.T) {
	fset := token.NewFileSet()
	for _, path := range programFiles(t) {
		src, err := parser.ParseFile(fset, filepath.FromSlash(path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range src.Decls {
			if _, ok := decl.(*ast.FuncDecl); ok {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if ok && call.Sel.Name == "MustCompile" {
					t.Errorf("%s: use lazyregexp.New, which compiles at the first use", fset.Position(call.Pos()))
				}
				_, later := n.(*ast.FuncLit) // runs when it is called
				return !later
			})
		}
	}
}

// TestUnusedMethodsAreDropped checks that nothing in the program calls a method by a name that is only known when it
// runs, as text/template does. The linker would have to keep every exported method of every type, which were 3 MB of 30.
func TestUnusedMethodsAreDropped(t *testing.T) {
	built, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(built.symbols, " main.main\n") {
		t.Fatal("the program has no symbols")
	}
	const unused = "reflect.(*Value).MethodByName" // a Value is no pointer where a program has one
	if strings.Contains(built.symbols, " "+unused+"\n") {
		t.Errorf("%s is in the program: something linked calls methods by name; go build -ldflags=-dumpdep shows it as <ReflectMethod>", unused)
	}
}
