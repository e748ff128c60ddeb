package secret

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// printers are commands that show the line of a file in other forms.
var printers = []string{
	"cat F", "base64 F", "base64 -w 30 F", "(printf 'user:'; cat F) | base64", "(printf 'xy'; cat F) | base64 -w 9",
	"od -An -tx1 F", "od -An -v -tx1 F | tr -d ' \\n'", "rev F", "fold -w 7 F", `printf %q "$(cat F)"`,
	`sed 's/./\x1b[1;32m&/g' F`, `sed 's/\(....\)\(.*\)/\1/' F; sleep 0.3; sed 's/^....//' F`, "cat F F F",
	`(head -c 5 F; sleep 0.05; tail -c +6 F)`, `"$(cat F)"`,
}

// A secret that has answered a login is in no output of the host afterwards, of whichever lane, session and form.
func TestSecretsAreHidden(t *testing.T) {
	const value = `Planted's "horse" 1138`
	s := lab.StartSSHD(t, "Subsystem sftp internal-sftp")
	file := filepath.Join(t.TempDir(), "value")
	// The passphrase of a key costs much time on purpose.
	h := lab.NewHome(t, "[session]", "connect_timeout_ms = 120000", "[fs]", "remote = true", "[secret.key]", "source = 'file:"+file+"'",
		"hosts = ['web1']", "prompts = ['(?i)passphrase']", "auto = true")
	h.Write(t, file, value+"\n")
	identity := filepath.Join(h.Dir, "id")
	h.Write(t, identity, s.UserKey.Encrypted(t, value))
	h.Write(t, h.SSHConfig, fmt.Sprintf("Host web1\n\tIdentityFile %s\nHost web2\n\tIdentityFile %s\n"+
		"Host *\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tIdentityAgent none\n\tIdentitiesOnly yes\n",
		identity, s.Identity, s.Port, s.User))
	h.Trust(t, s.KnownHosts())
	far := filepath.Join(s.Home, "value")
	if err := os.WriteFile(far, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := h.Connect(t)
	var all strings.Builder
	call := func(tool, arguments string, values ...any) lab.Result {
		t.Helper()
		r, err := c.Try(t.Context(), tool, arguments, values...)
		if err != nil || r.ErrorCode != "" {
			t.Fatalf("%s %v: %v, %s", arguments, values, err, r.Text)
		}
		all.WriteString(r.Text + "\n")
		lab.WantHidden(t, fmt.Sprintf("%s %v", arguments, values), r.Text, value)
		return r
	}

	first := call(lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`)
	if first.State != "open" {
		t.Fatalf("open gives %s, want a session whose passphrase came from the secret", first.Text)
	}
	second := call(lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web2"}`)
	r := call(lab.ToolExec, `{"session_id":%s,"cmd":%s}`, second.SessionID, "cat "+far)
	if second.State != "open" || r.Stdout != "********\n" {
		t.Errorf("in a session of the same host by another name, cat gives %s, want a mask", r.Text)
	}
	for _, line := range printers {
		line = strings.ReplaceAll(line, "F", far)
		r := call(lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"channel"}`, first.SessionID, line)
		if !strings.Contains(r.Text, "********") {
			t.Errorf("%s gives %s, want a mask in it", line, r.Text)
		}
		call(lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"terminal"}`, first.SessionID, line)
	}
	call(lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, first.SessionID)
	call(lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","max_bytes":65536,"format":"raw"}`, first.SessionID)
	for _, part := range []string{"", `,"offset":4,"max_bytes":9`, `,"encoding":"base64"`} {
		r := call("ptyctl_fs", `{"action":"read","session_id":%s,"path":%s`+part+`}`, first.SessionID, far)
		mask := "********"
		if strings.Contains(part, "base64") {
			mask = base64.StdEncoding.EncodeToString([]byte(mask))[:10]
		}
		if !strings.Contains(r.Text, mask) || strings.Contains(r.Text, value[4:13]) {
			t.Errorf("a read of the file with %q gives %s, want a mask", part, r.Text)
		}
	}
	call(lab.ToolSession, `{"action":"status","session_id":%s}`, first.SessionID)
	c.Finish()

	for what, path := range map[string]string{"the audit log": h.Audit, "a recording": h.Recordings} {
		if n := lab.WantFilesHidden(t, path, nil, value); n == 0 {
			t.Errorf("%s is empty", what)
		}
	}
	if !strings.Contains(all.String(), "********") {
		t.Error("no mask was shown")
	}
	lab.WantHidden(t, "the log", c.Log.String(), value)
}
