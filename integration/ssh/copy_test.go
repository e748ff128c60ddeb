package ssh

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/audit"
	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/internal/sshserver"
)

// A copyResult holds the fields of the result of a copy that the tests check.
type copyResult struct {
	DoneReason string `json:"done_reason"`
	SessionID  string `json:"session_id"`
	ExecID     string `json:"exec_id"`
	Bytes      int64
	Files      int
	Skipped    []struct{ Path, Why string }
	ResumedAt  int64 `json:"resumed_at"`
	Verified   *bool
	SHA256     string
}

// copyFile copies and waits for the end.
func copyFile(tb testing.TB, c lab.Tools, arguments string, values ...any) (r copyResult) {
	tb.Helper()
	text := c.Call(tb, toolFS, arguments, values...).Text
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		tb.Fatal(err)
	}
	if r.ExecID == "" {
		return r
	}
	var end struct {
		Stdout, Stderr string
		ExitCode       *int `json:"exit_code"`
	}
	for end.ExitCode == nil {
		text := c.Call(tb, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, r.SessionID, r.ExecID).Text
		if err := json.Unmarshal([]byte(text), &end); err != nil {
			tb.Fatal(err)
		}
	}
	r = copyResult{}
	if err := json.Unmarshal([]byte(end.Stdout), &r); err != nil || *end.ExitCode != 0 {
		tb.Fatalf("the end of a copy: %+v, %v", end, err)
	}
	return r
}

// noiseFile writes a file of bytes that repeat nowhere.
func noiseFile(tb testing.TB, path string, size int) (data []byte) {
	tb.Helper()
	data = make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{4}).Read(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return data
}

// sameFile compares a file with its expected content.
func sameFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		tb.Errorf("%s has %d bytes, %v; want the %d bytes of its source", path, len(got), err, len(data))
	}
}

// TestCopyOnHosts: the same way without an open, by the names of the hosts.
func TestCopyOnHosts(t *testing.T) {
	one, two := lab.StartSSHD(t, sftpLine), lab.StartSSHD(t, "Subsystem sftp /usr/lib/openssh/sftp-server")
	root := t.TempDir()
	h := lab.HomeFor(t, []*lab.SSHD{one, two}, "[fs]", "roots = ['"+root+"']", "remote = true",
		"[policy]", fmt.Sprintf("deny = ['> %s/denied*']", two.Home), "deny_hosts = ['192.0.2.*']")
	c := h.Connect(t)
	data := noiseFile(t, filepath.Join(root, "source"), 2<<20+5)
	here := func(name string) string { return `{"path":"` + root + "/" + name + `"}` }
	host := func(s *lab.SSHD, name string) string {
		return fmt.Sprintf(`{"host":"%s@127.0.0.1:%d","path":"%s/%s"}`, s.User, s.Port, s.Home, name)
	}
	for _, tt := range []struct{ from, to, path string }{
		{here("source"), host(one, "copy"), one.Home + "/copy"},
		{host(one, "copy"), host(two, "copy"), two.Home + "/copy"},
		{host(two, "copy"), here("back"), root + "/back"},
	} {
		r := copyFile(t, c.Tools, `{"action":"copy","from":`+tt.from+`,"to":`+tt.to+`}`)
		if r.Bytes != int64(len(data)) || r.Verified == nil || !*r.Verified {
			t.Errorf("%s to %s: %+v", tt.from, tt.to, r)
		}
		sameFile(t, tt.path, data)
	}
	list := c.Call(t, lab.ToolSession, `{"action":"list"}`)
	if n := strings.Count(list.Text, `"auto":true`); n != 2 {
		t.Errorf("list: %s; want a session for each host, which closes by itself", list.Text)
	}
	c.Refused(t, "POLICY_DENIED", toolFS, `{"action":"copy","from":`+here("source")+`,"to":`+host(two, "denied")+`}`)
	if _, err := os.Stat(two.Home + "/denied"); err == nil {
		t.Error("a copy that a rule denies was made")
	}
	c.Refused(t, "POLICY_DENIED", toolFS, `{"action":"copy","from":`+here("source")+`,"to":{"host":"192.0.2.7","path":"x"}}`)
}

