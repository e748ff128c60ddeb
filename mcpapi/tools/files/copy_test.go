//go:build unix

package files_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/fsx"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// fileCopy is the result of a copy.
type fileCopy struct {
	DoneReason string `json:"done_reason"`
	SessionID  string `json:"session_id"`
	ExecID     string `json:"exec_id"`
	To         string
	Bytes      int64
	Files      int
	Folders    int
	Unchanged  int
	Failed     int
	Skipped    []struct{ Path, Why string }
	SkippedAll int   `json:"skipped_count"`
	ResumedAt  int64 `json:"resumed_at"`
	Verified   *bool
	SHA256     string
	Warnings   []string
}

// noise returns bytes that repeat nowhere.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(data)
	return data
}

func write(t *testing.T, name string, data []byte, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, mode); err != nil {
		t.Fatal(err)
	}
}

// names returns all names below a folder.
func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCopy copies a file of several blocks in all four directions.
func TestCopy(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	l.Open("")
	data := noise(5<<20 + 17)
	sum := sha256.Sum256(data)
	sides := map[string]string{"far": l.far, "here": l.here}
	place := func(side, name string) string {
		if side == "far" {
			return fmt.Sprintf(`{"session_id":"$S","path":%q}`, filepath.Join(l.far, name))
		}
		return fmt.Sprintf(`{"path":%q}`, filepath.Join(l.here, name))
	}
	for from, dir := range sides {
		write(t, filepath.Join(dir, "source"), data, 0o751)
		for to, target := range sides {
			l.seen.Take()
			name := "from-" + from
			r := fsCall[fileCopy](l, `{"action":"copy","from":`+place(from, "source")+`,"to":`+place(to, name)+`}`)
			if r.Bytes != int64(len(data)) || r.Verified == nil || !*r.Verified || r.SHA256 != hex.EncodeToString(sum[:]) ||
				r.To != "" {
				t.Errorf("%s to %s: %+v", from, to, r)
			}
			got, err := os.ReadFile(filepath.Join(target, name))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s to %s: the copy differs: %d bytes, %v", from, to, len(got), err)
			}
			info, err := os.Stat(filepath.Join(target, name))
			if err != nil || info.Mode() != 0o751 {
				t.Errorf("%s to %s: mode %v, %v; want that of the source", from, to, info.Mode(), err)
			}
			var id string
			for _, e := range l.seen.Take() {
				if e.Verb != term.VerbFileRead && e.Verb != term.VerbFileWrite {
					t.Errorf("%s to %s made the event %+v", from, to, e)
					continue
				}
				if e.Copy == "" || id != "" && id != e.Copy || e.Size != len(data) || e.Outcome() != nil ||
					!strings.HasSuffix(e.Detail, hex.EncodeToString(sum[:])) {
					t.Errorf("%s to %s made the event %+v", from, to, e)
				}
				id = e.Copy
			}
		}
	}
	for _, dir := range sides {
		if got := names(t, dir); !slices.Equal(got, []string{"from-far", "from-here", "source"}) {
			t.Errorf("in the folder are %q", got)
		}
	}
	// An existing file keeps its permissions, and a folder takes the file under its own name.
	write(t, filepath.Join(l.far, "old"), []byte("old"), 0o600)
	write(t, filepath.Join(l.far, "folder/other"), nil, 0o600)
	fsCall[fileCopy](l, `{"action":"copy","from":`+place("here", "source")+`,"to":`+place("far", "old")+`}`)
	if info, err := os.Stat(filepath.Join(l.far, "old")); err != nil || info.Mode() != 0o600 || info.Size() != int64(len(data)) {
		t.Errorf("the file that was replaced: %v, %v", info, err)
	}
	r := fsCall[fileCopy](l, `{"action":"copy","from":`+place("here", "source")+`,"to":`+place("far", "folder")+`}`)
	if want := filepath.Join(l.far, "folder/source"); r.To != want {
		t.Errorf("into a folder: %+v, want %s", r, want)
	}
	l.wantProcesses(1)
}

