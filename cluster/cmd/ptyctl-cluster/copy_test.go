package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// A copies is three nodes: a and b have a session each, c has clients and no sessions.
type copies struct {
	tb       testing.TB
	nodes    map[string]*served
	ids      map[string]string // of the sessions, by node
	from, to string            // folders, which each session sees
}

// newCopies starts the nodes, each with more lines before its configuration.
func newCopies(tb testing.TB, more map[string]string) *copies {
	tb.Helper()
	url, host := natstest.Start(tb, 1)[0].URL, sshHost(tb, "accept_new")
	c := &copies{tb: tb, nodes: make(map[string]*served), from: tb.TempDir(), to: tb.TempDir()}
	for _, node := range []string{"a", "b", "c"} {
		special := []string{`labels = ["node=` + node + `"]`, `place = ["node=a@far1", "node=b@far2"]`}
		if node == "c" {
			special = append(special, entry)
		}
		c.nodes[node] = serve(tb, "[fs]\nremote = true\n"+more[node]+host+httpLines(tb, node, url, special...))
	}
	c.ids = sessionsOn(tb, c.at("a"))
	return c
}

func (c *copies) at(node string) *caller { return c.nodes[node].dial(c.tb, opsToken) }

// A copied has the members of a copy's result that the tests look at.
type copied struct {
	result
	DoneReason string `json:"done_reason"`
	ExecID     string `json:"exec_id"`
	To         string
	Bytes      int64
	Files      int
	Folders    int
	Created    bool
	Verified   bool
	SHA256     string
	ResumedAt  int64 `json:"resumed_at"`
	Details    struct {
		Node string
		Rule string
	}
}

// copy copies a file between the two sessions.
func (c *copies) copy(at *caller, from, to string, more map[string]any) copied {
	c.tb.Helper()
	got, err := c.try(at, from, to, more)
	if err != nil {
		c.tb.Fatal(err)
	}
	return got
}

func (c *copies) try(at *caller, from, to string, more map[string]any) (got copied, err error) {
	args := map[string]any{
		"action": "copy", "from": map[string]any{"session_id": c.ids["a"], "path": from},
		"to": map[string]any{"session_id": c.ids["b"], "path": to},
	}
	maps.Copy(args, more)
	r, err := at.try(c.tb.Context(), "ptyctl_fs", args)
	if err == nil {
		err = json.Unmarshal([]byte(r.text), &got)
	}
	got.result = r
	return got, err
}

// write makes a file of the source with n bytes that repeat nowhere, and returns its path, content and checksum.
func (c *copies) write(name string, n int) (path string, data []byte, sum string) {
	c.tb.Helper()
	data = make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(data)
	path = filepath.Join(c.from, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o640); err != nil {
		c.tb.Fatal(err)
	}
	digest := sha256.Sum256(data)
	return path, data, hex.EncodeToString(digest[:])
}

// want compares a file.
func (c *copies) want(path string, data []byte) {
	c.tb.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		c.tb.Errorf("%s has %d bytes, %v; want the %d of its source", path, len(got), err, len(data))
	}
}

// wantNames compares the names in the target's folder, to which temporary files belong.
func (c *copies) wantNames(when string, names ...string) {
	c.tb.Helper()
	entries, err := os.ReadDir(c.to)
	if err != nil {
		c.tb.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		c.tb.Errorf("%s: the target's folder has %q, want %q", when, got, names)
	}
}

// TestCopyBetweenNodes: a copy from a session of one node to a session of another works like a copy within one node,
// whichever node takes the call.
func TestCopyBetweenNodes(t *testing.T) {
	t.Parallel()
	c := newCopies(t, nil)
	for _, at := range []string{"a", "b", "c"} {
		client := c.at(at)
		path, data, sum := c.write("small", 12_345)
		to := filepath.Join(c.to, "small-"+at)
		r := c.copy(client, path, to, nil)
		if r.ErrorCode != "" || r.SHA256 != sum || !r.Verified || !r.Created || r.Bytes != 12_345 {
			t.Fatalf("at %s: copy = %s, want %d bytes with the sum %s", at, r.text, len(data), sum)
		}
		c.want(to, data)
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("at %s: the copy has the mode %v, %v; want that of its source", at, info.Mode(), err)
		}
		path, data, _ = c.write("other", 99)
		if r := c.copy(client, path, to, nil); r.ErrorCode != "" || r.Created {
			t.Errorf("at %s: copy to a path that exists = %s, want it replaced", at, r.text)
		}
		c.want(to, data)
		if r := c.copy(client, path+"-none", to, nil); r.ErrorCode != "NOT_FOUND" || !strings.Contains(r.Message, "other-none") {
			t.Errorf("at %s: copy of a file that is not there = %s", at, r.text)
		}
		if r := c.copy(client, path, filepath.Join(c.to, "none", "x"), nil); r.ErrorCode != "NOT_FOUND" {
			t.Errorf("at %s: copy into a folder that is not there = %s", at, r.text)
		}
		if r := c.copy(client, path, c.to+"/", nil); r.To != filepath.Join(c.to, "other") {
			t.Errorf("at %s: copy into a folder = %s", at, r.text)
		}
		if r := c.copy(client, path, to, map[string]any{"via": "ymodem"}); r.ErrorCode != "INVALID_ARGUMENT" {
			t.Errorf("at %s: copy over a terminal = %s", at, r.text)
		}
	}
}

