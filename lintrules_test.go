package ptyctl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLintRules checks that the linter's import rules, which editors show while typing,
// equal importRules.
func TestLintRules(t *testing.T) {
	const name, begin, end = ".golangci.yml", "# BEGIN importRules\n", "        # END importRules\n"
	module, _ := load(t)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q that enclose the depguard rules", name, begin, end)
	}
	want := depguard(importRules, module)
	keys := make(map[string]bool)
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, strings.Repeat(" ", 9)) {
			continue
		}
		if keys[line] {
			t.Errorf("two rules have the key %q, which golangci-lint refuses", strings.TrimSpace(line))
		}
		keys[line] = true
	}
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("the depguard rules in %s differ from importRules: run go test . -update", name)
	}
	if err := os.WriteFile(name, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// depguard returns the rules in the syntax of golangci-lint's depguard settings.
func depguard(rules []rule, module string) string {
	var b strings.Builder
	for _, r := range rules {
		folder, isTree := strings.CutSuffix(r.pkg, "/...")
		key, pattern := strings.ReplaceAll(folder, "/", "-"), folder+"/*.go"
		if isTree {
			key, pattern = key+"-below", folder+"/**/*.go" // folder itself may have a rule of its own
		}
		if r.file != "" {
			key, pattern = key+"-"+strings.TrimSuffix(r.file, ".go"), folder+"/"+r.file
		}
		files := []string{`"${config-path}/` + pattern + `"`}
		for _, other := range rules {
			if r.file == "" && other.pkg == r.pkg && other.file != "" {
				files = append(files, `"!${config-path}/`+folder+"/"+other.file+`"`)
			}
		}
		fmt.Fprintf(&b, "        %s:\n          files: [%s, \"!$test\"]\n", key, strings.Join(files, ", "))
		if r.anything {
			var deny []string
			for _, tree := range testsOnly {
				deny = append(deny, fmt.Sprintf("{pkg: %s/%s, desc: it is for tests only}", module, tree))
			}
			fmt.Fprintf(&b, "          list-mode: lax\n          deny: [%s]\n", strings.Join(deny, ", "))
			continue
		}
		allow := []string{"$gostd"}
		for _, o := range r.ours {
			// The $ of depguard ends a prefix: sshx must not allow sshx/hostkeys.
			allow = append(allow, module+"/"+o+"$")
		}
		allow = append(allow, r.theirs...)
		fmt.Fprintf(&b, "          list-mode: strict\n          allow: [%s]\n", strings.Join(allow, ", "))
	}
	return b.String()
}
