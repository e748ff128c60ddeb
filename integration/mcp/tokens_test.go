package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

var update = flag.Bool("update", false, "record the answers of testdata/answers.txtar and the table of docs/answers.md")

// The most that the tools cost a model's context, as they are listed without configuration.
const (
	maxListBytes  = 16 << 10
	maxListTokens = 4000
)

// A cost is that of a text for a model. Tokens are those of the encoding o200k.
type cost struct{ bytes, tokens int }

// costs measures texts.
func costs(tb testing.TB, texts ...string) []cost {
	tb.Helper()
	node := installedNode(tb)
	cmd := node.run(tb, node.script(tb, "tokens.mjs"))
	in, err := json.Marshal(texts)
	if err != nil {
		tb.Fatal(err)
	}
	var errors bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &errors
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("the tokens cannot be counted: %v: %s", err, errors.String())
	}
	var counts []int
	if err := json.Unmarshal(out, &counts); err != nil || len(counts) != len(texts) {
		tb.Fatalf("%d texts have the counts %s (%v)", len(texts), out, err)
	}
	list := make([]cost, len(texts))
	for i, text := range texts {
		list[i] = cost{len(text), counts[i]}
	}
	return list
}

// TestCostOfTools bounds the list of tools, which is in a model's context from beginning to end.
func TestCostOfTools(t *testing.T) {
	t.Parallel()
	list := listTools(lab.NewHome(t).Converse(t, "--results", "compact"))
	got := costs(t, string(list))[0]
	t.Logf("tools/list by default: %d bytes, %d tokens", got.bytes, got.tokens)
	if got.bytes >= maxListBytes || got.tokens >= maxListTokens {
		t.Errorf(
			"the tools as listed by default cost %d bytes and %d tokens, want less than %d and %d",
			got.bytes, got.tokens, maxListBytes, maxListTokens,
		)
	}
}

// docPart compares a part of a page with the findings of the test, or writes it there. The part is between the lines
// <!-- name --> and <!-- /name -->.
func docPart(t *testing.T, page, name, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", path, begin, end)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("the part %q of %s differs; if that is meant, run go test -update. Want:\n%s", name, path, want)
	}
}