// wantProcesses waits until n processes run on the far side: the server starts a shell, and hears of the end of a
// channel, a moment later.
func (l *filesLab) wantProcesses(n int) {
	l.T.Helper()
	for deadline := time.Now().Add(time.Minute); l.SSH.Stats().Processes != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.T.Fatalf("%d processes run on the far side, want %d", l.SSH.Stats().Processes, n)
		}
	}
}

// TestCopyTree: folders and files are copied, and everything else is listed and left where it is.
func TestCopyTree(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{Entries: 2})
	l.Open("")
	tree := filepath.Join(l.far, "tree")
	for _, name := range []string{"a", "B", "sub/c", "sub/deep/d", "sub/\xff", "e"} {
		write(t, filepath.Join(tree, name), []byte(name), 0o640)
	}
	if err := os.Mkdir(filepath.Join(tree, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(l.here, "secret"), []byte("outside"), 0o600)
	for name, target := range map[string]string{"link": "a", "out": "/etc", "sub/up": "../.."} {
		if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(tree, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := fmt.Sprintf(`{"action":"copy","recursive":true,"from":{"session_id":"$S","path":%q},"to":{"path":%q}`,
		tree, filepath.Join(l.here, "tree"))
	r := fsCall[fileCopy](l, args+`}`)
	if r.Files != 6 || r.Folders != 3 || r.SkippedAll != 4 || r.Failed != 0 || len(r.Skipped) != 4 || !*r.Verified {
		t.Errorf("copy: %+v", r)
	}
	if got, want := names(t, filepath.Join(l.here, "tree")), []string{
		"B", "a", "e", "empty", "sub", "sub/c", "sub/deep", "sub/deep/d", "sub/\xff",
	}; !slices.Equal(got, want) {
		t.Errorf("copied are %q, want %q", got, want)
	}
	// Again: files that are there are not copied again.
	if err := os.Remove(filepath.Join(l.here, "tree/a")); err != nil {
		t.Fatal(err)
	}
	if r := fsCall[fileCopy](l, args+`,"resume":true}`); r.Files != 1 || r.Unchanged != 5 || r.Folders != 0 {
		t.Errorf("resumed: %+v", r)
	}
	// A link at the target leads nowhere.
	for _, name := range []string{"a", "sub"} {
		if err := os.RemoveAll(filepath.Join(l.here, "tree", name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"a": "../secret", "sub": ".."} {
		if err := os.Symlink(target, filepath.Join(l.here, "tree", name)); err != nil {
			t.Fatal(err)
		}
	}
	if r := fsCall[fileCopy](l, args+`}`); r.Failed != 2 || r.Files != 2 {
		t.Errorf("onto links: %+v", r)
	}
	if text, err := os.ReadFile(filepath.Join(l.here, "secret")); err != nil || string(text) != "outside" {
		t.Errorf("the target of a link holds %q, %v", text, err)
	}
	l.Fails(mcptest.FilesTool, strings.Replace(args, `"recursive":true,`, "", 1)+`}`, term.InvalidArgument, "recursive")
	l.Fails(mcptest.FilesTool, fmt.Sprintf(
		`{"action":"copy","recursive":true,"from":{"path":%q},"to":{"path":%q}}`, filepath.Join(l.here, "secret"), l.here+"/x",
	), term.InvalidArgument, "no folder")
}

// TestCopyRefused: limits, rules and locks hold for both ends, and a refused copy leaves no file.
func TestCopyRefused(t *testing.T) {
	var forbidden string
	l := newFilesLab(t, mcptest.Config{Sessions: session.Config{
		Copies: session.CopyLimits{Bytes: 1 << 20, Files: 4},
		Gate:   gateOn(&forbidden),
	}}, fsx.Limits{})
	l.Open("")
	write(t, filepath.Join(l.far, "large"), noise(1<<20+1), 0o600)
	write(t, filepath.Join(l.far, "small"), noise(10), 0o600)
	for _, name := range []string{"1", "2", "3", "sub/4"} {
		write(t, filepath.Join(l.far, "tree", name), nil, 0o600)
	}
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(l.far, "two", name), noise(600<<10), 0o600)
	}
	copyOf := func(name, more string) string {
		return fmt.Sprintf(`{"action":"copy","from":{"session_id":"$S","path":%q},"to":{"path":%q}%s}`,
			filepath.Join(l.far, name), filepath.Join(l.here, "copy"), more)
	}
	l.Fails(mcptest.FilesTool, copyOf("large", ""), term.LimitExceeded, "fs.max_copy_bytes")
	l.Fails(mcptest.FilesTool, copyOf("tree", `,"recursive":true`), term.LimitExceeded, "fs.max_copy_files")
	l.Fails(mcptest.FilesTool, copyOf("two", `,"recursive":true`), term.LimitExceeded, "fs.max_copy_bytes")
	l.Fails(mcptest.FilesTool, copyOf("none", ""), term.NotFound)
	for _, forbidden = range []string{"file_read " + l.far + "/small", "file_write " + l.here + "/copy"} {
		l.Fails(mcptest.FilesTool, copyOf("small", ""), term.PolicyDenied, "the gate says no")
	}
	forbidden = ""
	if got := names(t, l.here); got != nil {
		t.Errorf("left are %q", got)
	}
	// In a tree, each file is asked for.
	forbidden = "file_read " + l.far + "/two/b"
	if err := os.Truncate(filepath.Join(l.far, "two/b"), 5); err != nil {
		t.Fatal(err)
	}
	if r := fsCall[fileCopy](l, copyOf("two", `,"recursive":true`)); r.Files != 1 || r.Failed != 1 ||
		r.Skipped[0].Path != "b" || !strings.Contains(r.Skipped[0].Why, "the gate says no") {
		t.Errorf("a tree with a file that may not be read: %+v", r)
	}
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"t1"}`)
	back := fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{"session_id":"$S","path":%q}`,
		filepath.Join(l.here, "copy/a"), filepath.Join(l.far, "back"))
	l.Fails(mcptest.FilesTool, back+`,"task_id":"t2"}`, term.Locked)
	l.OK(mcptest.FilesTool, back+`,"task_id":"t1"}`)
	l.OK(mcptest.FilesTool, copyOf("small", "")) // the source needs no lock
	l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"path":"/etc/passwd"},"to":{"path":"`+l.here+`/x"}}`,
		term.PolicyDenied, "fs.roots")
	l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"path":"`+l.here+`/copy/a"},"to":{"path":"/etc/x"}}`,
		term.PolicyDenied, "fs.roots")
	l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"path":""},"to":{"path":"x"}}`, term.InvalidArgument, "from.path")
	l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"session_id":"none-12345678","path":"x"},"to":{"path":"x"}}`,
		term.NotFound, "no session")
	l.Fails(mcptest.FilesTool, `{"action":"copy","path":"x","to":{"path":"x"}}`, term.InvalidArgument)
}

