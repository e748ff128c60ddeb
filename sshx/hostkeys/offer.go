package hostkeys

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/patterns"
)

// offer is the key a server presented.
type offer struct {
	key         ssh.PublicKey    // the plain key, or the key in the certificate
	cert        *ssh.Certificate // nil if the server showed a plain key
	keyType     string
	fingerprint string // of key
}

// newOffer returns the parts of a presented key or certificate.
func newOffer(key ssh.PublicKey) *offer {
	o := &offer{key: key}
	if cert, ok := key.(*ssh.Certificate); ok {
		o.key, o.cert = cert.Key, cert
	}
	o.keyType = o.key.Type()
	o.fingerprint = ssh.FingerprintSHA256(o.key)
	return o
}

// holds reports whether key is the offered key or the authority that certified it.
func (o *offer) holds(key ssh.PublicKey) bool {
	return sameKey(key, o.key) || o.cert != nil && sameKey(key, o.cert.SignatureKey)
}

// rsaBits returns the size of an RSA key, and 0 for others.
func (o *offer) rsaBits() int {
	if c, ok := o.key.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok {
			return k.N.BitLen()
		}
	}
	return 0
}

// checkCert returns why the certificate does not prove that its holder is the host name, or
// nil. The caller must check whether its authority is trusted. Unlike
// ssh.CertChecker.CheckHostKey, and like OpenSSH, it treats principals as patterns and
// refuses a certificate without any.
func (o *offer) checkCert(name string, signatureAlgorithms []string) error {
	if o.cert.CertType != ssh.HostCert {
		return fmt.Errorf("it is not a host certificate (type %d)", o.cert.CertType)
	}
	if o.cert.Signature == nil || !slices.Contains(signatureAlgorithms, o.cert.Signature.Format) {
		return fmt.Errorf("its signature algorithm is not in CASignatureAlgorithms")
	}
	i := slices.IndexFunc(o.cert.ValidPrincipals, func(p string) bool { return patterns.Match(name, p) })
	if i < 0 {
		return fmt.Errorf("its principals %q do not include %q", o.cert.ValidPrincipals, name)
	}
	now := time.Now()
	if o.cert.ValidBefore != ssh.CertTimeInfinity && uint64(now.Unix()) >= o.cert.ValidBefore {
		return fmt.Errorf("it expired at %s", time.Unix(int64(o.cert.ValidBefore), 0).UTC().Format(time.RFC3339))
	}
	checker := ssh.CertChecker{Clock: func() time.Time { return now }}
	return checker.CheckCert(o.cert.ValidPrincipals[i], o.cert)
}

// sameKey reports whether two keys have the same wire form.
func sameKey(a, b ssh.PublicKey) bool {
	return bytes.Equal(a.Marshal(), b.Marshal())
}

// encodeKey returns the key in the form of the third field of a line, without padding.
func encodeKey(key ssh.PublicKey) string {
	return base64.RawStdEncoding.EncodeToString(key.Marshal())
}
