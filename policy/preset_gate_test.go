package policy_test

import (
	"strings"
	"testing"

	"ptyctl/policy"
)

// TestPresetRules checks that a preset allows its commands, alone and beside
// entries of allow, and that everything around a command is judged as with any
// list.
func TestPresetRules(t *testing.T) {
	rules := policy.Rules{
		Preset:      "read-only-linux",
		PresetWhere: "ptyctl.toml:3",
		Allow:       rules("allow", "systemctl restart nginx"),
		Deny:        rules("deny", "cat /etc/shadow"),
	}
	p := gate(t, rules)
	for line, ok := range map[string]bool{
		"uptime": true, "df -h | sort -k 5": true, "ls -l /var/log/*.log 2>/dev/null": true, "systemctl status nginx": true, "systemctl restart nginx": true,
		"systemctl restart sshd": false, "cat /etc/shadow": false, "sort -o /tmp/x /etc/passwd": false, "ls > /tmp/x": false, "LESS=x ls": false, "LANG=C ls": true,
		"find / -fprintf /tmp/x y": false, "curl -o /tmp/x http://localhost": false, "sh -c ls": false, "ls $(id)": false, "env ls": false, "/tmp/ls": false, "tar -I x -xf y": false, "ls ~/.ssh": true, "ls ~": true, "cat *": false,
	} {
		got, err := ruled(t, p, "posix", line)
		if (err == nil) != ok {
			t.Errorf("%q runs %s (%v), want allowed %t", line, got, err, ok)
		}
	}
	_, err := ruled(t, p, "posix", "sort -o /tmp/x /etc/passwd")
	if e := denied(t, err); !strings.Contains(e.Msg, "-o") {
		t.Errorf("denial = %s, want the option in it", e.Msg)
	}
	network := gate(t, policy.Rules{Preset: "read-only-network"})
	for line, ok := range map[string]bool{
		"show version": true, "show running-config | include ntp": true, "show running-config | begin ntp": true, "show running-config | redirect flash:x": false,
		"show version\nshow clock": true, "show version\r\n\r\nshow clock\r\n": true, "show version\nreload": false, "show version\rreload": false,
		"show version\nshow clock > flash:x": false, "banner motd #\nshow clock\n#": false,
		"reload": false, "begin reload": false, "configure terminal": false, "show version; reload": false,
	} {
		if got, err := ruled(t, network, "device", line); (err == nil) != ok {
			t.Errorf("%q on a device runs %s (%v), want allowed %t", line, got, err, ok)
		}
	}
	if _, err := policy.New(policy.Rules{Preset: "read-only-windows"}); err == nil ||
		!strings.Contains(err.Error(), "read-only-linux") {
		t.Errorf("New with an unknown preset: %v, want an error that names those there are", err)
	}
}
