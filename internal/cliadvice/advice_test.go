package cliadvice

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptyctl/term"
)

// unreachable are the reasons that no command of ptyctl can cause.
var unreachable = []term.Reason{
	term.ReasonNulByte,         // an argument of a program holds no NUL, and stdin goes in base64
	term.ReasonCanceledRunning, // exec stops its command
	term.ReasonNoFiles,         // the commands move files over SSH
	term.ReasonNoExec,          // a command names no exec of its own
	term.ReasonNoTask,          // attach names its task
	term.ReasonTaskOmitted,     //
	term.ReasonRunning,         // the session of exec has one command
	term.ReasonQueued,          //
	term.ReasonSteps,           //
	term.ReasonTransfer,        //
	term.ReasonNotFree,         //
	term.ReasonCustomMarker,    // no flag sets a marker
	term.ReasonCertificate,     // no command uses TLS
	term.ReasonNoTLS,           //
	term.ReasonOneProgram,      // no command opens a local session
	term.ReasonNoTerminal,      //
	term.ReasonNotLeft,         // a person adopts no session
	term.ReasonOwnerPresent,    //
	term.ReasonResumable,       //
	term.ReasonNoFleet,         // a command names no run over many hosts
	term.ReasonQuestionChanged, // no command types a secret
}

// reasons reads the constants of package term, so that a new one is not forgotten here.
func reasons(t *testing.T) []term.Reason {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../term/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []term.Reason
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if !ok || c.Type.(*ast.Ident).Name != "Reason" {
			return true
		}
		text, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatalf("%s: %v", c.Names[0].Name, err)
		}
		all = append(all, term.Reason(text))
		return false
	})
	return all
}

func TestEveryReasonHasAdvice(t *testing.T) {
	all := reasons(t)
	if len(all) < 20 {
		t.Fatalf("reason.go declares %d reasons, want at least 20", len(all))
	}
	for _, r := range all {
		if _, has := byReason[r]; has == slices.Contains(unreachable, r) {
			t.Errorf("the reason %q is in byReason: %v, and unreachable: %[2]v; want one of the two", r, has)
		}
	}
}

// factual is an error with advice in its message.
type factual struct{}

func (factual) Error() string { return "no key is on record: pin it" }

func (factual) Fact() string { return "no key is on record" }

func TestMessage(t *testing.T) {
	denied := term.Facts{term.Denial{Rule: `policy.deny "rm"`}}
	for _, tt := range []struct {
		name       string
		e          term.Error
		text, fact string
	}{
		{"nothing to add", term.Error{Msg: "a"}, "a", "a"},
		{"the kind alone", term.Error{Kind: term.Busy}, "BUSY", "BUSY"},
		{"advice in plain words", term.Error{Msg: "a", Advice: "b"}, "a; b", "a"},
		{
			"ours instead of Go's",
			term.Error{Msg: "a", Advice: "set Auth.Password", Reason: term.ReasonWrongPassword},
			"a; check the password, and the user name before the @ of USER@HOST", "a",
		},
		{"none instead of Go's", term.Error{Msg: "a", Advice: "call F", Reason: term.ReasonNulByte}, "a", "a"},
		{
			"a fact within",
			term.Error{
				Msg: "alice@web1:22: no key is on record: pin it", Err: factual{}, Reason: term.ReasonOpening,
				Facts: term.Facts{term.ConnectFailure{Hop: "alice@web1:22"}},
			},
			"alice@web1:22: no key is on record; wait until ptyctl sessions shows the session as open",
			"alice@web1:22: no key is on record",
		},
		{
			"a fact within, and no better advice",
			term.Error{Msg: "no key is on record: pin it", Err: factual{}},
			"no key is on record: pin it", "no key is on record",
		},
		{
			"a limit",
			term.Error{Msg: "a", Advice: "b", Facts: term.Facts{term.LimitReached{Limit: term.LimitSessions}}},
			"a (session.max_sessions); b", "a (session.max_sessions)",
		},
		{
			"a flag",
			term.Error{Msg: "policy lax is unknown", Facts: term.Facts{term.ArgumentFault{Field: term.FieldHostKeyPolicy}}},
			"policy lax is unknown (--host-key)", "policy lax is unknown (--host-key)",
		},
		{
			"a rule",
			term.Error{Kind: term.PolicyDenied, Msg: "a", Facts: denied},
			"a; ptyctl policy show says where each rule is", "a",
		},
		{"another error as the cause", term.Error{Msg: "a: b", Err: errors.New("b")}, "a: b", "a: b"},
	} {
		if got := Message(&tt.e); got != tt.text {
			t.Errorf("%s: Message = %q, want %q", tt.name, got, tt.text)
		}
		if got := Fact(&tt.e); got != tt.fact {
			t.Errorf("%s: Fact = %q, want %q", tt.name, got, tt.fact)
		}
	}
}

// A person at a shell has never heard of the tools.
func TestNoToolIsNamed(t *testing.T) {
	for r, text := range byReason {
		if strings.Contains(text, "ptyctl_") || strings.Contains(text, "task_id") {
			t.Errorf("the advice for %q names a tool or an argument of one: %q", r, text)
		}
	}
}