// TestCopy: a file goes from this machine to a host, from there to another host, and back, and the audit log has both
// ends of each copy under one id.
func TestCopy(t *testing.T) {
	one, two := lab.StartSSHD(t, sftpLine), lab.StartSSHD(t, "Subsystem sftp /usr/lib/openssh/sftp-server")
	root := t.TempDir()
	h := lab.HomeFor(t, []*lab.SSHD{one, two}, "[fs]", "roots = ['"+root+"']", "remote = true", "[audit]", "fail_closed = true")
	c := h.Connect(t)
	first, second := c.Open(t, one), c.Open(t, two)
	data := noiseFile(t, filepath.Join(root, "source"), 9<<20+5)
	sum := sha256.Sum256(data)
	for _, tt := range []struct{ from, to, path string }{
		{`{"path":"source"}`, `{"session_id":"` + first + `","path":"` + one.Home + `/copy"}`, one.Home + "/copy"},
		{`{"session_id":"` + first + `","path":"` + one.Home + `/copy"}`, `{"session_id":"` + second + `","path":"` + two.Home + `/copy"}`, two.Home + "/copy"},
		{`{"session_id":"` + second + `","path":"` + two.Home + `/copy"}`, `{"path":"back"}`, root + "/back"},
	} {
		r := copyFile(t, c.Tools, `{"action":"copy","from":`+tt.from+`,"to":`+tt.to+`}`)
		if r.Bytes != int64(len(data)) || r.SHA256 != hex.EncodeToString(sum[:]) || r.Verified == nil || !*r.Verified {
			t.Errorf("%s to %s: %+v", tt.from, tt.to, r)
		}
		sameFile(t, tt.path, data)
	}
	// A tree of the program itself, as someone would fetch logs.
	for _, name := range []string{"logs/a", "logs/old/b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(one.Home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		noiseFile(t, filepath.Join(one.Home, name), 100)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(one.Home, "logs/link")); err != nil {
		t.Fatal(err)
	}
	r := copyFile(t, c.Tools, `{"action":"copy","recursive":true,"from":{"session_id":%s,"path":%s},"to":{"path":"logs"}}`,
		first, filepath.Join(one.Home, "logs"))
	if r.Files != 2 || len(r.Skipped) != 1 || r.Skipped[0].Path != "link" {
		t.Errorf("a tree: %+v", r)
	}
	c.Finish()

	ids := make(map[string][]audit.Entry)
	for _, event := range []string{"file_read", "file_write"} {
		for _, n := range lab.AuditLines(t, h.Audit, event) {
			if n.Copy == "" {
				t.Errorf("a line without copy_id: %+v", n)
			}
			if !n.Intent {
				ids[n.Copy] = append(ids[n.Copy], n)
			}
		}
	}
	if len(ids) != 4 {
		t.Errorf("the log has %d copies, want 4", len(ids))
	}
	for id, lines := range ids {
		if len(lines) == 2 && (lines[0].Bytes != len(data) || lines[1].Bytes != len(data) || lines[0].Event == lines[1].Event ||
			!strings.Contains(lines[0].Detail, r.SHA256) || lines[0].Outcome != "ok") {
			t.Errorf("the lines of %s: %+v", id, lines)
		}
		if len(lines) != 2 && len(lines) != 9 { // two ends, two lists, a folder, and both ends of two files
			t.Errorf("%s has %d lines: %+v", id, len(lines), lines)
		}
	}
}

// TestCopyCut: the server's process is killed in the middle of a copy. The old file stays, and a copy over another
// connection goes on.
func TestCopyCut(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	root := t.TempDir()
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "roots = ['"+root+"']", "remote = true").Connect(t)
	data := noiseFile(t, filepath.Join(s.Home, "source"), 160<<20)
	if err := os.WriteFile(filepath.Join(root, "copy"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	const arguments = `{"action":"copy","resume":true,"from":{"session_id":%s,"path":%s},"to":{"path":"copy"}}`
	id := c.Open(t, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Refused(t, "REMOTE_CLOSED", toolFS, arguments, id, filepath.Join(s.Home, "source"))
	}()
	var part string
	lab.Eventually(t, "a part of the file", func() bool {
		found, _ := filepath.Glob(filepath.Join(root, ".copy.*.ptyctl-part"))
		if len(found) != 1 {
			return false
		}
		part = found[0]
		info, err := os.Stat(part)
		return err == nil && info.Size() > 32<<20
	})
	for _, p := range s.Sessions(t) {
		for _, p := range append(lab.Descendants(t, p.PID), p) {
			_ = system.Kill(p.PID, syscall.SIGKILL)
		}
	}
	<-ended
	sameFile(t, filepath.Join(root, "copy"), []byte("old"))
	r := copyFile(t, c.Tools, arguments, c.Open(t, s), filepath.Join(s.Home, "source"))
	if r.ResumedAt < 16<<20 || r.ResumedAt+r.Bytes != int64(len(data)) {
		t.Errorf("the copy that goes on: %+v", r)
	}
	sameFile(t, filepath.Join(root, "copy"), data)
	if _, err := os.Stat(part); err == nil {
		t.Errorf("%s is still there", part)
	}
}

// TestCopyFrozen: a server that stops answering does not keep the call beyond its timeout.
func TestCopyFrozen(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	root := t.TempDir()
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "roots = ['"+root+"']", "remote = true").Connect(t)
	source := filepath.Join(s.Home, "source")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(source, 1<<30); err != nil { // more than can be moved before the server is stopped
		t.Fatal(err)
	}
	id := c.Open(t, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := c.Refused(t, "IO_ERROR", toolFS, `{"action":"copy","timeout_ms":3000,"verify":true,"from":{"session_id":%s,"path":%s},`+
			`"to":{"path":"copy"}}`, id, source)
		if !strings.Contains(r.Message, "timed out") {
			t.Errorf("the message is %q", r.Message)
		}
	}()
	lab.Eventually(t, "a part of the file", func() bool {
		found, _ := filepath.Glob(filepath.Join(root, ".ptyctl-*.tmp"))
		return len(found) == 1
	})
	s.Freeze(t, s.Sessions(t)[0])
	<-ended
	if names, err := os.ReadDir(root); err != nil || len(names) != 0 {
		t.Errorf("left over: %v, %v", names, err)
	}
}

