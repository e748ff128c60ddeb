package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestLegacy checks servers with weak algorithms only: they must be refused with
// their offer, unless the call allows them.
func TestLegacy(t *testing.T) {
	host, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]sshserver.Config{
		"kex":     {Transport: ssh.Config{KeyExchanges: []string{"diffie-hellman-group14-sha1"}}},
		"cipher":  {Transport: ssh.Config{Ciphers: []string{"aes128-cbc"}}},
		"rsa key": {HostKeys: []ssh.Signer{limited(t, host, ssh.KeyAlgoRSA)}},
	} {
		t.Run(name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Server(sshtest.Addr1, c)
				e := l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.ConnectFailed)
				if len(term.FactOf[term.ConnectFailure](e).ServerOffers) == 0 ||
					!strings.Contains(e.Msg, term.FactOf[term.ConnectFailure](e).ServerOffers[0]) {
					t.Errorf("%v; offers %v", e, term.FactOf[term.ConnectFailure](e).ServerOffers)
				}
				target := sshtest.To(sshtest.Host1, "")
				target.SSH.Legacy = true
				sh, err := l.Client(target, nil).Shell(t.Context(), term.PTY{})
				if err != nil {
					t.Fatal(err)
				}
				if w := sh.Describe().Warnings; len(w) == 0 || !strings.Contains(w[0], "weak") {
					t.Errorf("warnings %q", w)
				}
			})
		})
	}
}

func limited(t *testing.T, key *rsa.PrivateKey, algorithms ...string) ssh.Signer {
	s, err := ssh.NewSignerWithAlgorithms(sshtest.Signer(t, key).(ssh.AlgorithmSigner), algorithms)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLegacySignature checks a server that announces rsa-sha2 signatures but
// accepts ssh-rsa only.
func TestLegacySignature(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, legacy := range []bool{false, true} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			hostKey, _ := sshtest.NewKey(t)
			l.Trust(sshtest.Addr1, hostKey.PublicKey())
			l.Peer(sshtest.Addr1, func(nc net.Conn) {
				config := &ssh.ServerConfig{
					MaxAuthTries:      -1,
					PublicKeyCallback: func(c ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil },
				}
				config.VerifiedPublicKeyCallback = func(
					_ ssh.ConnMetadata, _ ssh.PublicKey, p *ssh.Permissions, algorithm string,
				) (*ssh.Permissions, error) {
					if algorithm != ssh.KeyAlgoRSA {
						return nil, errors.New("I cannot verify that")
					}
					return p, nil
				}
				config.PublicKeyAuthAlgorithms = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
				config.AddHostKey(hostKey)
				sc, chans, reqs, err := ssh.NewServerConn(nc, config)
				if err != nil {
					_ = nc.Close()
					return
				}
				go ssh.DiscardRequests(reqs)
				for c := range chans {
					_ = c.Reject(ssh.Prohibited, "")
				}
				_ = sc.Close()
			})
			target := sshtest.To(sshtest.Host1, "")
			target.Auth = term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(sshtest.PEMOf(t, key))}
			target.SSH.Legacy = legacy
			if legacy {
				l.Client(target, nil)
			} else {
				l.Fails(target, nil, term.AuthFailed)
			}
		})
	}
}

// TestPubkeyAcceptedAlgorithms checks that a key without an allowed algorithm is
// not offered.
func TestPubkeyAcceptedAlgorithms(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		key, pem := sshtest.NewKey(t)
		srv := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{key.PublicKey()}})
		l.Write(".ssh/id_ed25519", pem)
		l.Config("PubkeyAcceptedAlgorithms -ssh-ed25519\n")
		e := l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.AuthFailed)
		if !strings.Contains(e.Msg, "PubkeyAcceptedAlgorithms") || len(srv.Stats().KeysOffered) != 0 {
			t.Errorf("%v; offered %v", e, srv.Stats().KeysOffered)
		}
		l.Config("PubkeyAuthentication no\n")
		l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.AuthFailed)
		if n := srv.Stats(); len(n.KeysOffered) != 0 {
			t.Errorf("offered %v", n.KeysOffered)
		}
	})
}
