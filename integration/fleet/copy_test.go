package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

const filesTool = "ptyctl_fs"

// has gives a host a file.
func has(t *testing.T, r *lab.Rack, i int, name string, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(r.Files(i), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// A copied is a result of a copy to or from many hosts.
type copied struct {
	answer
	Groups []struct {
		Hosts   string
		N       int
		Outcome string
		Bytes   *int64
		SHA256  string
	}
}

// copies calls the tool for files.
func copies(t *testing.T, c *lab.Client, arguments string, values ...any) (a copied) {
	t.Helper()
	r := c.Call(t, filesTool, arguments, values...)
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatalf("%s %s: the result %s: %v", filesTool, arguments, r.Text, err)
	}
	a.text = r.Text
	if len(a.text) > 2000 {
		t.Errorf("the answer has %d bytes, want at most 2,000:\n%s", len(a.text), a.text)
	}
	return a
}

// group returns the hosts with an outcome.
func (a copied) group(outcome string) string {
	for _, g := range a.Groups {
		if g.Outcome == outcome {
			return g.Hosts
		}
	}
	return ""
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// fsLines offer the files of this machine below dir, and those of hosts.
func fsLines(dir string) []string {
	return []string{"[fs]", "roots = ['" + dir + "']", "remote = true"}
}

// A file goes to sixteen hosts, six of them in trouble: the answer is true for each of them, and no host has half a
// file.
func TestCopyToHosts(t *testing.T) {
	here := t.TempDir()
	r := lab.NewRack(t, 16, each, fsLines(here)...)
	const key, dying, refusing = 13, 14, 15
	r.Rekey(t, key)
	r.Refuses(t, refusing)
	content := bytes.Repeat([]byte("line of a file\n"), 100_000)
	source := filepath.Join(here, "app.conf")
	if err := os.WriteFile(source, content, 0o640); err != nil {
		t.Fatal(err)
	}
	old := []byte("old\n")
	same := has(t, r, 0, "app.conf", content, 0o600)
	was, err := os.Stat(same)
	if err != nil {
		t.Fatal(err)
	}
	has(t, r, 1, "app.conf", old, 0o600)
	r.Serves(t, 1, "exec $server -R") // a file system that takes no writes
	full := "mount -t tmpfs -o size=64k,mode=700 small . && cd . && exec $server"
	unshare := "unshare --mount --propagation private"
	if os.Getuid() != 0 {
		unshare += " --user --map-root-user"
	}
	r.Serves(t, 2, "export server; exec "+unshare+" sh -c 'cd $PWD; "+strings.ReplaceAll(full, "cd .", "cd $PWD")+"'")
	replaced := has(t, r, 3, "app.conf", old, 0o604)
	half := has(t, r, dying, "app.conf", old, 0o600)
	r.Serves(t, dying, "{ dd bs=65536 count=16; sleep 60; } | $server; exit") // it stops within the file
	go func() {
		lab.Eventually(t, "a file that is written on the host that dies", func() bool {
			list, _ := filepath.Glob(filepath.Join(r.Files(dying), ".ptyctl*"))
			return len(list) > 0
		})
		r.Server(dying).Stop(t)
	}()
	c := connect(t, r)
	a := copies(t, c, `{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"app.conf"},"max_parallel":20}`, source, []string{r.Hosts()})
	if a.Hosts != 16 || len(a.Groups) != 2 || a.Groups[0].N != 10 || a.Groups[0].Outcome != "written" ||
		a.Groups[0].SHA256 != sum(content) || *a.Groups[0].Bytes != int64(len(content)) || a.group("unchanged") != r.Name(0) {
		t.Fatalf("the answer is %s; want 10 written, and n001 unchanged", a.text)
	}
	for code, want := range map[string][2]string{
		"access_denied":    {r.Name(1), "permission denied"},
		"io_error":         {r.Name(2), "space"},
		"hostkey_mismatch": {r.Name(key), "never reached: known_hosts has another key"},
		"connection_lost":  {r.Name(dying), "broke midway; nothing was replaced"},
		"connect_failed":   {r.Name(refusing), "never reached: tcp: connection refused"},
	} {
		if hosts, reason := a.failure(code); hosts != want[0] || !strings.Contains(reason, want[1]) {
			t.Errorf("%s: %q, %q; want %s, %q", code, hosts, reason, want[0], want[1])
		}
	}
	if strings.Contains(a.text, ".ptyctl") {
		t.Errorf("the answer is %s; want no name of a temporary file, which is another one for each host", a.text)
	}
	for i := 3; i < each; i++ {
		if got := lab.ReadFile(t, filepath.Join(r.Files(i), "app.conf")); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, want the file", r.Name(i), len(got))
		}
	}
	wantMode(t, replaced, 0o604)
	wantMode(t, filepath.Join(r.Files(4), "app.conf"), 0o640)
	if is, err := os.Stat(same); err != nil || !is.ModTime().Equal(was.ModTime()) || is.Mode() != was.Mode() {
		t.Errorf("the file that was there already: %v, %v; want it untouched", is, err)
	}
	for _, path := range []string{half, filepath.Join(r.Files(1), "app.conf")} {
		if got := lab.ReadFile(t, path); !bytes.Equal(got, old) {
			t.Errorf("%s has %d bytes, want the old ones", path, len(got))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir, "127.0.1.*", ".ptyctl*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	reads, writes := 0, 0
	for line := range strings.Lines(string(lab.ReadFile(t, r.Audit))) {
		switch {
		case strings.Contains(line, `"event":"file_read"`):
			reads++
		case strings.Contains(line, `"event":"file_write"`) && strings.Contains(line, a.FleetID):
			writes++
		}
	}
	if reads != 1 || writes != 14 {
		t.Errorf("the audit log has %d reads and %d writes, want the one of the source, and one for each of 14 hosts", reads, writes)
	}
	if got := call(t, c, `{"action":"status","fleet_id":%s}`, a.FleetID); got.Hosts != 16 || !strings.Contains(got.text, sum(content)) {
		t.Errorf("status of the copy: %s; want the same answer", got.text)
	}
	again := copies(t, c, `{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"app.conf"}}`, source, []string{"n[001-013]"})
	if len(again.Groups) != 1 || again.Groups[0].N != 11 || again.Groups[0].Outcome != "unchanged" {
		t.Errorf("the same copy again: %s; want 11 hosts unchanged", again.text)
	}
}

func wantMode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s has the mode %v, %v; want %v", path, info.Mode(), err, mode)
	}
}

// A file of each host comes into a folder for each; equal ones are one group. Nothing here is replaced unasked.
func TestCollect(t *testing.T) {
	here := t.TempDir()
	r := lab.NewRack(t, each, each, fsLines(here)...)
	for i := 1; i <= each; i++ {
		content := "max_clients = 100\n"
		if i == 7 {
			content = "max_clients = 10\n"
		}
		has(t, r, i-1, "app.conf", []byte(content), 0o640)
	}
	if err := os.Remove(filepath.Join(r.Files(1), "app.conf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.Files(2), "app.conf.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	odd := has(t, r, 3, "app.conf", nil, 0o640)
	if err := os.Remove(odd); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	zero := has(t, r, 4, "app.conf", nil, 0o640)
	if err := os.Remove(zero); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	c := connect(t, r)
	collect := `{"action":"collect","hosts":%s,"path":"app.conf","to":{"path":%s}}`
	to := filepath.Join(here, "conf")
	a := copies(t, c, collect, []string{r.Hosts()}, to)
	if a.Hosts != each || len(a.Groups) != 2 || a.Groups[0].N != 9 || a.Groups[0].SHA256 != sum([]byte("max_clients = 100\n")) ||
		a.Groups[1].Hosts != r.Name(6) || a.Groups[1].Outcome != "written" {
		t.Fatalf("the answer is %s; want 9 alike, and 127.0.1.7", a.text)
	}
	for code, want := range map[string][2]string{
		"not_found":        {r.Name(1), "no such file"},
		"invalid_argument": {r.Name(3), "only files are collected"},
		"unsupported":      {r.Name(4), "only regular files"},
	} {
		if hosts, reason := a.failure(code); !strings.HasPrefix(hosts, want[0]) || !strings.Contains(reason, want[1]) {
			t.Errorf("%s: %q, %q; want %s, %q", code, hosts, reason, want[0], want[1])
		}
	}
	folder := func(i int) string { return r.Name(i - 1) }
	seven := filepath.Join(to, folder(7), "app.conf")
	if got := lab.ReadFile(t, seven); string(got) != "max_clients = 10\n" {
		t.Errorf("%s has %q, want the file of 127.0.1.7", seven, got)
	}
	wantMode(t, seven, 0o640)
	if left, _ := os.ReadDir(filepath.Join(to, folder(2))); len(left) > 0 {
		t.Errorf("the folder of a host without the file has %v", left)
	}

	has(t, r, 6, "app.conf", []byte("max_clients = 50\n"), 0o640)
	a = copies(t, c, collect, []string{r.Hosts()}, to)
	if hosts, _ := a.failure("exists"); hosts != r.Name(6) || len(a.Groups) != 1 || a.Groups[0].Outcome != "unchanged" ||
		string(lab.ReadFile(t, seven)) != "max_clients = 10\n" {
		t.Errorf("the second time: %s; want 9 unchanged, and the file of 127.0.1.7 left as it was", a.text)
	}
	a = copies(t, c, `{"action":"collect","hosts":%s,"path":"app.conf","to":{"path":%s},"overwrite":true}`, r.Name(6), to)
	if a.group("written") != r.Name(6) || string(lab.ReadFile(t, seven)) != "max_clients = 50\n" {
		t.Errorf("with overwrite: %s; want the file replaced", a.text)
	}
	c.Refused(t, "POLICY_DENIED", filesTool, collect, []string{r.Hosts()}, here+"/../elsewhere")
}

// Where a rule refuses one of the hosts, or one of the files, nothing is read, and no host is connected to.
func TestCopyRules(t *testing.T) {
	here := t.TempDir()
	r := lab.NewRack(t, each, each, append(fsLines(here), `[policy]`, `deny_hosts = ["127.0.1.3"]`,
		`deny = ["> /etc/app.conf", "< /etc/secret", "< `+here+`/secret", "> `+here+`/conf/n004/*"]`)...)
	for _, name := range []string{"app.conf", "secret"} {
		if err := os.WriteFile(filepath.Join(here, name), []byte("new\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, r)
	good, all := []string{r.Hosts(), "!" + r.Name(2)}, []string{r.Hosts()}
	for _, tt := range []struct {
		arguments string
		values    []any
		want      string
	}{
		{`{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"/srv/app.conf"}}`, []any{here + "/app.conf", all}, "nothing was copied: 1 of 13 hosts refused: " + r.Name(2)},
		{`{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"/etc/app.conf"}}`, []any{here + "/app.conf", good}, "12 of 12 hosts refused"},
		{`{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"/etc/"}}`, []any{here + "/app.conf", good}, "12 of 12 hosts refused"},
		{`{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"app.conf"}}`, []any{here + "/app.conf", good}, "12 of 12 hosts refused"},
		{`{"action":"copy","from":{"path":%s},"to":{"hosts":%s,"path":"/srv/app.conf"}}`, []any{here + "/secret", good}, "secret"},
		{`{"action":"collect","hosts":%s,"path":"/etc/secret","to":{"path":%s}}`, []any{good, here}, "12 of 12 hosts refused"},
		{`{"action":"collect","hosts":%s,"path":"/etc/hosts","to":{"path":%s}}`, []any{good, here + "/conf"}, "1 of 12 hosts refused: " + r.Name(3)},
	} {
		res := c.Refused(t, "POLICY_DENIED", filesTool, tt.arguments, tt.values...)
		if !strings.Contains(res.Text, tt.want) {
			t.Errorf("%s: %s; want %s", tt.arguments, res.Text, tt.want)
		}
	}
	if log := r.Servers[0].Log.String(); strings.Contains(log, "Accepted") {
		t.Errorf("a host was connected to:\n%s", log)
	}
	for _, tt := range []struct{ arguments, want string }{
		{`{"action":"copy","from":{"path":"a"},"to":{"hosts":[],"path":"b"}}`, "hosts"},
		{`{"action":"copy","from":{"path":"a"},"to":{"hosts":["x"],"host":"y","path":"b"}}`, "leave those out"},
		{`{"action":"copy","from":{"path":"a"},"to":{"hosts":["x"],"path":"b"},"recursive":true}`, "only a file"},
		{`{"action":"copy","from":{"path":"a"},"to":{"path":"b"},"canary":1}`, "to.hosts"},
		{`{"action":"collect","hosts":[],"path":"a","to":{"path":"b"}}`, "hosts"},
		{`{"action":"collect","hosts":["x"],"path":"/etc/..","to":{"path":"b"}}`, "no name of a file"},
		{`{"action":"collect","hosts":["x"],"path":"/etc/","to":{"path":"b"}}`, "no name of a file"},
		{`{"action":"collect","hosts":["x"],"path":"a","to":{"path":"b","host":"y"}}`, "to.path alone"},
		{`{"action":"collect","hosts":["x:22","x_22"],"path":"a","to":{"path":"b"}}`, "one folder"},
	} {
		if res := c.Refused(t, "INVALID_ARGUMENT", filesTool, tt.arguments); !strings.Contains(res.Text, tt.want) {
			t.Errorf("%s: %s; want %s", tt.arguments, res.Text, tt.want)
		}
	}
}

// A source that is not read within the call is refused with the limit that a call has.
func TestCopySourceTakesLonger(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, 2, 2, "[limits]", "max_wait_ms = 2000", "[fs]", "remote = true")
	has(t, r, 0, "app.conf", []byte("new"), 0o600)
	r.Serves(t, 0, "{ dd bs=1 count=9; sleep 60; } | $server; exit") // it answers, and then stops answering
	c := connect(t, r)
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":%s}`, r.Name(0)).SessionID
	res := c.Refused(t, "IO_ERROR", filesTool, `{"action":"copy","from":{"session_id":%s,"path":"app.conf"},"to":{"hosts":[%s],"path":"app.conf"}}`,
		id, r.Name(1))
	if !strings.Contains(res.Text, "limits.max_wait_ms") || !strings.Contains(res.Text, "nothing was copied") {
		t.Errorf("a source that takes too long: %s; want the limit that it has not kept", res.Text)
	}
}
