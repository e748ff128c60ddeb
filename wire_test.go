package ptyctl_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
)

// engine are the packages below the wire: a library that knows no tools, no arguments of
// tools and no configuration keys.
var engine = []string{
	"term", "session", "session/...", "sshx", "sshx/...", "telnet", "ptyx", "fsx", "policy", "policy/...", "lockmgr", "buffer", "vt", "screen",
	"audit", "metrics", "devlock",
}

// notWire are literals of the engine that look like a word of the wire but are not.
var notWire = map[string]string{
	"take_over":       "a term.Verb, as the audit log has it",
	"idle_reached":    "how a command ended, for the library's callers too",
	"ptyctl_sessions": "a metric",
	"non_atomic":      "what the audit log says of a write",
	"limits cpu_s=%d memory_bytes=%d open_files=%d processes=%d": "what the audit log says of a local program",
}

// notOnlyWire are the members of results that the engine has for something else.
var notOnlyWire = map[string]string{
	"known_hosts": "the file of OpenSSH",
	"host_key":    "a condition of the operator's rules, and the name of a question",
}

// TestEngineKnowsNoWire checks every string in the engine's code. Errors of the engine
// name the methods and fields of the library; mcpapi/wire/advice.go translates them for the
// tools.
func TestEngineKnowsNoWire(t *testing.T) {
	words := wireWords(t)
	for _, folder := range engineFolders(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, found := range wireLiterals(t, words, name, nil) {
				t.Error(found + "; name the library's own method or field, and give the words of the wire in mcpapi/wire/advice.go")
			}
		}
	}
}

func TestWireLiteralsAreFound(t *testing.T) {
	words := wireWords(t)
	for literal, found := range map[string]bool{
		"use ptyctl_session_io write":               true,
		"pass a task_id":                            true,
		"set ssh_options.host_key_policy":           true,
		"raise timeouts.connect_timeout_ms":         true,
		"limits.processes is not supported here":    true,
		"the limit (limits.max_waiting_reads)":      true,
		"see policy.allow":                          true,
		"nothing happened for 5s (idle_timeout_ms)": true,
		"ptyctl_actions_total":                      false,
		"my_task_ids":                               false,
		"take_over":                                 false,
		"the session has ended":                     false,
	} {
		source := "package p\n\nimport _ \"task_id\"\n\nvar s = " + strconv.Quote(literal) + "\n"
		if got := wireLiterals(t, words, "p.go", source); (len(got) == 1) != found {
			t.Errorf("%q: found %q, want one %t", literal, got, found)
		}
	}
}

// wireLiterals describes each string literal of a file that contains a word of the wire.
// If the source is nil, it is read from the file.
func wireLiterals(t *testing.T, words *regexp.Regexp, name string, source any) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(n.Value)
			if err != nil {
				t.Fatalf("%s: %v", set.Position(n.Pos()), err)
			}
			if word := words.FindString(text); word != "" && notWire[text] == "" {
				found = append(found, fmt.Sprintf("%s: the string %q has %q, a word of the wire",
					set.Position(n.Pos()), text, word))
			}
		}
		return true
	})
	return found
}

// wireWords matches the names of tools, those arguments and results that no other text
// would contain, and configuration keys.
func wireWords(t *testing.T) *regexp.Regexp {
	t.Helper()
	words := []string{
		`ptyctl_(?:session|run|fs|health)\w*`,
	}
	for _, tool := range tools.All() {
		for _, path := range membersOf(tool.Fields, "") {
			words = append(words, regexp.QuoteMeta(path))
		}
	}
	for _, path := range []string{`ssh_options\.host_key_policy`, `limits\.processes`, `telnet\.tls\.pin`} {
		if !slices.Contains(words, path) {
			t.Fatalf("%s is no argument: they are declared in another way now", path)
		}
	}
	named := regexp.MustCompile("`json:\"([a-z]+(?:_[a-z]+)+)[,\"]")
	for _, name := range goFilesBelow(t, "mcpapi") {
		if strings.HasPrefix(filepath.ToSlash(filepath.Dir(name)), "mcpapi/toolset/") { // words of other programs
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if word := string(m[1]); notOnlyWire[word] == "" {
				words = append(words, word)
			}
		}
	}
	if len(words) < 50 {
		t.Fatalf("%d words of the wire, want at least 50: the tools are declared in another way now", len(words))
	}
	before := len(words)
	const tables = `audit|auth|fs|limits|local|locks|logging|policy|server|session|ssh|telnet`
	key := regexp.MustCompile(`"((?:` + tables + `)(?:\.[a-z_]+)+)"`)
	for _, name := range goFilesBelow(t, "config") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllSubmatch(text, -1) {
			words = append(words, regexp.QuoteMeta(string(m[1])))
		}
	}
	if len(words)-before < 50 {
		t.Fatalf("%d configuration keys, want at least 50: they are declared in another way now", len(words)-before)
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest match first
	return regexp.MustCompile(`\b(?:` + strings.Join(words, "|") + `)\b`)
}

// membersOf returns the paths of the arguments within objects, for example limits.processes.
func membersOf(fields []schema.Field, object string) (paths []string) {
	for _, f := range fields {
		if object != "" {
			paths = append(paths, object+f.Name)
		}
		paths = append(paths, membersOf(f.Fields, object+f.Name+".")...)
	}
	return paths
}

// engineFolders returns the folders of engine that contain Go files.
func engineFolders(t *testing.T) (folders []string) {
	t.Helper()
	for _, pattern := range engine {
		root, tree := strings.CutSuffix(pattern, "/...")
		if !tree {
			folders = append(folders, root)
			continue
		}
		for _, name := range goFilesBelow(t, root) {
			if dir := filepath.Dir(name); dir != root && !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	return folders
}

// goFilesBelow returns the non-test Go files in a folder and below it.
func goFilesBelow(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
