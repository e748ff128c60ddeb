package ptyctl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/pelletier/go-toml/v2"

	"ptyctl/config"
	"ptyctl/mcpapi"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/term"
)

// TestDocs keeps the parts of the documentation that follow from the code equal to it. A part stands between the
// lines <!-- name --> and <!-- /name -->; go test . -update writes it anew.
func TestDocs(t *testing.T) {
	tests := []struct {
		file, part string
		want       func(t *testing.T) string
	}{
		{"README.md", "tools", func(*testing.T) string { return mcpapi.Reference() }},
		{"README.md", "errors", errorTable},
		{"README.md", "example", func(t *testing.T) string {
			return "```go\n" + sourceOf(t, filepath.Join("sshx", "example_test.go"), "runningConfig") + "\n```\n"
		}},
		{"README.md", "profiles", func(*testing.T) string { return profileTable() }},
		{"docs/mcp.md", "rpccodes", func(*testing.T) string { return mcpapi.RPCCodes() }},
		{"docs/configuration.md", "keys", func(*testing.T) string { return keyTables() }},
		{"docs/commands.md", "commands", commandReference},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.part, func(t *testing.T) {
			name, begin, end := filepath.FromSlash(tt.file), "<!-- "+tt.part+" -->\n", "<!-- /"+tt.part+" -->\n"
			text := readText(t, name)
			head, rest, ok := strings.Cut(text, begin)
			old, tail, ok2 := strings.Cut(rest, end)
			if !ok || !ok2 {
				t.Fatalf("%s lacks the lines %q and %q", name, begin, end)
			}
			want := tt.want(t)
			switch {
			case old == want:
			case *update:
				if err := os.WriteFile(name, []byte(head+begin+want+end+tail), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("the part %q of %s differs from the code: run go test . -update\nwant:\n%s", tt.part, name, want)
			}
		})
	}
}

// errorTable shows every term.Kind, with the comment that stands beside it.
func errorTable(t *testing.T) string {
	file := parse(t, token.NewFileSet(), filepath.Join("term", "error.go"))
	var b strings.Builder
	b.WriteString("| `error_code` | when | retry |\n|---|---|---|\n")
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Kind" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		retry := "no"
		if term.Kind(value).Retryable() {
			retry = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", value, strings.TrimSpace(spec.Comment.Text()), retry)
		return false
	})
	if kinds == 0 {
		t.Fatal("term/error.go declares no constant of type Kind")
	}
	return b.String()
}

// profileTable shows every profile.
func profileTable() string {
	var b strings.Builder
	b.WriteString("| profile | for | turns the pager off |\n|---|---|---|\n")
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		off := ""
		if len(p.PagingOff) > 0 {
			off = "`" + strings.Join(p.PagingOff, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.About, off)
	}
	return b.String()
}

// keyTables shows every configuration key, one table for each table of the file.
func keyTables() string {
	var b strings.Builder
	current := ""
	for _, k := range config.Keys() {
		dot := strings.LastIndexByte(k.Path, '.')
		if table := k.Path[:dot]; table != current {
			if current != "" {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "### `[%s]`\n\n", table)
			if k.Live() {
				b.WriteString("A running server takes these over on `SIGHUP`.\n\n")
			}
			b.WriteString("| key | default | what it is | value | environment, flag |\n|---|---|---|---|---|\n")
			current = table
		}
		names := "`" + k.Env + "`"
		if k.Flag.Name != "" {
			names += " `--" + k.Flag.Name + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", k.Path[dot+1:], k.Default, k.Doc, k.Form, names)
	}
	for _, table := range config.Tables() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s Any number of these tables, in the file alone.\n\n", table.Header(), table.Doc)
		if table.Live() {
			b.WriteString("A running server takes these over on `SIGHUP`.\n\n")
		}
		b.WriteString("| field | default | what it is | value |\n|---|---|---|---|\n")
		for _, f := range table.Fields {
			def := "`" + f.Default + "`"
			if f.Required {
				def = "must be given"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Path, def, f.Doc, f.Form)
		}
	}
	return b.String()
}

