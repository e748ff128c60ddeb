//go:build linux && long

package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// finding is an entry of a database of vulnerabilities (https://go.dev/security/vuln/database) about a function that
// ptyctl calls.
const finding = `{"schema_version":"1.3.1","id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",
"summary":"a test","details":"a test","affected":[{"package":{"name":"golang.org/x/crypto","ecosystem":"Go"},
"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
"ecosystem_specific":{"imports":[{"path":"golang.org/x/crypto/ssh","symbols":["ParsePrivateKey"]}]}}],
"database_specific":{"url":"https://example.com","review_status":"REVIEWED"}}`

// TestVuln has scripts/vuln ask databases of the test: one without a finding, one with, and one that is not there.
func TestVuln(t *testing.T) {
	database := func(modules, all string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"index/db.json": `{"modified":"2026-01-01T00:00:00Z"}`, "index/modules.json": modules, "index/vulns.json": all, "ID/GO-2026-0001.json": finding,
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return "file://" + dir
	}
	for _, c := range []struct {
		name, database string
		status         int
		want           string
	}{
		{"none", database("[]", "[]"), 0, "vuln: passed "},
		{
			"one", database(`[{"path":"golang.org/x/crypto","vulns":[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z"}]}]`,
				`[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z"}]`), 1, "found vulnerabilities that the program reaches",
		},
		{"no database", "http://127.0.0.1:1", 2, "vuln: the check did not run: the database http://127.0.0.1:1 was not reached from here"},
	} {
		cmd := exec.Command("scripts/vuln")
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "GOVULNCHECK="+pinned(t, "GOVULNCHECK"), "GOVULNDB="+c.database)
		out, err := cmd.CombinedOutput()
		status := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if status != c.status || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: scripts/vuln exits with %d, want %d and %q:\n%s", c.name, status, c.status, c.want, out)
		}
	}
}
