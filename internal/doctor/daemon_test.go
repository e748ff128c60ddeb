package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndsDaemons looks at machines that end all processes of a user, and at those that do not.
func TestEndsDaemons(t *testing.T) {
	const logind = "run/systemd/system/x"
	for _, test := range []struct {
		name  string
		files map[string]string
		says  []string // one for each finding
		not   string
	}{
		{"a plain machine", map[string]string{"proc/1/comm": "systemd\n", logind: "", "etc/systemd/logind.conf": "#KillUserProcesses=yes\n"}, nil, ""},
		{"a container with an init", map[string]string{"proc/1/comm": "docker-init\n"}, []string{"docker exec"}, ""},
		{"a container without one", map[string]string{"proc/1/comm": "node\n"}, []string{"docker run --init"}, ""},
		{"no process table", nil, nil, ""},
		{"logind ends all", map[string]string{logind: "", "etc/systemd/logind.conf": "[Login]\nKillUserProcesses = yes\n"}, []string{"enable-linger"}, ""},
		{"logind, and the user lingers", map[string]string{logind: "", "etc/systemd/logind.conf": "[Login]\nKillUserProcesses=yes\n", "var/lib/systemd/linger/ann": ""}, []string{"ptyctl-daemon.socket"}, "enable-linger"},
		{"a later part decides", map[string]string{logind: "", "etc/systemd/logind.conf": "KillUserProcesses=yes\n", "usr/lib/systemd/logind.conf.d/50.conf": "KillUserProcesses=no\n"}, nil, ""},
		{"a part in etc hides one in usr", map[string]string{logind: "", "etc/systemd/logind.conf.d/50.conf": "", "usr/lib/systemd/logind.conf.d/50.conf": "KillUserProcesses=yes\n"}, nil, ""},
		{"the file of the distribution", map[string]string{logind: "", "usr/lib/systemd/logind.conf": "KillUserProcesses=on\n"}, []string{"enable-linger"}, ""},
		{"the file of the operator hides it", map[string]string{logind: "", "usr/lib/systemd/logind.conf": "KillUserProcesses=on\n", "etc/systemd/logind.conf": ""}, nil, ""},
		{"not this user", map[string]string{logind: "", "etc/systemd/logind.conf": "KillUserProcesses=yes\nKillExcludeUsers=root ann\n"}, nil, ""},
		{"only others", map[string]string{logind: "", "etc/systemd/logind.conf": "KillUserProcesses=yes\nKillOnlyUsers=bob\n"}, nil, ""},
		{"only these", map[string]string{logind: "", "etc/systemd/logind.conf": "KillUserProcesses=yes\nKillOnlyUsers=bob ann\n"}, []string{"enable-linger"}, ""},
		{"without logind the file counts for nothing", map[string]string{"etc/systemd/logind.conf": "KillUserProcesses=yes\n"}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range test.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := endsDaemons(root, "ann")
			if len(got) != len(test.says) {
				t.Fatalf("endsDaemons = %+v, want %d findings", got, len(test.says))
			}
			for i, says := range test.says {
				if !strings.Contains(got[i].Do, says) || test.not != "" && strings.Contains(got[i].Do, test.not) {
					t.Errorf("finding %d says %q, want %q in it and not %q", i, got[i].Do, says, test.not)
				}
			}
		})
	}
}
