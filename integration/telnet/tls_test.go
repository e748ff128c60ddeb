package telnet

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetTLS reaches busybox's telnetd through TLS, and refuses to where the certificate is not the right one.
func telnetTLS(t *testing.T) {
	plain := lab.StartBusybox(t)
	s := lab.StartTLS(t, plain)
	sum := sha256.Sum256(s.Trust.Certificate.Raw)
	fingerprint := "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
	roots := x509.NewCertPool()
	roots.AddCert(s.Trust.Certificate)
	other := sha256.Sum256([]byte("another certificate"))
	for _, test := range []struct {
		name     string
		operator telnet.TLS
		wish     term.TLSOptions
		port     int
		verified string    // if it is accepted
		refused  term.Kind // else
	}{
		{name: "trusted authority", operator: telnet.TLS{RootCAs: roots}, verified: "chain"},
		{name: "pinned", wish: term.TLSOptions{Pin: fingerprint}, verified: "pin"},
		{name: "pinned in hex", wish: term.TLSOptions{Pin: fmt.Sprintf("%X", sum)}, verified: "pin"},
		{name: "not verified", operator: telnet.TLS{InsecureSkipVerify: true}, verified: "no"},
		{name: "unknown authority", refused: term.HostKeyUnknown},
		{name: "another name", operator: telnet.TLS{RootCAs: roots}, wish: term.TLSOptions{ServerName: "router1.example"}, refused: term.HostKeyUnknown},
		{name: "another certificate pinned", wish: term.TLSOptions{Pin: fmt.Sprintf("%x", other)}, refused: term.HostKeyMismatch},
		{name: "another pinned, though the authority is trusted", operator: telnet.TLS{RootCAs: roots, Pin: fmt.Sprintf("%x", other)}, refused: term.HostKeyMismatch},
		{name: "pin that is none", wish: term.TLSOptions{Pin: "12:34"}, refused: term.InvalidArgument},
		{name: "port without TLS", operator: telnet.TLS{RootCAs: roots}, port: plain.Port, refused: term.ConnectFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := s.Target()
			target.Telnet.TLS = test.wish
			target.Telnet.TLS.Enabled = true
			if test.port != 0 {
				target.Port = test.port
			}
			transport, err := telnet.Dialer{TLS: &test.operator}.Open(t.Context(), target, nil, nil)
			if test.refused != "" {
				if term.KindOf(err) != test.refused {
					t.Fatalf("%s: %v; want %s", term.KindOf(err), err, test.refused)
				}
				e, _ := errors.AsType[*term.Error](err)
				if strings.HasPrefix(string(test.refused), "HOST_KEY") &&
					term.FactOf[term.HostKeyFailure](e).Fingerprint != fingerprint {
					t.Errorf("the error does not tell the certificate's fingerprint: %+v", e.Facts)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			k := newTalk(t, transport)
			k.login(s)
			k.ask("stty size", `\n40 120\r\ndemo\$ $`)
			k.send(lab.TelnetSleep + "\r")
			k.wait("\nbegun")
			k.send("\x03")
			if shown := k.wait(s.Prompt); holdsProtocol(shown) {
				t.Errorf("Ctrl-C shows %q", shown)
			}
			d := transport.(*telnet.Terminal).Describe()
			if d.TLS == nil || d.TLS.Verified != test.verified || d.TLS.Certificate != fingerprint ||
				d.TLS.Version != "TLS 1.3" {
				t.Errorf("TLS is described as %+v", d.TLS)
			}
			if (d.Security == "") != (test.verified != "no") {
				t.Errorf("the warning is %q", d.Security)
			}
		})
	}
}
