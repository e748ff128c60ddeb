package lab

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata/simple.c
var simpleC []byte

// CompileC builds a C program, simple.c, with symbols and fixed addresses.
func CompileC(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "simple")
	if err := os.WriteFile(path+".c", simpleC, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("gcc", "-g", "-O0", "-fno-pie", "-no-pie", "-o", path, path+".c")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s; run scripts/install-test-deps", err, out)
	}
	return path
}

// ConnectLocal starts ptyctl with a home of its own, and lines of the configuration besides.
func ConnectLocal(tb testing.TB, lines ...string) *Client {
	tb.Helper()
	return NewHome(tb, lines...).Connect(tb)
}

// OpenLocal opens a local session with the arguments of argv, and members besides.
func (c *Client) OpenLocal(tb testing.TB, argv []string, more string, values ...any) string {
	tb.Helper()
	r := c.Call(
		tb,
		ToolSession,
		`{"action":"open","protocol":"local","argv":%s`+more+`}`,
		append([]any{argv}, values...)...)
	if r.SessionID == "" || r.PID < 2 || r.StartedAt == 0 || r.Cwd == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.Text)
	}
	return r.SessionID
}

// Expect reads from the start of the output until pattern matches.
func (c *Client) Expect(tb testing.TB, id, pattern string) Result {
	tb.Helper()
	r := c.Call(
		tb,
		ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":%s,"timeout_ms":50000,"max_bytes":262144}`,
		id,
		pattern,
	)
	if !r.Matched {
		tb.Fatalf("want a match of %q, got %s", pattern, Tail(r.Text, 4<<10))
	}
	return r
}

// AwaitEnd reads a session's output to its end.
func (c *Client) AwaitEnd(tb testing.TB, id string) Result {
	tb.Helper()
	r := c.Call(
		tb,
		ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"\\z.","timeout_ms":50000,"max_bytes":262144}`,
		id,
	)
	if !r.EOF {
		tb.Fatalf("the program did not end: %s", Tail(r.Text, 4<<10))
	}
	return r
}

// IsCode reports whether there is an exit code, and it is the wanted one.
func IsCode(code *int, want int) bool { return code != nil && *code == want }