// TestCopyTreeBetweenNodes: a folder is copied with its content, and a second copy with resume leaves it unchanged.
func TestCopyTreeBetweenNodes(t *testing.T) {
	t.Parallel()
	c := newCopies(t, nil)
	for _, at := range []string{"a", "b", "c"} {
		client := c.at(at)
		want := make(map[string][]byte)
		for i := range 20 {
			name := fmt.Sprintf("tree/d%d/f\xff%d", i%3, i) // no text
			_, want[name], _ = c.write(name, 1000*i)
		}
		if err := os.Symlink("/etc", filepath.Join(c.from, "tree", "link")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		to := filepath.Join(c.to, "tree-"+at)
		tree := map[string]any{"recursive": true}
		if r := c.copy(client, filepath.Join(c.from, "tree"), to, tree); r.Files != 20 || r.Folders != 3 || !strings.Contains(r.text, "symbolic link") {
			t.Fatalf("at %s: copy of a tree = %s, want 20 files in 3 folders, and no link", at, r.text)
		}
		for name, data := range want {
			c.want(strings.Replace(filepath.Join(c.to, name), "/tree/", "/tree-"+at+"/", 1), data)
		}
		tree["resume"] = true
		if r := c.copy(client, filepath.Join(c.from, "tree"), to, tree); r.Files != 0 || !strings.Contains(r.text, `"unchanged":20`) {
			t.Errorf("at %s: the same copy again, with resume = %s", at, r.text)
		}
	}
}

// TestLargeCopyBetweenNodes: 64 MiB arrive unchanged. A caller that repeats the call at another node with its
// request_id gets the result of that copy.
func TestLargeCopyBetweenNodes(t *testing.T) {
	t.Parallel()
	c := newCopies(t, nil)
	size := 16 << 20 // more than is on its way at a time
	if os.Getenv("PTYCTL_LONG") != "" {
		size = 64 << 20
	}
	path, data, sum := c.write("large", size)
	to := filepath.Join(c.to, "large")
	once := map[string]any{"verify": true, "request_id": "r-1138"}
	r := c.copy(c.at("c"), path, to, once)
	if r.ErrorCode != "" || r.SHA256 != sum || !r.Verified || r.Bytes != int64(size) {
		t.Fatalf("copy = %s, want %d bytes with the sum %s", r.text, size, sum)
	}
	c.want(to, data)
	if err := os.WriteFile(to, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"a", "b", "c"} {
		if again := c.copy(c.at(at), path, to, once); again.text != r.text {
			t.Errorf("at %s: the same request again = %s, want %s", at, again.text, r.text)
		}
	}
	c.want(to, []byte("mine"))
	back := c.at("a").tool("ptyctl_fs", map[string]any{
		"action": "copy", "from": map[string]any{"session_id": c.ids["b"], "path": path},
		"to": map[string]any{"session_id": c.ids["a"], "path": to},
	})
	if !strings.Contains(back.text, sum) {
		t.Errorf("copy in the other direction = %s", back.text)
	}
	c.want(to, data)
}

// TestCopyOnRecord: the audit log of each node has its end of a copy, in the name of the caller that the client's node
// has named. Both have the id of the copy.
func TestCopyOnRecord(t *testing.T) {
	t.Parallel()
	log := map[string]string{"a": filepath.Join(t.TempDir(), "a"), "b": filepath.Join(t.TempDir(), "b")}
	more := make(map[string]string)
	for node, path := range log {
		more[node] = fmt.Sprintf("[audit]\npath = %q\n", path)
	}
	c := newCopies(t, more)
	path, _, _ := c.write("file", 1138)
	if r := c.copy(c.at("c"), path, filepath.Join(c.to, "file"), nil); r.ErrorCode != "" {
		t.Fatalf("copy = %s", r.text)
	}
	ids := make(map[string]string)
	for node, event := range map[string]string{"a": "file_read", "b": "file_write"} {
		natstest.Eventually(t, "the end of the copy is on record", func() bool {
			for _, e := range entries(t, log[node]) {
				if e.Event == event && e.Copy != "" && e.Bytes == 1138 && e.Actor.Node == "c" && e.Actor.Token == "ops" && e.Session == c.ids[node] {
					ids[node] = e.Copy
				}
			}
			return ids[node] != ""
		})
	}
	if ids["a"] != ids["b"] {
		t.Errorf("the copy is %q on record at a and %q at b, want one id", ids["a"], ids["b"])
	}
}
