package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/sshx"
	"ptyctl/term"
)

// TestUpdateHostKeys checks that known_hosts follows the keys that the server announces and proves, for a host on
// record in the user's own file, and that it does not if the configuration says no.
func TestUpdateHostKeys(t *testing.T) {
	extra := lab.NewKey(t, "rsa")
	srv := lab.StartSSHD(t, "HostKey "+extra.Write(t, t.TempDir(), "ssh_host_rsa_key"))
	for _, update := range []bool{true, false} {
		home := t.TempDir()
		known := filepath.Join(home, ".ssh", "known_hosts")
		if err := os.MkdirAll(filepath.Dir(known), 0o700); err != nil {
			t.Fatal(err)
		}
		foreign := "# a note\nother.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3vJrPqkWuxJW4tE5nE2fXa2oM0v3eKcXWZ7yq2mQ0B\n"
		if err := os.WriteFile(known, []byte(foreign+srv.KnownHosts()), 0o600); err != nil {
			t.Fatal(err)
		}
		target := term.Target{Host: "127.0.0.1", Port: srv.Port, User: srv.User}
		target.SSH.ExtraArgs = []string{"-i", srv.Identity, "-o", "IdentityAgent=none"}
		if !update {
			target.SSH.ExtraArgs = append(target.SSH.ExtraArgs, "-o", "UpdateHostKeys=no")
		}
		c, err := sshx.Dial(t.Context(), target, sshx.Options{HomeDir: home}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rsa := strings.Fields(extra.Public())[1]
		has := func() bool {
			text, err := os.ReadFile(known)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), foreign) {
				t.Fatalf("foreign lines were touched:\n%s", text)
			}
			return strings.Contains(string(text), rsa)
		}
		if update {
			lab.Eventually(t, "a record of the announced key", has)
		} else {
			time.Sleep(300 * time.Millisecond) // by then it would have come
		}
		if has() != update {
			t.Errorf("UpdateHostKeys %t: the announced key is on record: %t\n%s", update, has(), srv.Log)
		}
		_ = c.Close()
	}
}
