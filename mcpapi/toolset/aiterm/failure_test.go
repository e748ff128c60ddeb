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

// kinds returns every constant of type Kind in package term, from its source.
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

// Every kind has a code of the service, and no message names other tools.
func TestEveryKindHasACode(t *testing.T) {
	all := kinds(t)
	if len(all) < 21 {
		t.Fatalf("found %d kinds, want at least 21: %v", len(all), all)
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
			t.Errorf("code of %s = %q, want one of the service", k, codes[k])
		}
		used[codes[k]] = true
		f := newFailure(&term.Error{Kind: k, Session: "sh-1", Err: errors.New("the reason")})
		if f.Message == "" || f.Code != codes[k] || f.CorrelationID == "" || strings.Contains(f.Message, "ptyctl_") {
			t.Errorf("failure for %s = %+v, want a message, code %s and an id", k, f, codes[k])
		}
		if k == term.Internal && strings.Contains(f.Message, "the reason") {
			t.Errorf("failure for %s = %+v, want no cause in it", k, f)
		}
	}
	if len(codes) != len(all) || len(used) != len(known) {
		t.Errorf("%d kinds have a code, want %d; %d codes are used, want %d", len(codes), len(all), len(used), len(known))
	}
	if f := newFailure(errors.New("the reason")); f.Code != EIO || strings.Contains(f.Message, "reason") {
		t.Errorf("failure for an error without a kind = %+v, want %s without the cause", f, EIO)
	}
}
