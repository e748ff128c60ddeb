package preset

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"ptyctl/policy/grammar"
)

// TestPresetsParse checks that the files of all presets can be parsed, and that
// there is no other preset.
func TestPresetsParse(t *testing.T) {
	for _, name := range Names() {
		if p, err := Named(name); err != nil || len(p.programs) < 10 {
			t.Errorf("presetNamed(%q) = %v, want a list of programs", name, err)
		}
	}
	if _, err := Named("read-write"); err == nil || !strings.Contains(err.Error(), "read-only-linux") {
		t.Errorf("presetNamed of an unknown name = %v, want an error that lists the presets", err)
	}
	for _, wrong := range []string{
		"ls", "ls: -a", "ls: -a ; many", "ls: a ; *", "ls: -a -a ; *", "ls: ; *\nls: ; *",
		"git: ; sub", "git: ; *\ngit log: ; *", "git log: ; *", "ls: ; /(/", "ls: -ab: ; *",
	} {
		if _, err := parsePreset("x", wrong); err == nil {
			t.Errorf("parsePreset(%q) takes it, want an error", wrong)
		}
	}
}

// presetWords returns the literal words of a simple command; unquoted * and ?
// are holes.
func presetWords(t *testing.T, line string) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatalf("parse %q: %v", line, err)
	}
	var out [][]string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			var words []string
			for _, a := range call.Args {
				words = append(words, grammar.ReadWord(a).Text)
			}
			out = append(out, words)
		}
		return true
	})
	return out
}

// presetVerdict returns why a line is not in a preset, or "" if it is.
func presetVerdict(t *testing.T, p *List, line string) string {
	t.Helper()
	for _, words := range presetWords(t, line) {
		if ok, why := p.Allows(words); !ok {
			if why == "" {
				t.Errorf("%q is denied without a reason, want one", line)
			}
			return why
		}
	}
	return ""
}

// presetLines returns the lines of testdata/NAME.lines: everyday lines, and lines that write, run others or change
// something. They begin with + if the preset must have them, and with - if not.
func presetLines(t *testing.T, name string) []string {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("testdata", name+".lines"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(table)), "\n")
}

// checkPreset judges the lines of a preset.
func checkPreset(t *testing.T, name string) (allowed, not int) {
	t.Helper()
	p, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range presetLines(t, name) {
		why := presetVerdict(t, p, line[2:])
		switch line[0] {
		case '+':
			allowed++
			if why != "" {
				t.Errorf("%s denies %q: %s; want it allowed", name, line[2:], why)
			}
		case '-':
			not++
			if why == "" {
				t.Errorf("%s has %q, want it denied", name, line[2:])
			}
		default:
			t.Errorf("%s: the line %q begins neither with + nor with -", name, line)
		}
	}
	return allowed, not
}

func TestPresetLinux(t *testing.T) {
	allowed, not := checkPreset(t, "read-only-linux")
	if allowed < 150 || not < 150 {
		t.Errorf("%d lines that are allowed and %d that are not, want 150 of each", allowed, not)
	}
}

func TestPresetNetwork(t *testing.T) { checkPreset(t, "read-only-network") }

// TestPresetSays checks that a denial names the part that is not allowed, and
// the alternatives.
func TestPresetSays(t *testing.T) {
	p, err := Named("read-only-linux")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"sort -o x y":            {"-o", "sort", "read-only-linux", "--stable"},
		"systemctl stop nginx":   {"systemctl stop", "status", "is-active"},
		"uniq a b":               {"2 operands", "0 to 1"},
		"rm x":                   {"no program rm"},
		"date 0101":              {"0101", `^\+`},
		"top":                    {"-b"},
		"find . -name *.x":       {"-name", "quote"},
		"cat *":                  {"./"},
		"timeout 5 rm x":         {"no program rm"},
		"git log '--format=%G?'": {"%G?", "--format"},
		"sort -k -o":             {"-o", "looks like an option"},
	} {
		why := presetVerdict(t, p, line)
		for _, w := range want {
			if !strings.Contains(why, w) {
				t.Errorf("allows(%q) says %q, want %q in it", line, why, w)
			}
		}
	}
}

// TestPresetDocs checks that docs/policy.md has the present lists.
func TestPresetDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		p, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if list := "```text\n" + presetList(p) + "```\n"; !strings.Contains(string(text), list) {
			t.Errorf("docs/policy.md has not the list of %s as it is:\n%s", name, list)
		}
	}
}

// presetList returns the names of a preset's programs, with their commands in
// brackets.
func presetList(p *List) string {
	var out, line strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.programs)) {
		word := name
		if subs := p.programs[name].names(); len(subs) > 0 {
			word += " (" + strings.Join(subs, ", ") + ")"
		}
		for w := range strings.SplitSeq(word, " ") {
			if line.Len() > 0 && line.Len()+1+len(w) > 116 {
				out.WriteString(line.String() + "\n")
				line.Reset()
			}
			if line.Len() > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(w)
		}
	}
	return out.String() + line.String() + "\n"
}
