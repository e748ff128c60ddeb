package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A TelnetTrust is the certificate of a server behind TLS, signed by itself.
type TelnetTrust struct {
	Certificate *x509.Certificate
	pem         string // the same, in the form of a file of trusted roots
	File        string // holds pem
}

// StartTLS starts socat as the TLS front of another server, which it reaches in the clear.
func StartTLS(tb testing.TB, behind *TelnetServer) *TelnetServer {
	tb.Helper()
	dir := tb.TempDir()
	trust, key := newTelnetTrust(tb, dir)
	s := *behind
	s.Name, s.Trust = behind.Name+" over TLS", trust
	s.Process, s.Port = startTelnet(tb, func(port int) []string {
		return []string{
			"/usr/bin/socat",
			fmt.Sprintf("openssl-listen:%d,bind=127.0.0.1,reuseaddr,fork,cert=%s,key=%s,verify=0", port, trust.File, key),
			"tcp:" + behind.Address(),
		}
	})
	return &s
}

// newTelnetTrust makes a certificate for 127.0.0.1 and writes it, and its key.
func newTelnetTrust(tb testing.TB, dir string) (trust *TelnetTrust, keyFile string) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "telnet server of a test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	write := func(name, kind string, der []byte) (path, text string) {
		path, text = filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		return path, text
	}
	trust = &TelnetTrust{Certificate: certificate}
	trust.File, trust.pem = write("cert.pem", "CERTIFICATE", der)
	keyFile, _ = write("key.pem", "PRIVATE KEY", private)
	return trust, keyFile
}
