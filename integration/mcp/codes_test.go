package mcp

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/stdio"
	"ptyctl/session"
	"ptyctl/term"
)

// TestEveryErrorCode has each code, with all that an error may tell, pass through the TypeScript client, which holds
// results against the tools' output schemas, failures too, and throws where they do not fit: then no model sees them.
func TestEveryErrorCode(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := startTypescript(t, []string{lab.FixtureVariable + "=codes"}, "stdio", program)
	codes := errorCodes(t)
	if len(codes) < 20 {
		t.Fatalf("found only the codes %v", codes)
	}
	for _, code := range codes {
		r := c.Refused(t, code, lab.ToolSession, `{"action":"open","protocol":"ssh","host":%s}`, code)
		if r.Retryable != term.Kind(code).Retryable() || len(r.Details.Ladder) != 1 || len(r.Details.Recorded) != 1 {
			t.Errorf("%s: %s", code, r.Text)
		}
	}
	// The other tools have the same errors and schemas of their own.
	for tool, arguments := range map[string]string{
		lab.ToolExec:   `{"session_id":"none","cmd":"id"}`,
		lab.ToolIO:     `{"action":"read","session_id":"none"}`,
		lab.ToolConfig: `{"action":"get","session_id":"none"}`,
	} {
		c.Refused(t, "NOT_FOUND", tool, arguments)
		c.Refused(t, "INVALID_ARGUMENT", tool, `{"no_such_field":1}`)
	}
}

// errorCodes are all kinds of failure that package term declares.
func errorCodes(t *testing.T) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "term", "error.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Kind" {
			return true
		}
		for _, v := range spec.Values {
			code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	return codes
}

// serveCodes is ptyctl's server with a protocol of its own, which only fails.
func serveCodes() error {
	m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"ssh": failToOpen}})
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: m, Results: identity.Full})
	return stdio.Serve(context.Background(), srv, os.Stdin, os.Stdout, stdio.Options{})
}

// failToOpen fails with the kind that the host is named after, and with every detail that an error may have.
func failToOpen(_ context.Context, target term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
	return nil, &term.Error{
		Op: "open", Kind: term.Kind(target.Host),
		Msg: "the fixture fails; <nothing> & \"nobody\" can help it: \u00e9\u65e5\U0001f600",
		Facts: term.Facts{
			term.ArgumentFault{Field: "host", Allowed: []string{"a", "b"}, Example: `{"action":"list"}`, Position: "7"},
			term.LockConflict{Holder: "task", Expires: time.UnixMilli(1 << 41)},
			term.TakenOver{By: "other", Typed: 4},
			term.PartialWrite{Written: 3},
			term.DeviceOwner{PID: 1, Socket: "/run/x.sock", SessionID: "tty-1", Since: time.UnixMilli(1 << 41)},
			term.ConnectFailure{
				Ladder: []term.Hop{{
					Host: "h", Port: 22, User: "u", Address: "127.0.0.1:22",
					Steps: []term.Step{{Name: "dns", OK: true, DurationMS: 1}, {Name: "tcp", Detail: "refused"}},
				}},
				Hop:          "u@h:22",
				MethodsTried: []string{"publickey"}, MethodsAllowed: []string{"password"}, KeysOffered: []string{"SHA256:x"},
				ServerMessage: "go away", ServerOffers: []string{"ssh-rsa"}, Warnings: []string{"w"},
			},
			term.HostKeyFailure{
				Type: "ssh-ed25519", Fingerprint: "SHA256:y", KnownHosts: []string{"f"},
				Recorded: []term.KnownKey{{File: "f", Line: 1, Type: "ssh-rsa", Fingerprint: "SHA256:z"}},
			},
			term.LimitReached{Limit: term.LimitSessions, Value: 1 << 52},
			term.Denial{Rule: "no"},
			term.Prompt{Kind: "password", Text: "Password: "},
			term.Occupied{Waiting: &term.Waiting{Kind: "password"}},
			term.Ended{Reason: "closed", Code: "closed"},
		},
	}
}