// gateOn refuses the verb and path that forbidden holds.
func gateOn(forbidden *string) term.Gate {
	return func(_ context.Context, a term.Action) (term.Ruling, error) {
		if *forbidden != "" && string(a.Verb)+" "+a.Path == *forbidden {
			return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "the gate says no"}
		}
		return term.Ruling{}, nil
	}
}

// TestCopyOnHost: an end may name its host in place of a session.
func TestCopyOnHost(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	type named struct {
		fileCopy
		From string `json:"from_session_id"`
		Onto string `json:"to_session_id"`
	}
	host := fmt.Sprintf(`"host":"demo@127.0.0.1:%d"`, l.SSH.Port())
	data := noise(300_000)
	write(t, filepath.Join(l.here, "source"), data, 0o600)
	up := fsCall[named](l, fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{%s,"path":%q}}`,
		filepath.Join(l.here, "source"), host, filepath.Join(l.far, "up")))
	if up.Onto == "" || up.From != "" || up.Bytes != int64(len(data)) {
		t.Fatalf("to a host: %+v", up)
	}
	down := fsCall[named](l, fmt.Sprintf(`{"action":"copy","from":{%s,"path":%q},"to":{"session_id":null,"path":%q}}`,
		host, filepath.Join(l.far, "up"), filepath.Join(l.here, "down")))
	if down.From != up.Onto || down.Onto != "" {
		t.Errorf("from the host: %+v; want the session %s", down, up.Onto)
	}
	across := fsCall[named](l, fmt.Sprintf(`{"action":"copy","from":{%s,"path":%q},"to":{%s,"path":%q}}`,
		host, filepath.Join(l.far, "up"), host, filepath.Join(l.far, "across")))
	if across.From != up.Onto || across.Onto != up.Onto {
		t.Errorf("from host to host: %+v; want the session %s at both ends", across, up.Onto)
	}
	for _, name := range []string{filepath.Join(l.here, "down"), filepath.Join(l.far, "across")} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s has %d bytes, %v; want the source", name, len(got), err)
		}
	}
	// An open session of the caller's is used, as by a command; and one that the copy has opened closes by itself.
	if list := l.OK(mcptest.SessionTool, `{"action":"list"}`).Sessions; len(list) != 1 || !list[0].Auto {
		t.Errorf("list: %+v; want one session, which closes by itself", list)
	}
	if r := l.OK(mcptest.ExecTool, `{`+host+`,"cmd":"true"}`); r.SessionID != up.Onto {
		t.Errorf("a command on the host ran in %s, want %s", r.SessionID, up.Onto)
	}
	verbs := make(map[term.Verb]int)
	for _, e := range l.seen.Take() {
		verbs[e.Verb]++
	}
	if verbs[term.VerbOpen] != 1 || verbs[term.VerbFileWrite] != 3 || verbs[term.VerbFileRead] != 3 {
		t.Errorf("the record has %v; want one open, and a read and a write for each copy", verbs)
	}
}

func TestCopyOnHostRefused(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{}, fsx.Limits{})
	for _, tt := range []struct{ end, field, part string }{
		{`{"host":"","path":"/x"}`, "to.host", "is empty"},
		{`{"host":"web1","session_id":"web1-k3f9q2zd","path":"/x"}`, "to.host", "exclude each other"},
		{`{"host":"telnet://sw1","path":"/x"}`, "to.host", "over Telnet"},
		{`{"host":"web1:99999","path":"/x"}`, "to.host", "a number from 1 to 65535"},
		{`{"host":"alice:typed-secret-1138@web1","path":"/x"}`, "to.host", "a password"},
		{`{"host":"web1"}`, "to.path", "path is missing"},
	} {
		r := l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"path":"/x"},"to":`+tt.end+`}`, term.InvalidArgument, tt.part)
		if r.Details.Field != tt.field {
			t.Errorf("%s: field %q, want %q", tt.end, r.Details.Field, tt.field)
		}
	}
	if n := len(l.Manager.List()); n != 0 {
		t.Errorf("%d sessions were opened by calls that were refused", n)
	}
	l.Fails(mcptest.FilesTool, `{"action":"copy","from":{"path":"/x"},"to":{"host":"127.0.0.1:1","path":"/x"}}`,
		term.ConnectFailed, "")
}

