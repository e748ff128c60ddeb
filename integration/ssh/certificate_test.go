package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/lab"
)

// Certificates log in from wherever they are, and doctor says the truth about each of them: in the agent alone, as
// Vault, Teleport and step-ca put them there, in a file, or both.
func TestCertificates(t *testing.T) {
	ca := lab.NewKey(t, "ed25519")
	trusted := filepath.Join(t.TempDir(), "user_ca.pub")
	if err := os.WriteFile(trusted, []byte(ca.Authorized()), 0o600); err != nil {
		t.Fatal(err)
	}
	server := lab.StartSSHD(t, "TrustedUserCAKeys "+trusted, "AuthorizedKeysFile none")
	now, hour := time.Now(), time.Hour
	valid := func(k lab.Key, who string) string {
		return ca.Certify(t, k, ssh.UserCert, who, now.Add(-hour), now.Add(hour))
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		k, plain := lab.NewKey(t, kind), lab.NewKey(t, "ed25519")
		expired := ca.Certify(t, k, ssh.UserCert, server.User, now.Add(-2*hour), now.Add(-hour))
		good, foreign := valid(k, server.User), valid(k, "another-one")
		for _, test := range []struct {
			name   string
			agent  []agent.AddedKey
			file   string // certificate in a file
			config string // of ssh_config; %k: the key file, %c: the certificate's
			in     bool
			says   []string // of doctor
			never  string
		}{
			{name: "agent only", agent: []agent.AddedKey{k.Held(t, good)}, in: true, says: []string{"ok    certificate     agent: " + k.Fingerprint()}},
			{name: "agent only, beside a plain key", agent: []agent.AddedKey{plain.Held(t, ""), k.Held(t, good)}, in: true},
			{name: "file", file: good, config: "IdentityFile %k\n", in: true, says: []string{"ok    certificate     "}},
			{name: "file, key in the agent", agent: []agent.AddedKey{k.Held(t, "")}, file: good, config: "CertificateFile %c\n", in: true},
			{name: "file and agent", agent: []agent.AddedKey{k.Held(t, ""), k.Held(t, good)}, file: good, config: "IdentityFile %k\n", in: true},
			{name: "agent, named by its file", agent: []agent.AddedKey{plain.Held(t, ""), k.Held(t, good)}, file: good, config: "IdentitiesOnly yes\nCertificateFile %c\n", in: true},
			{
				name: "agent, not named", agent: []agent.AddedKey{k.Held(t, good)}, config: "IdentitiesOnly yes\nIdentityFile none\n",
				says: []string{"IdentitiesOnly", "name it with CertificateFile"}, never: "ssh-copy-id",
			},
			{
				name: "algorithm not allowed", agent: []agent.AddedKey{k.Held(t, good)}, config: "PubkeyAcceptedAlgorithms ssh-ed25519\n",
				says: []string{"FAIL  auth", "PubkeyAcceptedAlgorithms"}, never: "ssh-copy-id",
			},
			{name: "certificates alone allowed", agent: []agent.AddedKey{k.Held(t, good)}, config: "PubkeyAcceptedAlgorithms *-cert-v01@openssh.com\n", in: true},
			{
				name: "expired, in the agent", agent: []agent.AddedKey{k.Held(t, expired)},
				says: []string{"FAIL  certificate", "has expired", "do: get a new certificate"}, never: "ssh-copy-id",
			},
			{
				name: "expired, in a file", file: expired, config: "IdentityFile %k\n",
				says: []string{"FAIL  certificate", "has expired", "do: get a new certificate"}, never: "ssh-copy-id",
			},
			{
				name: "expired in a file, valid in the agent", agent: []agent.AddedKey{k.Held(t, good)}, file: expired,
				config: "IdentityFile %k\n", in: true,
			},
			{
				name: "wrong principal", agent: []agent.AddedKey{k.Held(t, foreign)},
				says:  []string{"note  certificate", "not for " + server.User, "do: get a certificate for " + server.User},
				never: "ssh-copy-id",
			},
			{
				name: "plain key alone", agent: []agent.AddedKey{plain.Held(t, "")},
				says: []string{"FAIL  auth", "ssh-copy-id"},
			},
		} {
			if kind != "ed25519" && test.name != "agent only" && test.name != "file" {
				continue
			}
			t.Run(kind+" "+test.name, func(t *testing.T) {
				h := lab.NewHome(t)
				h.Trust(t, server.KnownHosts())
				key := filepath.Join(h.Dir, "id")
				if test.file != "" {
					if test.agent == nil || strings.Contains(test.config, "%k") {
						h.Write(t, key, k.PEM)
					}
					h.Write(t, key+"-cert.pub", test.file)
				}
				socket := "none"
				if test.agent != nil {
					socket = lab.StartAgent(t, test.agent...)
				}
				h.Write(t, h.SSHConfig, fmt.Sprintf("IdentityAgent %s\n", socket)+
					strings.NewReplacer("%k", key, "%c", key+"-cert.pub").Replace(test.config))
				host := fmt.Sprintf("%s@127.0.0.1:%d", server.User, server.Port)
				out, stderr, status := h.Run(t, "doctor", "--batch", "--config", h.Config, host)
				if in := strings.Contains(out, "ok    auth            publickey"); in != test.in ||
					in && strings.Contains(test.name, "only") && status != 0 {
					t.Errorf("%s: doctor ended with %d, want a login %v:\n%s%s", test.name, status, test.in, out, stderr)
				}
				for _, want := range test.says {
					if !strings.Contains(out, want) {
						t.Errorf("%s: doctor does not say %q:\n%s", test.name, want, out)
					}
				}
				if test.never != "" && strings.Contains(out, test.never) {
					t.Errorf("%s: doctor says %q:\n%s", test.name, test.never, out)
				}
			})
		}
	}
}
