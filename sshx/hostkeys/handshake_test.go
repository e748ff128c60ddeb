package hostkeys

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// opensshOrder has OpenSSH's default host key algorithms, but with ecdsa before ed25519. A
// server with all types then shows another key than the first one generated, unless the order
// is right.
var opensshOrder = []string{
	ssh.CertAlgoECDSA256v01, ssh.CertAlgoED25519v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	ssh.KeyAlgoECDSA256, ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// keyring has the keys of the tests. They are generated once, because RSA keys are slow to
// generate.
type keyring struct {
	ed, ecdsa, rsa, rsa1024 ssh.Signer // the server's
	otherEd, otherRSA       ssh.Signer // unrelated keys
	ca, otherCA             ssh.Signer
}

var keys = sync.OnceValue(func() *keyring {
	ed := func() ssh.Signer {
		_, k, err := ed25519.GenerateKey(rand.Reader)
		return signer(k, err)
	}
	rsaKey := func(bits int) ssh.Signer {
		k, err := rsa.GenerateKey(rand.Reader, bits)
		return signer(k, err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &keyring{
		ed: ed(), ecdsa: signer(ec, err), rsa: rsaKey(2048), rsa1024: rsaKey(1024),
		otherEd: ed(), otherRSA: rsaKey(2048), ca: ed(), otherCA: ed(),
	}
})

func signer(key any, err error) ssh.Signer {
	if err != nil {
		panic(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		panic(err)
	}
	return s
}

// text returns a key in the form of a line: type and base64.
func text(s ssh.Signer) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.PublicKey())))
}

func fingerprint(s ssh.Signer) string { return ssh.FingerprintSHA256(s.PublicKey()) }

// hostCert certifies key for the principals; edit may change the certificate before it is
// signed.
func hostCert(tb testing.TB, ca, key ssh.Signer, edit func(*ssh.Certificate), principals ...string) ssh.Signer {
	tb.Helper()
	cert := &ssh.Certificate{
		Key: key.PublicKey(), CertType: ssh.HostCert, KeyId: "test", ValidPrincipals: principals,
		ValidBefore: ssh.CertTimeInfinity,
	}
	if edit != nil {
		edit(cert)
	}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		tb.Fatal(err)
	}
	s, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// writeLines writes a file in a new directory and returns its path.
func writeLines(tb testing.TB, lines ...string) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "known_hosts")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

// serve accepts one connection with the given host keys and any login. The channel reports
// whether the client accepted the host key and logged in.
func serve(tb testing.TB, hostKeys ...ssh.Signer) (addr string, accepted <-chan bool) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	for _, k := range hostKeys {
		config.AddHostKey(k)
	}
	done := make(chan bool, 1)
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			done <- false
			return
		}
		defer c.Close()
		conn, chans, reqs, err := ssh.NewServerConn(c, config)
		done <- err == nil
		if err != nil {
			return
		}
		go ssh.DiscardRequests(reqs)
		go func() {
			for ch := range chans {
				ch.Reject(ssh.Prohibited, "no channels here")
			}
		}()
		conn.Wait()
	}()
	tb.Cleanup(func() {
		l.Close()
		for range done {
		}
	})
	return l.Addr().String(), done
}

// handshake runs the key exchange of a client with v against a server with the given host keys.
func handshake(tb testing.TB, v *Verifier, hostKeys ...ssh.Signer) error {
	tb.Helper()
	addr, _ := serve(tb, hostKeys...)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	conn, _, _, err := ssh.NewClientConn(c, addr, &ssh.ClientConfig{
		User:              "test",
		HostKeyAlgorithms: v.Algorithms(opensshOrder),
		HostKeyCallback:   v.HostKeyCallback(tb.Context()),
	})
	if err == nil {
		conn.Close()
	}
	return err
}

// verifier returns a Verifier for server:port with one user file of these lines.
func verifier(tb testing.TB, port int, o Options, lines ...string) *Verifier {
	tb.Helper()
	if o.UserFiles == nil {
		o.UserFiles = []string{writeLines(tb, lines...)}
	}
	v, err := NewVerifier("server", port, nil, o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
