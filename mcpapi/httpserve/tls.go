package httpserve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// selfSignedLife is the life of a self-signed certificate. A new one is made at each
// start.
const selfSignedLife = 365 * 24 * time.Hour

// SelfSigned returns a new certificate for a server at address that also has the given
// names. No authority has signed it, so clients must get its fingerprint, or the
// certificate itself, over a safe channel.
func SelfSigned(address string, names []string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "ptyctl"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		names = append([]string{host}, names...)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip == nil && name != "" {
			c.DNSNames = append(c.DNSNames, name)
		} else if ip != nil && !ip.IsUnspecified() {
			c.IPAddresses = append(c.IPAddresses, ip)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Fingerprint returns the SHA-256 of a certificate as openssl x509 -fingerprint -sha256
// prints it: uppercase hexadecimal bytes, separated by colons.
func Fingerprint(c *tls.Certificate) string {
	var b strings.Builder
	for i, x := range sha256.Sum256(c.Certificate[0]) {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", x)
	}
	return b.String()
}
