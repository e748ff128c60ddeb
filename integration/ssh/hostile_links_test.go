package ssh

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestHostileDisconnect lets a server end open sessions with hostile words: each result shows them once, cleaned.
func TestHostileDisconnect(t *testing.T) {
	port := disconnecting(t, hostile(30<<10))
	c := lab.NewHome(t, `host_key_policy = "accept_new"`).Connect(t)
	const limit = 4 << 10
	for name, end := range map[string]func(id string) lab.Result{
		"read": func(id string) lab.Result {
			c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
			return c.Call(t, lab.ToolIO,
				`{"action":"read","session_id":%s,"cursor":"0","until_regex":"no such output","timeout_ms":20000}`, id)
		},
		"write and read": func(id string) lab.Result {
			return c.Call(t, lab.ToolIO,
				`{"action":"write","session_id":%s,"data":"x","until_regex":"no such output","timeout_ms":20000}`, id)
		},
		"exec in the terminal": func(id string) lab.Result {
			r, err := c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"x","lane":"terminal"}`, id)
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
		"exec in a channel": func(id string) lab.Result {
			r, err := c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"x","lane":"channel","stdin":"x"}`, id)
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := c.Call(t, lab.ToolSession, lab.OpenSSH, port, "u").SessionID
			r := end(id)
			checkWords(t, name, r.Text, min(strings.Count(r.Text, canary), 1), limit)
			// The end of the call may come before that of the session.
			lab.Eventually(t, "the session has ended", func() bool {
				r = c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
				return r.State != "open"
			})
			if r.EndCode != "lost" {
				t.Errorf("status = %s, want end_code lost", r.Text)
			}
			checkWords(t, "status", r.Text, 1, limit)
			r = c.Refused(t, "ALREADY_CLOSED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
			checkWords(t, "a write after the end", r.Text, 1, limit)
		})
	}
	list := c.Call(t, lab.ToolSession, `{"action":"list"}`)
	checkWords(t, "list", list.Text, strings.Count(list.Text, canary), 4*limit)
	checkWords(t, "the log", strings.ReplaceAll(c.EngineLog(), "\n", " "), strings.Count(c.EngineLog(), canary), 64<<10)
}

// TestHostileJumpHost lets a jump host refuse the way to the target in hostile words.
func TestHostileJumpHost(t *testing.T) {
	jump := lab.ServeSSH(t, sshserver.Config{
		NoAuth: true, Faults: sshserver.Faults{RefuseForward: hostile(200 << 10)},
	})
	h := lab.NewHome(t, `host_key_policy = "accept_new"`)
	c := h.Connect(t)
	const limit = 8 << 10
	for _, protocol := range []string{"ssh", "telnet"} {
		r := c.Refused(t, "CONNECT_FAILED", lab.ToolSession,
			`{"action":"open","protocol":`+strconv.Quote(protocol)+
				`,"host":"192.0.2.1","username":"u","ssh_options":{"proxy_jump":%s}}`, "u@"+jump.Addr())
		checkWords(t, "open by "+protocol, r.Text, 1, limit)
	}
	h.Write(t, h.SSHConfig, "Host 192.0.2.1\n\tProxyJump u@"+jump.Addr()+"\n")
	doctor, _ := h.Command("doctor", "--config", h.Config, "--batch", "u@192.0.2.1").CombinedOutput()
	checkWords(t, "doctor", string(doctor), 1, limit)
}

// TestHostileCertificates reads names and principals of certificates as hostile: those of a server, and those of the
// keys of an agent.
func TestHostileCertificates(t *testing.T) {
	ca, host, user := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	certify := func(k lab.Key, kind uint32) *ssh.Certificate {
		words := strings.ReplaceAll(hostile(4<<10), "\x00", "") // an agent takes no NUL in a name
		cert := &ssh.Certificate{
			Key: k.PublicKey(), CertType: kind, KeyId: words, ValidPrincipals: []string{words, "a second name"},
			ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
		}
		if err := cert.SignCert(rand.Reader, ca); err != nil {
			t.Fatal(err)
		}
		return cert
	}
	signer, err := ssh.NewCertSigner(certify(host, ssh.HostCert), host)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 8 << 10

	t.Run("server", func(t *testing.T) {
		server := lab.ServeSSH(t, sshserver.Config{NoAuth: true, HostKeys: []ssh.Signer{signer}})
		h := lab.NewHome(t, `host_key_policy = "strict"`)
		h.Trust(t, "@cert-authority * "+ca.Public())
		_, port, _ := net.SplitHostPort(server.Addr())
		r := h.Connect(t).Refused(t, "HOSTKEY_UNKNOWN", lab.ToolSession, lab.OpenSSH, json.Number(port), "u")
		checkWords(t, "open", r.Text, 1, limit)
		doctor, _ := h.Command("doctor", "--config", h.Config, "--batch", "--port", port, "u@127.0.0.1").CombinedOutput()
		checkWords(t, "doctor", string(doctor), 1, limit)
	})
	t.Run("agent", func(t *testing.T) {
		held := user.Held(t, string(ssh.MarshalAuthorizedKey(certify(user, ssh.UserCert))))
		held.Comment = strings.ReplaceAll(hostile(4<<10), "\x00", "")
		plain := lab.NewKey(t, "ed25519").Held(t, "")
		plain.Comment = held.Comment
		socket := lab.StartAgent(t, held, plain)
		server := lab.ServeSSH(t, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{host.PublicKey()}})
		h := lab.NewHome(t, `host_key_policy = "accept_new"`)
		h.Write(t, h.SSHConfig, "IdentityAgent "+socket+"\n")
		_, port, _ := net.SplitHostPort(server.Addr())
		r := h.Connect(t).Refused(t, "AUTH_FAILED", lab.ToolSession, lab.OpenSSH, json.Number(port), "u")
		checkWords(t, "open", r.Text, 0, limit)
		doctor, _ := h.Command("doctor", "--config", h.Config, "--batch", "--port", port, "u@127.0.0.1").CombinedOutput()
		checkWords(t, "doctor", string(doctor), strings.Count(string(doctor), canary), limit)
		doctor, _ = h.Command("doctor", "--config", h.Config, "--batch", "--json", "--port", port, "u@127.0.0.1").Output()
		checkWords(t, "doctor --json", string(doctor), strings.Count(string(doctor), canary), limit)
	})
}