// TestCopyDiskFull copies more than there is room for: the old file stays, nothing is left over, and the message says
// why.
func TestCopyDiskFull(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	noiseFile(t, filepath.Join(s.Home, "source"), 200<<10)
	root := t.TempDir()
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "roots = ['"+root+"']", "remote = true")
	h.InNamespace(t, `mount -t tmpfs -o size=64k,mode=700 small "$1" && echo old >"$1/file" && shift && exec "$@"`, root)
	c := h.Connect(t)
	id := c.Open(t, s)
	r := c.Refused(t, "IO_ERROR", toolFS, `{"action":"copy","from":{"session_id":%s,"path":%s},"to":{"path":"file"}}`,
		id, filepath.Join(s.Home, "source"))
	if !strings.Contains(r.Message, "no space left") {
		t.Errorf("the message is %q", r.Message)
	}
	if r := callFile(t, c.Tools, `{"action":"read","path":"file"}`); r.Data != "old\n" {
		t.Errorf("the file holds %.20q", r.Data)
	}
	if r := callFile(t, c.Tools, `{"action":"list","path":"."}`); len(r.Entries) != 1 {
		t.Errorf("left over: %+v", r.Entries)
	}
}

// TestCopyHostile copies a tree from a server that gives names that lead elsewhere, and files without an end: nothing
// is written outside of the target, and the limit of a copy holds.
func TestCopyHostile(t *testing.T) {
	hostile := new(hostileSFTP)
	srv := lab.ServeSSH(
		t, sshserver.Config{NoAuth: true, Subsystems: map[string]string{"sftp": ""}, Handler: hostile.serve},
	)
	root := t.TempDir()
	h := lab.NewHome(t, "[fs]", "remote = true", "roots = ['"+root+"']", "max_copy_bytes = 1000000")
	h.Trust(t, srv.KnownHostsLine())
	c := h.Connect(t)
	id := c.Call(t, lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"u","pty":{"enabled":false}}`,
		srv.Port()).SessionID
	c.Refused(t, "LIMIT_EXCEEDED", toolFS,
		`{"action":"copy","recursive":true,"from":{"session_id":%s,"path":"/folder"},"to":{"path":"sub"}}`, id)
	// Two of the names say that they are empty; the others are not names of a folder, or have no end.
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, failed := d.Info()
			if failed != nil || info.Size() > 0 || filepath.Dir(path) != filepath.Join(root, "sub") {
				t.Errorf("%s was written: %v, %v", path, info, failed)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopyByRule: the rules for files hold for both ends of a copy.
func TestCopyByRule(t *testing.T) {
	s := lab.StartSSHD(t, sftpLine)
	root := t.TempDir()
	noiseFile(t, filepath.Join(s.Home, "far"), 10)
	noiseFile(t, filepath.Join(root, "here"), 10)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "remote = true", "roots = ['"+root+"']",
		"[policy]", `read_only_hosts = ["127.*"]`).Connect(t)
	id := c.Open(t, s)
	far := filepath.Join(s.Home, "far")
	c.DeniedBy(t, "policy.read_only_hosts", toolFS,
		`{"action":"copy","from":{"path":"here"},"to":{"session_id":%s,"path":%s}}`, id, far)
	copyFile(t, c.Tools, `{"action":"copy","from":{"session_id":%s,"path":%s},"to":{"path":"copy"}}`, id, far)

	c = lab.NewHome(t, "[fs]", "roots = ['"+root+"']").Connect(t, "--read-only")
	c.Refused(t, "POLICY_DENIED", toolFS, `{"action":"copy","from":{"path":"here"},"to":{"path":"there"}}`)
}
