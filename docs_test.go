package ptyctl_test

import (
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
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"ptyctl/config"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/wire"
	"ptyctl/profile"
	"ptyctl/term"
)

// TestDocs compares the parts of the documentation that are generated from code. A part
// is between the lines <!-- name --> and <!-- /name -->; go test . -update rewrites it.
func TestDocs(t *testing.T) {
	tests := []struct {
		file, part string
		want       func(t *testing.T) string
	}{
		{"docs/tools.md", "tools", func(*testing.T) string { return mcpapi.Reference() }},
		{"docs/tools.md", "errors", errorTable},
		{"docs/library.md", "example", func(t *testing.T) string {
			return "```go\n" + sourceOf(t, filepath.Join("sshx", "example_test.go"), "runningConfig") + "\n```\n"
		}},
		{"docs/devices.md", "profiles", func(*testing.T) string { return profileTable() }},
		{"docs/devices.md", "trials", func(*testing.T) string { return trialTable() }},
		{"docs/mcp.md", "rpccodes", func(*testing.T) string { return wire.RPCCodes() }},
		{"docs/configuration.md", "keys", func(*testing.T) string { return keyTables() }},
		{"docs/commands.md", "commands", commandReference},
		{"docs/links.md", "links", outerLinks},
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

// errorTable returns every term.Kind with the comment beside it.
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

// profileTable returns every profile.
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

// trialTable lists the changes that undo themselves, with the blanks of the time as N.
func trialTable() string {
	var b strings.Builder
	b.WriteString("| profile | begin, apply | confirm | cancel |\n|---|---|---|---|\n")
	code := func(steps ...string) string {
		text := strings.NewReplacer("{minutes}", "N", "{seconds}", "N", "{hh:mm:ss}", "hh:mm:ss", "{name}", "NAME", "|", `\|`).
			Replace(strings.Join(steps, "`, `"))
		return strings.ReplaceAll("`"+text+"`", "``", "")
	}
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		for _, t := range p.Trials {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, code(slices.Concat(t.Begin, t.Apply)...), code(t.Confirm...), code(t.Cancel...))
		}
	}
	return b.String()
}

// keyTables returns every configuration key, in one table for each table of the file.
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
			b.WriteString("| key | default | meaning | value | environment, flag |\n|---|---|---|---|---|\n")
			current = table
		}
		names := "`" + k.Env + "`"
		if k.Flag.Name != "" {
			names += " `--" + k.Flag.Name + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", k.Path[dot+1:], k.Default, k.Doc, k.Form, names)
	}
	for _, table := range config.Tables() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\nAny number of these tables, in the file alone.\n\n", table.Header(), table.Doc)
		if table.Live() {
			b.WriteString("A running server takes these over on `SIGHUP`.\n\n")
		}
		b.WriteString("| field | default | meaning | value |\n|---|---|---|---|\n")
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

// sourceOf returns the text of a function in a file, with its comment.
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

