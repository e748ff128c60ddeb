package aiterm

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"ptyctl/term"
)

// kinds returns every constant of type Kind in package term.
func kinds(tb testing.TB) (values []term.Kind) {
	tb.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../term/error.go", nil, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Kind" {
				values = append(values, term.Kind(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)))
			}
		}
	}
	return values
}

// Every kind of error has a code, every code is one that the service had, and no advice names other tools.
func TestEveryKindHasACode(t *testing.T) {
	all := kinds(t)
	if len(all) < 21 {
		t.Fatalf("only %d kinds were found: %v", len(all), all)
	}
	known := map[Code]bool{
		ETimeout:       true,
		ECanceled:      true,
		ERLimit:        true,
		EDenied:        true,
		EBadArgs:       true,
		EIO:            true,
		ENotFound:      true,
		ESessionClosed: true,
	}
	used := map[Code]bool{}
	for _, k := range all {
		if !known[codes[k]] {
			t.Errorf("%s has the code %q", k, codes[k])
		}
		used[codes[k]] = true
		f := newFailure(&term.Error{Kind: k, Session: "sh-1", Err: errors.New("the reason")})
		if f.Message == "" || f.Code != codes[k] || f.CorrelationID == "" || strings.Contains(f.Message, "ptyctl_") {
			t.Errorf("%s: %+v", k, f)
		}
		if k == term.Internal && strings.Contains(f.Message, "the reason") {
			t.Errorf("the cause of a fault is told: %+v", f)
		}
	}
	if len(codes) != len(all) || len(used) != len(known) {
		t.Errorf("%d kinds have a code, of %d; %d codes are used, of %d", len(codes), len(all), len(used), len(known))
	}
	if f := newFailure(errors.New("the reason")); f.Code != EIO || strings.Contains(f.Message, "reason") {
		t.Errorf("an error without a kind: %+v", f)
	}
}