// sourceOf returns a function as it stands in a file, with its comment.
func sourceOf(t *testing.T, file, function string) string {
	t.Helper()
	set := token.NewFileSet()
	text := readText(t, file)
	for _, d := range parse(t, set, file).Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function && f.Recv == nil {
			return text[set.Position(f.Doc.Pos()).Offset:set.Position(f.End()).Offset]
		}
	}
	t.Fatalf("%s has no function %s", file, function)
	return ""
}

func parse(t *testing.T, set *token.FileSet, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(set, file, readText(t, file), parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// fence finds the blocks of code of a Markdown text: language, body.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the bodies of the blocks in one language, and fails if there is none.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	var found []string
	for _, m := range fence.FindAllStringSubmatch(readText(t, file), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block of %s", file, language)
	}
	return found
}

// TestDocsSyntax reads what the documentation gives others to copy.
func TestDocsSyntax(t *testing.T) {
	for _, text := range blocks(t, "README.md", "json") {
		var v struct{}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("README.md: this is no JSON object: %v\n%s", err, text)
		}
	}
	for _, text := range blocks(t, "README.md", "toml") {
		var v struct{}
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("README.md: this is no TOML: %v\n%s", err, text)
		}
	}
	for _, text := range blocks(t, filepath.Join("docs", "configuration.md"), "toml") {
		file := filepath.Join(t.TempDir(), "ptyctl.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := config.Load(config.Source{Path: file, Env: []string{"HOME=" + t.TempDir()}})
		if err != nil || len(warnings) > 0 {
			t.Errorf("docs/configuration.md: error %v, warnings %v in\n%s", err, warnings, text)
		}
	}
}

// toolCall is a line that shows a call: the tool and its arguments.
var toolCall = regexp.MustCompile(`(?m)^(ptyctl_\w+) +(\{.*\})$`)

// TestDocsCalls makes the calls that the README shows, without a host to reach: each must be a correct one.
func TestDocsCalls(t *testing.T) {
	unreachable := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		return nil, &term.Error{Kind: term.ConnectFailed}
	}
	sessions := session.NewManager(
		session.Config{Dialers: map[string]term.Dialer{"ssh": unreachable, "telnet": unreachable, "local": unreachable}},
	)
	defer sessions.Close(t.Context())
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: sessions})

	call := func(tool, arguments string) string {
		request := fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			tool,
			arguments,
		)
		response, ok := srv.HandleMessage(t.Context(), json.RawMessage(request)).(mcp.JSONRPCResponse)
		if !ok {
			return "no result"
		}
		b, err := json.Marshal(response.Result)
		if err != nil {
			t.Fatal(err)
		}
		var result struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(b, &result); err != nil || len(result.Content) != 1 {
			t.Fatalf("the result %s: %v", b, err)
		}
		return result.Content[0].Text
	}
	refused := regexp.MustCompile(`^no result|"error_code":"(INVALID_ARGUMENT|UNSUPPORTED|INTERNAL)"`)
	if wrong := call("ptyctl_session", `{"action":"open","hots":"web1"}`); !refused.MatchString(wrong) {
		t.Fatalf("a wrong call was accepted: %s", wrong)
	}
	calls := toolCall.FindAllStringSubmatch(readText(t, "README.md"), -1)
	if len(calls) == 0 {
		t.Fatal("README.md shows no call")
	}
	for _, c := range calls {
		if text := call(c[1], c[2]); refused.MatchString(text) {
			t.Errorf("README.md shows a wrong call:\n%s %s\n%s", c[1], c[2], text)
		}
	}
}

// TestExamples requires of each program in examples a test with an expected output, because only such an example runs.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("examples/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) < 3 {
		t.Fatalf("examples has the folders %q, want three or more", folders)
	}
	for _, folder := range folders {
		text := readText(t, filepath.Join(folder, "main_test.go"))
		if !strings.Contains(text, "\nfunc Example() {\n") || !strings.Contains(text, "// Output:") {
			t.Errorf("%s/main_test.go has no Example with an output: go test would not run it", folder)
		}
	}
}

// link is a link of Markdown to a file of this repository.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

func TestDocsLinks(t *testing.T) {
	links := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another test's temporary folder
			return nil
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "build" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(readText(t, path), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links == 0 {
		t.Error("no Markdown file links to another")
	}
}
