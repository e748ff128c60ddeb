package explain

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/app"
	"ptyctl/internal/app/apptest"
	"ptyctl/sshx"
	"ptyctl/term"
)

// Each value has its place, a key of ptyctl.toml is named where it decides, and defaults are shown only on request.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "Host web1\n HostName 10.0.0.7\n User me\n ProxyJump gate\n UsePrivilegedPort yes\nHost gate\n Port 2222\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := apptest.Config(
		t, "[ssh]", `config_path = "`+file+`"`, `known_hosts_path = "/etc/known"`, `identity_agent = "none"`,
	)
	in, refusal := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, app.QuietSSHOptions(cfg))
	if refusal != nil {
		t.Fatal(refusal)
	}
	e := New(in, refusal, cfg, false)
	if len(e.Way) != 2 || !strings.HasSuffix(e.Way[0], "gate:2222") || e.Way[1] != "me@10.0.0.7:22" || len(e.Hosts) != 2 {
		t.Fatalf("the way is %q with %d hosts, want gate:2222 and me@10.0.0.7:22", e.Way, len(e.Hosts))
	}
	origins := make(map[string]string)
	for _, v := range e.Hosts[0].Settings {
		origins[v.Keyword] = v.Value + " from " + v.Origin
	}
	for keyword, want := range map[string]string{
		"HostName":           "10.0.0.7 from " + file + ":2",
		"User":               "me from " + file + ":3",
		"ProxyJump":          "gate from " + file + ":4",
		"UserKnownHostsFile": "/etc/known from ssh.known_hosts_path, ",
		"Port":               "22 from default",
	} {
		if !strings.HasPrefix(origins[keyword], want) {
			t.Errorf("%s is %q, want %q", keyword, origins[keyword], want)
		}
	}
	if e.Hosts[0].Defaults == 0 || origins["Compression"] != "" {
		t.Errorf("%d defaults are left out, Compression is %q; want it left out", e.Hosts[0].Defaults, origins["Compression"])
	}
	if all := New(in, refusal, cfg, true); all.Hosts[0].Defaults != 0 ||
		len(all.Hosts[0].Settings) <= len(e.Hosts[0].Settings) {
		t.Errorf("with all, %d defaults are left out, want none", all.Hosts[0].Defaults)
	}
	var out bytes.Buffer
	if err := e.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the way: ", "\njump host gate\n", "more values are defaults; --all shows them", "host key policy",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("Print = %s\nwant %q in it", &out, want)
		}
	}
}

// The known_hosts file of ptyctl.toml decides where ssh_config names another one, and the explanation says so.
func TestExplainKnownHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("UserKnownHostsFile /dev/null /dev/zero\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := apptest.Config(t, "[ssh]", `config_path = "`+file+`"`, `known_hosts_path = "/etc/known"`)
	in, err := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, app.QuietSSHOptions(cfg))
	if err != nil {
		t.Fatal(err)
	}
	host := New(in, nil, cfg, false).Hosts[0]
	var got []Value
	for _, v := range host.Settings {
		if v.Keyword == "UserKnownHostsFile" {
			got = append(got, v)
		}
	}
	end := " (in place of " + file + ":1)"
	if len(got) != 1 || got[0].Value != "/etc/known" || !strings.HasPrefix(got[0].Origin, "ssh.known_hosts_path, ") ||
		!strings.HasSuffix(got[0].Origin, end) {
		t.Errorf("UserKnownHostsFile = %q, want /etc/known of ssh.known_hosts_path%s", got, end)
	}
	if host.HostKeys == nil || host.HostKeys.Files[0] != "/etc/known" ||
		strings.Contains(host.HostKeys.Files[1], "/dev/") {
		t.Errorf("host keys = %+v, want /etc/known alone in place of the user's files", host.HostKeys)
	}
}

// A refused target must say why.
func TestExplainRefusal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("Host web1\n ProxyCommand nc %h %p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := apptest.Config(t, "[ssh]", `config_path = "`+file+`"`)
	in, refusal := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, app.QuietSSHOptions(cfg))
	if refusal == nil {
		t.Fatal("Inspect of a host with ProxyCommand has no error, want a refusal")
	}
	e := New(in, refusal, cfg, false)
	var out bytes.Buffer
	if err := e.Print(&out); err != nil || !strings.Contains(out.String(), "\nrefused: "+refusal.Error()) ||
		!strings.Contains(out.String(), "ssh.allow_exec_directives") {
		t.Errorf("Print = %s, %v; want the refusal %v", &out, err, refusal)
	}
}

// With the operator's permission the expanded command of a ProxyCommand is shown, with its place.
func TestExplainProxyCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("Host web1\n Port 2222\n ProxyCommand nc %h %p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := apptest.Config(t, "[ssh]", `config_path = "`+file+`"`, "allow_exec_directives = true")
	in, refusal := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, app.QuietSSHOptions(cfg))
	if refusal != nil {
		t.Fatal(refusal)
	}
	var out bytes.Buffer
	if err := New(in, nil, cfg, false).Print(&out); err != nil || !strings.Contains(out.String(), "nc web1 2222") ||
		!strings.Contains(out.String(), file+":3") {
		t.Errorf("Print = %s, %v; want the command nc web1 2222 and its place %s:3", &out, err, file)
	}
}
