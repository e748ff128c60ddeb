package ssh

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

const toolFS = "ptyctl_fs"

// sftpLine gives a server the program for files that it has within itself.
const sftpLine = "Subsystem sftp internal-sftp"

// A fileResult holds the fields of a result of ptyctl_fs that the tests check.
type fileResult struct {
	Data         string
	DataEncoding string `json:"data_encoding"`
	Size         int64
	NextOffset   int64 `json:"next_offset"`
	Truncated    bool
	Mode, Type   string
	Entries      []struct{ Name, Type, Mode string }
	Atomic       bool
}

func callFile(tb testing.TB, c lab.Tools, arguments string, values ...any) (f fileResult) {
	tb.Helper()
	r := c.Call(tb, toolFS, arguments, values...)
	if err := json.Unmarshal([]byte(r.Text), &f); err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestFiles: the program reads and writes files here and on a host, and its audit log has the place and the size for
// each call, and never the content.
func TestFiles(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	root := t.TempDir()
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "roots = ['"+root+"']", "remote = true", "[audit]", "fail_closed = true")
	c := h.Connect(t)
	id := c.Open(t, s)
	const inside = "the inside of a file-1138"
	leaktest.Secret(t, inside)
	for _, tt := range []struct{ name, on, dir string }{
		{"far", fmt.Sprintf(`"session_id":%q,`, id), s.Home}, {"here", "", root},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(tt.dir, "file")
			call := func(action, more string, values ...any) fileResult {
				t.Helper()
				return callFile(t, c.Tools, `{"action":%s,`+tt.on+`"path":%s`+more+`}`, append([]any{action, path}, values...)...)
			}
			if w := call("write", `,"data":%s,"mode":"600"`, "first\n"); w.Size != 6 || w.Mode != "0600" || !w.Atomic {
				t.Errorf("write: %+v", w)
			}
			call("write", `,"data":%s`, "second\n")
			call("write", `,"data":%s,"append":true`, "third\n")
			if r := call("read", ""); r.Data != "second\nthird\n" || r.DataEncoding != "utf-8" || r.Mode != "0600" ||
				r.Truncated {
				t.Errorf("read: %+v", r)
			}
			if r := call("stat", ""); r.Type != "file" || r.Size != 13 {
				t.Errorf("stat: %+v", r)
			}
			if r := callFile(t, c.Tools, `{"action":"list",`+tt.on+`"path":%s}`, tt.dir); len(r.Entries) != 1 ||
				r.Entries[0].Name != "file" {
				t.Errorf("list: %+v", r)
			}
		})
	}
	// Calls after this one must not copy the secret: no other output of this test may contain it.
	callFile(t, c.Tools, `{"action":"write","path":%s,"data":%s}`, filepath.Join(root, "secret"), inside)
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	c.DeniedBy(t, "fs.roots", toolFS, `{"action":"read","path":%s}`, filepath.Join(root, "link"))
	c.DeniedBy(t, "fs.roots", toolFS, `{"action":"write","path":"/etc/ptyctl-was-here","data":"x"}`)
	c.Refused(t, "NOT_FOUND", toolFS, `{"action":"read","session_id":%s,"path":"/none"}`, id)
	c.Close(t, id)
	c.Finish()

	far, here, outcomes := 0, 0, make(map[string]int)
	for _, event := range []string{"file_write", "file_read"} {
		for _, n := range lab.AuditLines(t, h.Audit, event) {
			switch {
			case n.Path == "":
				t.Errorf("a line without a path: %+v", n)
			case n.Intent:
			case n.Proto == "ssh" && n.Host == "127.0.0.1" && n.Session == id:
				far++
			case n.Proto == "local" && n.Host == "localhost" && n.Session == "":
				here++
			default:
				t.Errorf("a line of neither: %+v", n)
			}
			if !n.Intent {
				outcomes[n.Outcome]++
			}
			if n.Path == filepath.Join(root, "secret") && !n.Intent && n.Bytes != len(inside) {
				t.Errorf("%d bytes are on record: %+v", n.Bytes, n)
			}
		}
	}
	if far != 7 || here != 9 || outcomes["ok"] != 13 || outcomes["POLICY_DENIED"] != 2 || outcomes["NOT_FOUND"] != 1 {
		t.Errorf("on record are %d actions there and %d here: %v", far, here, outcomes)
	}
}

// TestFilesLarge moves a file in the parts that a client makes of it: 128 MiB, or in a moment.
func TestFilesLarge(t *testing.T) {
	size, part := 1<<20, 256<<10
	if os.Getenv("PTYCTL_LONG") != "" {
		size, part = 128<<20, 4<<20
	}
	s := lab.StartSSHD(t, sftpLine)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "remote = true", fmt.Sprintf("max_read_bytes = %d", part)).Connect(t)
	id, big := c.Open(t, s), filepath.Join(s.Home, "big") // the server starts in the home that the password database names
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{3})
	_, _ = source.Read(data)
	sum := sha256.Sum256(data)
	// Past the helpers of other tests, which look for secrets in all that goes by: that takes longer than all else.
	call := func(arguments map[string]any) (r fileResult) {
		t.Helper()
		got, err := c.Session.CallTool(t.Context(), &mcp.CallToolParams{Name: toolFS, Arguments: arguments})
		if err != nil || got.IsError {
			t.Fatalf("%v, %.300v", err, got)
		}
		if err := json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for at := 0; at < size; at += part {
		call(
			map[string]any{
				"action":     "write",
				"session_id": id,
				"path":       big,
				"encoding":   "base64",
				"append":     true,
				"data":       base64.StdEncoding.EncodeToString(data[at : at+part]),
			},
		)
	}
	arrived, err := os.ReadFile(big)
	if err != nil || sha256.Sum256(arrived) != sum {
		t.Fatalf("the uploaded file differs from its source: %d bytes, %v", len(arrived), err)
	}
	var back []byte
	for r := (fileResult{Truncated: true}); r.Truncated; {
		r = call(
			map[string]any{
				"action":     "read",
				"session_id": id,
				"path":       big,
				"encoding":   "base64",
				"max_bytes":  part,
				"offset":     len(back),
			},
		)
		p, err := base64.StdEncoding.DecodeString(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, p...)
	}
	if sha256.Sum256(back) != sum {
		t.Errorf("the downloaded file differs from its source: %d bytes", len(back))
	}
}

