package telnet

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"ptyctl/term"
)

// TLS configures the verification of the server. The zero value requires a certificate for
// the host's name, issued by an authority that this system trusts.
type TLS struct {
	RootCAs      *x509.CertPool    // nil: the system's roots
	Certificates []tls.Certificate // client certificates, for a server that asks
	ServerName   string            // the name in the certificate; empty: the host

	// Pin is the fingerprint of the server's certificate: the SHA-256 of its DER form as
	// "SHA256:" and base64, or in hex, with or without colons. A pin is the only check if set,
	// so that a device's self-signed certificate is accepted.
	Pin string

	// InsecureSkipVerify accepts any certificate: the connection is encrypted, but the server
	// may be an impostor.
	InsecureSkipVerify bool
}

// errPin ends the handshake when the certificate does not match TLS.Pin.
var errPin = errors.New("the certificate is not the pinned one")

// client does the handshake over nc. It returns HostKeyMismatch for a wrong pin,
// HostKeyUnknown for a certificate that does not verify, and ConnectFailed otherwise.
func (t *TLS) client(ctx context.Context, nc net.Conn, host string) (*tls.Conn, error) {
	config := &tls.Config{
		RootCAs: t.RootCAs, Certificates: t.Certificates, ServerName: t.ServerName,
		InsecureSkipVerify: t.InsecureSkipVerify, MinVersion: tls.VersionTLS12,
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	var offered string
	if t.Pin != "" {
		want, err := parsePin(t.Pin)
		if err != nil {
			return nil, err
		}
		config.InsecureSkipVerify = true // the pin decides
		config.VerifyConnection = func(s tls.ConnectionState) error {
			offered = fingerprint(s.PeerCertificates)
			got := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(got[:], want) == 0 {
				return errPin
			}
			return nil
		}
	}
	conn := tls.Client(nc, config)
	err := conn.HandshakeContext(ctx)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	unverified, isUnverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, errPin):
		e := term.Errorf(
			term.HostKeyMismatch,
			"%s shows the certificate %s, not the pinned one; "+
				"if the device has a new certificate, verify it in another way and pin that",
			host,
			offered,
		)
		e.Facts = term.Facts{term.HostKeyFailure{Fingerprint: offered, Recorded: []term.KnownKey{{Fingerprint: t.Pin}}}}
		return nil, e
	case isUnverified:
		offered = fingerprint(unverified.UnverifiedCertificates)
		e := &term.Error{
			Kind:   term.HostKeyUnknown,
			Reason: term.ReasonCertificate,
			Err:    err,
			Msg: fmt.Sprintf(
				"the certificate of %s cannot be verified: %v (its fingerprint is %s)", host, unverified.Err, offered,
			),
			Advice: "verify its fingerprint by another way and set TLSOptions.Pin, or set TLSOptions.ServerName " +
				"to its name",
		}
		e.Facts = term.Facts{term.HostKeyFailure{Fingerprint: offered}}
		return nil, e
	case errors.As(err, new(tls.RecordHeaderError)):
		return nil, &term.Error{
			Kind:   term.ConnectFailed,
			Reason: term.ReasonNoTLS,
			Err:    err,
			Msg:    fmt.Sprintf("%s does not speak TLS on this port: %v", host, err),
			Advice: "connect without TLS, or to the port that has it (992 as a rule)",
		}
	default:
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("the TLS handshake with %s failed: %v; check that the port has TLS", host, err),
		}
	}
}

// verified returns how the server was verified: by "pin", by "chain", or "no" for not at all.
func (t *TLS) verified() string {
	switch {
	case t.Pin != "":
		return "pin"
	case t.InsecureSkipVerify:
		return "no"
	default:
		return "chain"
	}
}

// describe returns the facts about the TLS connection for term.Description.
func (t *TLS) describe(s tls.ConnectionState) *term.TLS {
	return &term.TLS{
		Version: tls.VersionName(s.Version), CipherSuite: tls.CipherSuiteName(s.CipherSuite),
		Certificate: fingerprint(s.PeerCertificates), Verified: t.verified(),
	}
}

// fingerprint returns the fingerprint of the first certificate, the server's own.
func fingerprint(certs []*x509.Certificate) string {
	if len(certs) == 0 {
		return ""
	}
	sum := sha256.Sum256(certs[0].Raw)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// parsePin returns the SHA-256 sum in a pin.
func parsePin(pin string) ([]byte, error) {
	var sum []byte
	var err error
	if rest, ok := strings.CutPrefix(pin, "SHA256:"); ok {
		sum, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(rest, "="))
	} else {
		sum, err = hex.DecodeString(strings.ReplaceAll(pin, ":", ""))
	}
	if err != nil || len(sum) != sha256.Size {
		return nil, invalid(
			term.FieldPin,
			"the pin %q is not a SHA-256 fingerprint; give SHA256: and base64, or 64 hex digits",
			pin,
		)
	}
	return sum, nil
}

// partingTime limits the closing message of a TLS connection. crypto/tls allows five seconds.
const partingTime = 200 * time.Millisecond

// closeSoon closes nc within partingTime.
func closeSoon(nc net.Conn) error {
	t, ok := nc.(*tls.Conn)
	if !ok {
		return nc.Close()
	}
	// A peer that no longer reads would block the closing message.
	raw := t.NetConn()
	late := time.AfterFunc(partingTime, func() { _ = raw.Close() })
	defer late.Stop()
	return t.Close()
}
