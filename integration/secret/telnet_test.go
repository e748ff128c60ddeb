package secret

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/secret"
	"ptyctl/session"
	"ptyctl/telnet"
	"ptyctl/term"
)

// bastion is a transparent proxy in place of a host between, which could lead anywhere.
func bastion(ctx context.Context, network, address string, approve term.Approve) (net.Conn, error) {
	if _, err := approve.Ask(ctx, term.Plan{}); err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// overTelnet opens a session with secrets.
func overTelnet(t *testing.T, d telnet.Dialer, to term.Target, list ...secret.Definition) *session.Session {
	t.Helper()
	m := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"telnet": d.Open}, Logger: slog.New(slog.DiscardHandler),
		Input: session.InputOptions{Secrets: secret.NewStore(list, secret.Options{})},
	})
	t.Cleanup(func() { m.Close(context.Background()) })
	r, err := m.Open(t.Context(), session.OpenRequest{Target: to})
	if err != nil {
		t.Fatal(err)
	}
	return r.Session
}

// at binds a secret to a host, whatever protects the connection if clear is true.
func at(host string, clear bool) func(*secret.Definition) {
	return func(d *secret.Definition) { d.Hosts, d.Cleartext = []string{host}, clear }
}

// TestTelnet logs in to shells and to a router by secrets, and refuses where nothing proves the host.
func TestTelnet(t *testing.T) {
	for _, server := range []*lab.TelnetServer{lab.StartBusybox(t), lab.StartInetutils(t)} {
		s := overTelnet(t, telnet.Dialer{}, server.Target(),
			named(t, "login", server.Password, at("127.0.0.1", true)), named(t, "tls", server.Password, at("127.0.0.1", false)))
		lab.ReadUntil(t, s, 0, server.Login)
		refuses(t, s, "", "", "login", "secret.login.prompts") // it asks for the user
		refuses(t, s, server.User+"\r", `Password: $`, "tls", "secret.tls.cleartext")
		types(t, s, "", `Password: $`, "login", server.Prompt)
		refuses(t, s, "", "", "login", "secret.login.prompts")
		lab.WantUnseen(t, s, server.Password)
	}

	router := lab.StartRouter(t)
	s := overTelnet(t, telnet.Dialer{}, router.Target(),
		named(t, "login", router.Password, at("127.*", true)), named(t, "enable", router.Enable, at("127.0.0.1", true)))
	lab.ReadUntil(t, s, 0, router.Login)
	types(t, s, "", router.Login, "login", router.Prompt)
	types(t, s, "enable\r", `Password: $`, "enable", `r1# $`)
	lab.WantUnseen(t, s, router.Password)
	lab.WantUnseen(t, s, router.Enable)
}

// TestTelnetProof has certificates and ways that the operator has not chosen prove nothing.
func TestTelnetProof(t *testing.T) {
	plain := lab.StartBusybox(t)
	server := lab.StartTLS(t, plain)
	sum := sha256.Sum256(server.Trust.Certificate.Raw)
	pin := fmt.Sprintf("%x", sum)
	roots := x509.NewCertPool()
	roots.AddCert(server.Trust.Certificate)
	value := server.Password
	for _, tt := range []struct {
		name  string
		d     telnet.Dialer
		wish  term.TLSOptions
		clear bool
		rule  string
	}{
		{"the operator's authority", telnet.Dialer{TLS: &telnet.TLS{RootCAs: roots}}, term.TLSOptions{}, false, ""},
		{"the operator's pin", telnet.Dialer{TLS: &telnet.TLS{Pin: pin}}, term.TLSOptions{}, false, ""},
		{"the authority, through a bastion", telnet.Dialer{TLS: &telnet.TLS{RootCAs: roots}, Dial: bastion}, term.TLSOptions{}, false, ""},
		{"a pin of the call", telnet.Dialer{}, term.TLSOptions{Pin: pin}, false, "secret.login.cleartext"},
		{"a pin of the call, in clear text", telnet.Dialer{}, term.TLSOptions{Pin: pin}, true, ""},
		{"a pin of the call, through a bastion", telnet.Dialer{Dial: bastion}, term.TLSOptions{Pin: pin}, true, "secret.login.hosts"},
		{"no verification", telnet.Dialer{TLS: &telnet.TLS{InsecureSkipVerify: true}}, term.TLSOptions{}, false, "secret.login.cleartext"},
	} {
		to := server.Target()
		to.Telnet.TLS = tt.wish
		to.Telnet.TLS.Enabled = true
		s := overTelnet(t, tt.d, to, named(t, "login", value, at("127.0.0.1", tt.clear)))
		lab.ReadUntil(t, s, 0, server.Login)
		lab.TypeUntil(t, s, server.User+"\r", `Password: $`)
		_, err := s.Write(t.Context(), nil, session.WriteOptions{Secret: "login"})
		if got := term.FactOf[term.Denial](err).Rule; got != tt.rule || (err == nil) != (tt.rule == "") {
			t.Errorf("%s: the secret ends with the rule %q (%v), want %q", tt.name, got, err, tt.rule)
		}
		if e, _ := errors.AsType[*term.Error](err); e != nil && e.Session != s.ID() {
			t.Errorf("%s: the error names the session %q, want %q", tt.name, e.Session, s.ID())
		}
		s.Close(t.Context(), session.CloseOptions{Force: true})
	}
}
