package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// fleet hosts shows hosts of all sources, and reports the error in an expression.
func TestFleetHosts(t *testing.T) {
	h := lab.NewHome(t)
	inventory := filepath.Join(h.Dir, "site.ini")
	h.Write(t, inventory, "web1 ansible_host=192.0.2.1 ansible_user=www ansible_port=2200\nweb2\n[web]\nweb[1:2]\n")
	sshConfig := filepath.Join(h.Dir, "ssh_config")
	h.Write(t, sshConfig, "Host alias1 alias-*\n  HostName 192.0.2.9\n")
	h.Write(t, h.Config, "[ssh]\nconfig_path = '"+sshConfig+"'\n[fleet]\ninventories = ['"+inventory+"']\n[groups]\nfront = \"@web,lb[1-3]!lb2\"\nbad = \"@nope\"\n")

	stdout, stderr, status := h.Run(t, "fleet", "hosts", "--config", h.Config, "--json", "@front,alias*", "!web2")
	var got struct {
		Nodeset string
		N       int
		Hosts   []struct {
			Host, Address, User, From string
			Port                      int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); status != 0 || err != nil {
		t.Fatalf("status %d, want 0; %v\n%s%s", status, err, stdout, stderr)
	}
	if got.Nodeset != "alias1,lb[1,3],web1" || got.N != 4 || got.Hosts[0].Address != "192.0.2.1" || got.Hosts[0].Port != 2200 ||
		got.Hosts[0].User != "www" || !strings.HasSuffix(got.Hosts[0].From, "site.ini:1") || got.Hosts[3].From != "ssh_config" {
		t.Errorf("fleet hosts --json printed\n%s\nwant web1 of the inventory, lb1, lb3 and alias1", stdout)
	}
	for expression, want := range map[string]string{
		"@fornt":           "did you mean @front?",
		"web[1-999999999]": "at most 1000",
		"@bad":             "there is no group @nope",
		"a:hunter2@web1":   "holds a password",
	} {
		stdout, stderr, status := h.Run(t, "fleet", "hosts", "--config", h.Config, expression)
		if status != 2 || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, "hunter2") {
			t.Errorf("fleet hosts %q: status %d, want 2; stderr %q, want %q", expression, status, stderr, want)
		}
	}
	stdout, _, status = h.Run(t, "config", "check", "--config", h.Config)
	if status != 0 || !strings.Contains(stdout, "warning: ") || !strings.Contains(stdout, "@bad") || strings.Contains(stdout, "@front of") {
		t.Errorf("config check: status %d, want 0; stdout %q, want a warning about the group bad alone", status, stdout)
	}
}
