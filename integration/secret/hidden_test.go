package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// hiddenForms are the forms of a value that are searched for, by name.
func hiddenForms(v string) map[string]string {
	reversed := []byte(v)
	for i := range len(v) / 2 {
		reversed[i], reversed[len(v)-1-i] = reversed[len(v)-1-i], reversed[i]
	}
	quoted, _ := json.Marshal(v)
	at := func(before int) string { // the part of base64 that does not depend on what is around
		all := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + v))
		return all[(8*before+5)/6 : 8*(before+len(v))/6]
	}
	return map[string]string{
		"value": v, "base64": at(0), "base64 at 1": at(1), "base64 at 2": at(2), "hex": hex.EncodeToString([]byte(v)),
		"URL": url.QueryEscape(v), "shell": strings.ReplaceAll(v, "'", `'\''`), "JSON": string(quoted[1 : len(quoted)-1]),
		"reversed": string(reversed),
	}
}

// wantHidden fails the test if the text shows the value in any form.
func wantHidden(t *testing.T, what, text string, values ...string) {
	t.Helper()
	// An answer is JSON, and in a recording the text of a terminal is, too.
	plain := strings.NewReplacer(`\r\n`, "", `\n`, "", "\r\n", "", "\n", "", `\\`, `\`, `\"`, `"`).Replace(text)
	for _, v := range values {
		for form, show := range hiddenForms(v) {
			if strings.Contains(text, show) || strings.Contains(plain, show) {
				t.Errorf("%s shows the %s of %q: %s", what, form, v, lab.Tail(text, 2000))
				return
			}
		}
	}
}

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
	h := lab.NewHome(t, "[fs]", "remote = true", "[secret.key]", "source = 'file:"+file+"'",
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
		wantHidden(t, fmt.Sprintf("%s %v", arguments, values), r.Text, value)
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
		n := 0
		err := filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			n += len(text)
			wantHidden(t, what+" "+path, string(text), value)
			return err
		})
		if err != nil || n == 0 {
			t.Errorf("%s has %d bytes, %v", what, n, err)
		}
	}
	if !strings.Contains(all.String(), "********") {
		t.Error("no mask was shown")
	}
	wantHidden(t, "the log", c.Log.String(), value)
}

// Sixty values are given at one login, and none is shown afterwards, in nine forms, in both lanes.
func TestSixtyPlantedValues(t *testing.T) {
	var values []string
	for i := range 60 {
		v := []string{"Planted-%02d-horse-1138", "pl%02d'tick\"1138", "Pl@n/ted+%02d=1138&x", "Wörter-%02d-1138 x", "%02dplanted"}[i%5]
		values = append(values, fmt.Sprintf(v, i))
	}
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask xssh.KeyboardInteractiveChallenge) error {
		for i, v := range values {
			answers, err := ask("", "", []string{fmt.Sprintf("Q%d: ", i)}, []bool{false})
			if err != nil || len(answers) != 1 || answers[0] != v {
				return fmt.Errorf("answer %d is wrong, or %w", i, err)
			}
		}
		return nil
	}})
	var lines []string
	dir := t.TempDir()
	far := filepath.Join(dir, "all")
	for i, v := range values {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("[secret.q%d]", i), "source = 'file:"+path+"'", "hosts = ['web1']",
			fmt.Sprintf("prompts = ['^Q%d: $']", i), "auto = true")
	}
	var shown strings.Builder
	for _, v := range values {
		for _, form := range hiddenForms(v) {
			shown.WriteString(form + "\n")
		}
	}
	if err := os.WriteFile(far, []byte(shown.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t, lines...)
	h.Write(t, h.SSHConfig, fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n"+
		"\tIdentityFile none\n", s.Port()))
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	began := time.Now()
	r := c.Call(t, lab.ToolExec, `{"host":"web1","cmd":%s,"max_output_bytes":65536}`, "cat "+far)
	t.Logf("the login and the command took %v", time.Since(began))
	if n := strings.Count(r.Stdout, "********"); n < len(values) {
		t.Errorf("of %d lines, %d are masked: %s", strings.Count(shown.String(), "\n"), n, r.Text)
	}
	wantHidden(t, "the output of a command", r.Text, values...)
	o := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`)
	c.Enter(t, o.SessionID, "cat "+far+"; echo e''nd\r", "end")
	wantHidden(t, "the terminal", c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","max_bytes":65536}`, o.SessionID).Text, values...)
	wantHidden(t, "the screen", c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, o.SessionID).Text, values...)
	c.Finish()
	audit, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	wantHidden(t, "the audit log", string(audit)+c.Log.String(), values...)
}
