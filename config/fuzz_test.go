package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad calls Load with any file, variable and flag. Load must neither panic nor
// return values out of bounds.
func FuzzLoad(f *testing.F) {
	f.Add(Example(), "PTYCTL_LOG_LEVEL=debug", "ssh.caller_paths", "/a,/b")
	f.Add("[ssh]\ncaller_paths = [\"/a\", [1], {x = 2}]\n", "PTYCTL_", "server.read_only", "false")
	f.Add("session = {max_sessions = {x = 1}}\n'a.b'.\"c\\u0000\" = 1979-05-27", "=", "", "")
	f.Add("\ufeffssh = "+strings.Repeat("[", 20000), "PTYCTL_TRANSPORT", "no.such", "x")
	f.Add(strings.Repeat("a.", 10000)+"b = 1", "HOME=/", "logging.file", "~")
	f.Add("[[[\n[server.transport]\n[[session]]\n", "XDG_CONFIG_HOME=\x00", "auth", "\xff")
	f.Add(
		"[[policy.credential]]\nsource = \"agent\"\n[policy.credential.x]\n[[policy.credential]]\nhosts = [1]\n",
		"PTYCTL_POLICY_CREDENTIAL=x",
		"policy.credential",
		"x",
	)
	f.Add(
		"policy.credential = [{source = \"password\", source.x = 1}, 2, {}]\n[policy]\ncredential.hosts = {a = 1}\n",
		"",
		"",
		"",
	)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file, variable, flag, value string) {
		path := filepath.Join(dir, "ptyctl.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := map[string]string{flag: value}
		if flag == "" {
			flags = nil
		}
		c, warnings, err := Load(Source{Path: path, Env: []string{variable}, Flags: flags})
		for _, w := range warnings {
			_ = w.String()
		}
		if err != nil {
			_ = err.Error()
			return
		}
		if c.SSH.HostKeyPolicy.WeakerThan(c.SSH.HostKeyFloor) || c.Session.MaxSessions < 1 || c.Limits.MaxWait <= 0 {
			t.Errorf("Load accepted %+v", c)
		}
		for _, p := range append([]string{c.SSH.ConfigPath, c.SSH.KnownHostsPath, c.Logging.File}, c.SSH.CallerPaths...) {
			if p != "" && !filepath.IsAbs(p) {
				t.Errorf("Load accepted the path %q", p)
			}
		}
	})
}
