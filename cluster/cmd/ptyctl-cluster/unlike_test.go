package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// TestOtherTokens: if nodes have different tokens, status warns and marks the nodes, and their logs warn, too, until
// the tokens are the same. The nodes tell each other nothing of a token itself.
func TestOtherTokens(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, 1)[0].URL
	path := filepath.Join(t.TempDir(), "tokens")
	conf := func(name string) string {
		return fmt.Sprintf("[server.http]\ntokens_file = %q\n", path) + lines(name, url)
	}
	write := func(value string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("ops:write:"+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(opsToken)
	a, b := serve(t, conf("a")), serve(t, conf("b"))
	write(otherToken)
	c := serve(t, conf("c"))
	says := func(text string, nodes ...*served) {
		t.Helper()
		for _, n := range nodes {
			natstest.Eventually(t, "the log says "+text, func() bool { return strings.Contains(n.log.String(), text) })
		}
	}
	says("other nodes have other tokens than this one", a, b, c)
	says(`{"nodes": "c"}`, a, b)
	says(`{"nodes": "a, b"}`, c)
	var stdout string
	natstest.Eventually(t, "status warns of the tokens", func() bool {
		var code int
		stdout, _, code = printed(t, lines("a", url), "status")
		return code == 0 && strings.Contains(stdout, "warning: nodes have different tokens: a, b; c.")
	})
	for node, mark := range map[string]string{"NODE": "TOKENS", "a": "A", "b": "A", "c": "B"} {
		if !regexp.MustCompile(`(?m)^` + node + ` +\S+ +` + mark + ` `).MatchString(stdout) {
			t.Errorf("status does not mark %s with %s:\n%s", node, mark, stdout)
		}
	}
	if strings.Contains(stdout, "RULES") {
		t.Errorf("status marks rules that are the same:\n%s", stdout)
	}
	stdout, _, _ = printed(t, lines("a", url), "status", "--json")
	if n := len(regexp.MustCompile(`"callers": "[0-9a-f]{16}"`).FindAllString(stdout, -1)); n != 3 {
		t.Errorf("status --json has %d digests, want 3:\n%s", n, stdout)
	}
	write(opsToken)
	c.reload(t, conf("c"))
	says("all nodes have the same tokens as this one again", a, b, c)
	natstest.Eventually(t, "status warns no more", func() bool {
		stdout, _, code := printed(t, lines("a", url), "status")
		return code == 0 && strings.Contains(stdout, "live") && !strings.Contains(stdout, "warning") && !strings.Contains(stdout, "TOKENS")
	})
}