// TestFilesByRule: a host that is only read, and callers that only read.
func TestFilesByRule(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	file := filepath.Join(s.Home, "file")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "remote = true", "[policy]", `read_only_hosts = ["127.*"]`).Connect(t)
	id := c.Open(t, s)
	for _, more := range []string{"", `,"append":true`, `,"non_atomic":true`} {
		c.DeniedBy(
			t,
			"policy.read_only_hosts",
			toolFS,
			`{"action":"write","session_id":%s,"path":%s,"data":"new"`+more+`}`,
			id,
			file,
		)
	}
	if r := callFile(t, c.Tools, `{"action":"read","session_id":%s,"path":%s}`, id, file); r.Data != "old" {
		t.Errorf("the file holds %q", r.Data)
	}

	root := t.TempDir()
	c = lab.NewHome(t, "[fs]", "roots = ['"+root+"']").Connect(t, "--read-only")
	c.Refused(t, "POLICY_DENIED", toolFS, `{"action":"write","path":"file","data":"new"}`)
	if r := callFile(t, c.Tools, `{"action":"list","path":"."}`); len(r.Entries) != 0 {
		t.Errorf("list: %+v", r)
	}
}

// TestFilesOffered: without a line of it in the configuration there is no such tool, and a call says how there might
// be.
func TestFilesOffered(t *testing.T) {
	root := t.TempDir()
	roots := "roots = ['" + root + "']"
	for name, tt := range map[string]struct {
		lines        []string
		stdio, http  bool
		denied, also string // by the rule, over stdio and over HTTP; empty: not
	}{
		"off":              {nil, false, false, "fs.roots", "fs.roots"},
		"roots":            {[]string{"[fs]", roots}, true, false, "", "local.http"},
		"roots, over both": {[]string{"[fs]", roots, "[local]", "http = true"}, true, true, "", ""},
		"roots, over none": {[]string{"[fs]", roots, "[local]", "stdio = false"}, false, false, "local.stdio", "local.http"},
		"hosts":            {[]string{"[fs]", "remote = true"}, true, true, "fs.roots", "fs.roots"},
		"hosts, over HTTP": {[]string{"[fs]", "remote = true", "[local]", "http = true"}, true, true, "fs.roots", "fs.roots"},
	} {
		t.Run(name, func(t *testing.T) {
			h := lab.NewHome(t, tt.lines...)
			check := func(c *lab.Client, listed bool, rule string) {
				t.Helper()
				list, err := c.Session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, tool := range list.Tools {
					found = found || tool.Name == toolFS
				}
				if found != listed {
					t.Errorf("listed: %v, want %v", found, listed)
				}
				if rule == "" {
					callFile(t, c.Tools, `{"action":"list","path":%s}`, root)
				} else if r := c.Refused(
					t, "POLICY_DENIED", toolFS, `{"action":"list","path":%s}`, root,
				); r.Details.Rule != rule || !strings.Contains(r.Message, "the operator may") {
					t.Errorf("%s: want the rule %s", r.Text, rule)
				}
			}
			check(h.Connect(t), tt.stdio, tt.denied)
			p, url := h.StartHTTP(t)
			check(p.Dial(t, url, ""), tt.http, tt.also)
		})
	}
}

// TestFilesDiskFull writes more than there is room for on this machine: the old file stays, and the message says why.
func TestFilesDiskFull(t *testing.T) {
	root := t.TempDir()
	h := lab.NewHome(t, "[fs]", "roots = ['"+root+"']")
	h.InNamespace(t, `mount -t tmpfs -o size=64k,mode=700 small "$1" && echo old >"$1/file" && shift && exec "$@"`, root)
	c := h.Connect(t)
	for name, more := range map[string]string{"file": "", "new": "", "appended": `,"append":true`} {
		r := c.Refused(
			t,
			"IO_ERROR",
			toolFS,
			`{"action":"write","path":%s,"data":%s`+more+`}`,
			name,
			strings.Repeat("x", 200<<10),
		)
		if !strings.Contains(r.Message, "no space left") || (more != "") != strings.Contains(r.Text, "bytes_written") {
			t.Errorf("%s: %s", name, r.Text)
		}
		if more != "" { // the entries that fit are there
			callFile(t, c.Tools, `{"action":"write","path":%s,"data":"","non_atomic":true}`, name)
		}
	}
	if r := callFile(t, c.Tools, `{"action":"read","path":"file"}`); r.Data != "old\n" {
		t.Errorf("the file holds %.20q", r.Data)
	}
	if r := callFile(t, c.Tools, `{"action":"list","path":"."}`); len(r.Entries) != 2 || r.Entries[0].Name != "appended" ||
		r.Entries[1].Name != "file" {
		t.Errorf("left over: %+v", r.Entries)
	}
}
