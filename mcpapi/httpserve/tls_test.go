package httpserve_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

// A client that has the fingerprint or the certificate can verify the server.
func TestSelfSigned(t *testing.T) {
	cert, err := httpserve.SelfSigned("127.0.0.1:0", []string{"ptyctl.test", "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := httpserve.Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(
		t,
		tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}),
		ln.Addr().String(),
		nil,
		httpserve.Options{},
	)
	get := func(c *tls.Config) (fingerprint string, err error) {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
		resp, err := client.Get("https://" + s.host + "/healthz")
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var hex []string
		for _, x := range sha256.Sum256(resp.TLS.PeerCertificates[0].Raw) {
			hex = append(hex, fmt.Sprintf("%02X", x))
		}
		return strings.Join(hex, ":"), nil
	}
	var unknown x509.UnknownAuthorityError
	if _, err := get(nil); !errors.As(err, &unknown) {
		t.Errorf("request without the certificate = %v, want a verification error", err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	for _, name := range []string{"", "localhost", "ptyctl.test", "192.0.2.7"} {
		fingerprint, err := get(&tls.Config{RootCAs: pool, ServerName: name})
		if err != nil || fingerprint != httpserve.Fingerprint(cert) {
			t.Errorf("by the name %q: %v, fingerprint %s, want %s", name, err, fingerprint, httpserve.Fingerprint(cert))
		}
	}
	if _, err := get(&tls.Config{RootCAs: pool, ServerName: "evil.example"}); err == nil {
		t.Error("the certificate is good for another name")
	}
}