// fence matches the blocks of code of a Markdown text: language, body.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the bodies of the blocks in one language. There must be at least one.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	var found []string
	for _, m := range fence.FindAllStringSubmatch(readText(t, file), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// TestDocsSyntax parses the examples that readers copy: JSON as such, TOML as ptyctl.toml unless it is a client's file.
func TestDocsSyntax(t *testing.T) {
	files := 0
	for _, name := range markdown(t) {
		for _, text := range blocks(t, name, "json") {
			var v struct{}
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("%s: this is no JSON object: %v\n%s", name, err, text)
			}
		}
		for _, text := range blocks(t, name, "toml") {
			files++
			if strings.HasPrefix(text, "[mcp_servers.") {
				var v struct{}
				if err := toml.Unmarshal([]byte(text), &v); err != nil {
					t.Errorf("%s: this is no TOML: %v\n%s", name, err, text)
				}
				continue
			}
			file := filepath.Join(t.TempDir(), "ptyctl.toml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, warnings, err := config.Load(config.Source{Path: file, Env: []string{"HOME=" + t.TempDir()}})
			if err != nil || len(warnings) > 0 {
				t.Errorf("%s: error %v, warnings %v in\n%s", name, err, warnings, text)
			}
		}
	}
	if files < 20 {
		t.Errorf("the documentation has %d examples of TOML: this test looks in the wrong places", files)
	}
}

// TestExamples checks that each program in examples has a test with an expected output,
// because go test runs only such an example.
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

// markdown returns the Markdown files that are not test data.
func markdown(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another test's temporary folder
			return nil
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "build" || d.Name() == "testdata"):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(path) == ".md":
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// missing is a line for something that was to follow.
var missing = regexp.MustCompile(`^[A-Z]{2,}$`)

// TestDocsLines checks that Markdown has at most 120 columns, except in tables, blocks of code, generated parts, and lines
// with a longer address, and that nothing is missing.
func TestDocsLines(t *testing.T) {
	const widest = 120
	module := strings.Fields(readText(t, "go.mod"))[1] // whatever its length
	for _, name := range markdown(t) {
		fenced, generated := false, false
		for i, line := range strings.Split(strings.ReplaceAll(readText(t, name), module, "ptyctl"), "\n") {
			switch {
			case strings.HasPrefix(line, "```"):
				fenced = !fenced
			case strings.HasPrefix(line, "<!-- "):
				generated = !strings.HasPrefix(line, "<!-- /")
			case !fenced && missing.MatchString(line):
				t.Errorf("%s:%d is %q: what belongs there is missing", name, i+1, line)
			case fenced, generated, strings.HasPrefix(line, "|"), strings.Contains(line, "https://"):
			case utf8.RuneCountInString(line) > widest:
				t.Errorf("%s:%d has %d columns, want at most %d", name, i+1, utf8.RuneCountInString(line), widest)
			}
		}
	}
}

// TestReadmeSize keeps the README short: all details belong to docs.
func TestReadmeSize(t *testing.T) {
	const most = 8 << 10
	if n := len(readText(t, "README.md")); n > most {
		t.Errorf("README.md has %d bytes, want at most %d: move a part to docs and link to it", n, most)
	}
}

// TestReadmeFamilies checks the number of device families in the README; posix does not count.
func TestReadmeFamilies(t *testing.T) {
	want := fmt.Sprintf("pagers of %d families", len(profile.Names())-1)
	if !strings.Contains(readText(t, "README.md"), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

var (
	codePath = regexp.MustCompile("`([a-z_][a-z0-9_-]*(?:/[A-Za-z0-9_.-]+)+|[a-z_]+_test\\.go)`")
	drawn    = regexp.MustCompile(`\b([a-z]+)/([a-z]+|\{[a-z,]+\})`)
	walkRow  = regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+\\.go)` \\| `(?:(\\w+)\\.)?(\\w+)` \\|$")
)

// TestDocsPaths checks that every path of this repository in ARCHITECTURE.md,
// CONTRIBUTING.md and the decisions exists, and that each function of a walk is in its
// file.
func TestDocsPaths(t *testing.T) {
	names, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	paths := 0
	for _, name := range append(names, "ARCHITECTURE.md", "CONTRIBUTING.md") {
		for _, m := range codePath.FindAllStringSubmatch(readText(t, name), -1) {
			path := strings.TrimSuffix(m[1], "/...")
			top, _, isBelow := strings.Cut(path, "/")
			if _, err := os.Stat(top); err != nil && isBelow || top == "build" {
				continue // belongs to another project
			}
			paths++
			if _, err := os.Stat(filepath.FromSlash(path)); err != nil && isBelow {
				t.Errorf("%s names %s, which does not exist: write where it is now", name, path)
			}
		}
	}
	if paths < 60 {
		t.Errorf("the documents name %d paths, want at least 60: this test looks in the wrong places", paths)
	}
	for _, m := range drawn.FindAllStringSubmatch(blocks(t, "ARCHITECTURE.md", "text")[0], -1) {
		for name := range strings.SplitSeq(strings.Trim(m[2], "{}"), ",") {
			if _, err := os.Stat(filepath.Join(m[1], name)); err != nil {
				t.Errorf("ARCHITECTURE.md draws the package %s/%s, which does not exist: draw it where it is now", m[1], name)
			}
		}
	}
	rows := walkRow.FindAllStringSubmatch(readText(t, "ARCHITECTURE.md"), -1)
	if len(rows) < 20 {
		t.Errorf("the walks in ARCHITECTURE.md have %d rows, want at least 20", len(rows))
	}
	for _, row := range rows {
		receiver, function := row[2], row[3]
		if receiver != "" {
			receiver = `\(\w+ \*?` + receiver + `(\[\w+\])?\) `
		}
		declared := regexp.MustCompile(`(?m)^func ` + receiver + function + `[\[(]`)
		if text, err := os.ReadFile(filepath.FromSlash(row[1])); err == nil && !declared.Match(text) {
			t.Errorf("ARCHITECTURE.md says that %s has the function %s, which it has not: correct the row",
				row[1], strings.TrimPrefix(row[2]+"."+row[3], "."))
		}
	}
}