// TestCopyOnHostAsks: a login that asks is the result, in the form of open's, and the same call copies later.
func TestCopyOnHostAsks(t *testing.T) {
	l := newFilesLab(t, mcptest.Config{
		SSH: sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}},
	}, fsx.Limits{})
	write(t, filepath.Join(l.here, "source"), []byte("text"), 0o600)
	args := fmt.Sprintf(`{"action":"copy","from":{"path":%q},"to":{"host":"demo@127.0.0.1:%d","path":%q},"request_id":"1"}`,
		filepath.Join(l.here, "source"), l.SSH.Port(), filepath.Join(l.far, "up"))
	for range 2 {
		r := l.OK(mcptest.FilesTool, args)
		if r.State != "authenticating" || r.Prompt == nil || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0], "nothing was copied") || l.Session != "" && r.SessionID != l.Session {
			t.Fatalf("a login that asks: %s", r.Text)
		}
		l.Session = r.SessionID
	}
	if got := names(t, l.far); len(got) != 0 {
		t.Errorf("before the login there are %q", got)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"correct horse-1138"}`)
	if r := fsCall[fileCopy](l, args); r.Bytes != 4 || r.SHA256 == "" {
		t.Errorf("after the answer: %+v", r)
	}
	if got := names(t, l.far); !slices.Equal(got, []string{"up"}) {
		t.Errorf("after the copy there are %q", got)
	}
}
