package hostkeys

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// verdict is the outcome of a key exchange.
type verdict string

const (
	accept   verdict = "accept"
	unknown  verdict = "unknown"
	mismatch verdict = "mismatch"
	revoked  verdict = "revoked"
	weak     verdict = "weak"
)

func verdictOf(tb testing.TB, err error) verdict {
	tb.Helper()
	if err == nil {
		return accept
	}
	if e := (*UnknownError)(nil); errors.As(err, &e) {
		return unknown
	}
	if e := (*MismatchError)(nil); errors.As(err, &e) {
		return mismatch
	}
	if e := (*RevokedError)(nil); errors.As(err, &e) {
		return revoked
	}
	if e := (*WeakKeyError)(nil); errors.As(err, &e) {
		return weak
	}
	tb.Fatalf("the handshake failed for another reason: %v", err)
	return ""
}

// opensshCase is a key exchange with a server called "server", with OpenSSH's known answer.
type opensshCase struct {
	name   string
	port   int // 0: 22
	alias  string
	policy Policy
	lines  []string
	server []ssh.Signer
	want   verdict
	// decision is compared if want is accept.
	decision Decision
	// since is the first OpenSSH with this answer, if that is a recent one.
	since int
}

func opensshCases(tb testing.TB) []opensshCase {
	k := keys()
	ed, ec, rs := text(k.ed), text(k.ecdsa), text(k.rsa)
	all := []ssh.Signer{k.rsa, k.ecdsa, k.ed}
	cert := hostCert(tb, k.ca, k.ed, nil, "server")
	expired := hostCert(
		tb,
		k.ca,
		k.ed,
		func(c *ssh.Certificate) { c.ValidBefore = uint64(time.Now().Add(-time.Hour).Unix()) },
		"server",
	)
	early := hostCert(
		tb,
		k.ca,
		k.ed,
		func(c *ssh.Certificate) { c.ValidAfter = uint64(time.Now().Add(time.Hour).Unix()) },
		"server",
	)
	critical := hostCert(
		tb,
		k.ca,
		k.ed,
		func(c *ssh.Certificate) { c.CriticalOptions = map[string]string{"surprise": "1"} },
		"server",
	)
	one := func(s ...ssh.Signer) []ssh.Signer { return s }

	cases := []opensshCase{
		// The order of algorithms.
		{name: "only ed25519 known, server has all", lines: []string{"server " + ed}, server: all, want: accept, decision: Known},
		{name: "only rsa known, server has all", lines: []string{"server " + rs}, server: all, want: accept, decision: Known},
		{name: "only ecdsa known, server has all", lines: []string{"server " + ec}, server: all, want: accept, decision: Known},
		{name: "only another type known", lines: []string{"server " + rs}, server: one(k.ed), want: mismatch},
		{name: "only another type known, accept-new", policy: AcceptNew, lines: []string{"server " + rs}, server: one(k.ed), want: mismatch},
		{name: "one type right, one wrong", lines: []string{"server " + text(k.otherRSA), "server " + ed}, server: one(k.ed), want: accept, decision: Known},

		// Ports.
		{name: "no port on record", port: 2201, lines: []string{"server " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "port on record", port: 2201, lines: []string{"[server]:2201 " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "another port on record", port: 2201, lines: []string{"[server]:2202 " + ed}, server: one(k.ed), want: unknown},
		{name: "port on record, connecting to 22", lines: []string{"[server]:2201 " + ed}, server: one(k.ed), want: unknown},
		{name: "port on record wins over none", port: 2201, lines: []string{"server " + ed, "[server]:2201 " + text(k.otherEd)}, server: one(k.ed), want: mismatch},
		{name: "wrong key without port", port: 2201, lines: []string{"server " + text(k.otherEd)}, server: one(k.ed), want: unknown},
		{name: "wrong key without port, accept-new", port: 2201, policy: AcceptNew, lines: []string{"server " + text(k.otherEd)}, server: one(k.ed), want: accept, decision: Added},
		{name: "[server]:22 is no name", lines: []string{"[server]:22 " + ed}, server: one(k.ed), want: unknown},

		// Patterns.
		{name: "star, port", port: 2201, lines: []string{"* " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "ser*, port", port: 2201, lines: []string{"ser* " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "[server]:star", port: 2201, lines: []string{"[server]:* " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "server*", lines: []string{"server* " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "serve?", lines: []string{"serve? " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "server?", lines: []string{"server? " + ed}, server: one(k.ed), want: unknown},
		{name: "upper case", lines: []string{"SERVER " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "negated", lines: []string{"!server,* " + ed}, server: one(k.ed), want: unknown},
		{name: "negated after", lines: []string{"*,!server " + ed}, server: one(k.ed), want: unknown},
		{name: "only negated, of another", lines: []string{"!other " + ed}, server: one(k.ed), want: unknown},
		{name: "one of several", lines: []string{"a,server,b " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "hashed", lines: []string{knownhosts.HashHostname("server") + " " + ed}, server: all, want: accept, decision: Known},
		{name: "hashed, port", port: 2201, lines: []string{knownhosts.HashHostname("[server]:2201") + " " + ed}, server: all, want: accept, decision: Known},
		{name: "hashed, another", lines: []string{knownhosts.HashHostname("other") + " " + ed}, server: all, want: unknown},
		{name: "hashed, in upper case", lines: []string{knownhosts.HashHostname("SERVER") + " " + ed}, server: all, want: unknown},
		{name: "CRLF", lines: []string{"server " + ed + "\r"}, server: all, want: accept, decision: Known},
		{name: "tabs and comment", lines: []string{"\tserver\t" + strings.Replace(ed, " ", "\t", 1) + "\tme@home"}, server: all, want: accept, decision: Known},

		// Aliases.
		{name: "alias", port: 2201, alias: "Nick", lines: []string{"nick " + ed}, server: all, want: accept, decision: Known},
		{name: "alias hides the host", alias: "nick", lines: []string{"server " + ed}, server: one(k.ed), want: unknown},
		{name: "alias has no port", port: 2201, alias: "nick", lines: []string{"[nick]:2201 " + ed}, server: one(k.ed), want: unknown},

		// Bad lines.
		{name: "bad base64", lines: []string{"server ssh-ed25519 AAAA%%%", "server " + ed}, server: all, want: accept, decision: Known},
		{name: "ssh1 line", lines: []string{"server 1024 35 1234567890", "server " + ed}, server: all, want: accept, decision: Known},
		{name: "unknown key type", lines: []string{"server ssh-new AAAAB3NzaC1uZXc=", "server " + ed}, server: all, want: accept, decision: Known},
		{name: "unknown marker", lines: []string{"@unknown server " + text(k.otherEd), "server " + ed}, server: all, want: accept, decision: Known},
		{name: "two markers", lines: []string{"@revoked @revoked server " + ed, "server " + ed}, server: all, want: accept, decision: Known},
		{name: "one word", lines: []string{"server", "server " + ed}, server: all, want: accept, decision: Known},
		{name: "type and key differ", lines: []string{"server ssh-rsa " + strings.Fields(ed)[1], "server " + ed}, server: all, want: accept, decision: Known},
		{name: "type and key differ, alone", lines: []string{"server ssh-rsa " + strings.Fields(ed)[1]}, server: one(k.ed), want: unknown},
		{name: "bad hash", lines: []string{"|1|AAAA|BBBB " + ed, "server " + ed}, server: all, want: accept, decision: Known},
		{name: "comment", lines: []string{"# server " + text(k.otherEd), "", "server " + ed}, server: all, want: accept, decision: Known},

		// Revocation.
		{name: "revoked", lines: []string{"server " + ed, "@revoked server " + ed}, server: one(k.ed), want: revoked},
		{name: "revoked, pattern", lines: []string{"server " + ed, "@revoked * " + ed}, server: one(k.ed), want: revoked},
		{name: "revoked for another host", lines: []string{"@revoked other.host " + ed, "server " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "another key revoked", lines: []string{"@revoked server " + text(k.otherEd), "server " + ed}, server: one(k.ed), want: accept, decision: Known},
		{name: "revoked, accept-new", policy: AcceptNew, lines: []string{"@revoked server " + ed}, server: one(k.ed), want: revoked},
		{name: "a revoked type is not preferred", lines: []string{"server " + rs, "@revoked server " + rs, "server " + ed}, server: all, want: accept, decision: Known},
		{name: "authority revoked", lines: []string{"@cert-authority server " + text(k.ca), "@revoked * " + text(k.ca)}, server: one(cert, k.ed), want: revoked},
		{name: "certified key revoked", lines: []string{"@cert-authority server " + text(k.ca), "@revoked * " + ed}, server: one(cert, k.ed), want: revoked},

		// Certificates.
		{name: "certificate, only plain key known", lines: []string{"server " + ed}, server: one(cert, k.ed), want: accept, decision: Known},
		{name: "authority", lines: []string{"@cert-authority server " + text(k.ca)}, server: one(k.rsa, k.ecdsa, cert, k.ed), want: accept, decision: KnownAuthority},
		{name: "authority, no port on record", port: 2201, lines: []string{"@cert-authority server " + text(k.ca)}, server: one(cert, k.ed), want: accept, decision: KnownAuthority},
		{name: "authority for star, port", port: 2201, lines: []string{"@cert-authority * " + text(k.ca)}, server: one(cert, k.ed), want: accept, decision: KnownAuthority},
		{name: "authority, port on record", port: 2201, lines: []string{"@cert-authority [server]:2201 " + text(k.ca)}, server: one(cert, k.ed), want: accept, decision: KnownAuthority},
		{name: "unrelated authority and plain key", lines: []string{"@cert-authority * " + text(k.otherCA), "server " + ed}, server: one(cert, k.ed), want: accept, decision: Known},
		{name: "authority and a server without certificate", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(k.ed), want: unknown},
		{name: "authority as plain key", lines: []string{"server " + text(k.ca)}, server: one(cert, k.ed), want: mismatch},
		{name: "authority, wrong principal", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, nil, "other"), k.ed), want: unknown},
		{name: "authority, wrong principal, plain key known", lines: []string{"@cert-authority * " + text(k.ca), "server " + ed}, server: one(hostCert(tb, k.ca, k.ed, nil, "other"), k.ed), want: accept, decision: Known},
		{name: "authority, principal with port", port: 2201, lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, nil, "[server]:2201"), k.ed), want: unknown},
		{name: "authority, pattern as principal", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, nil, "ser*"), k.ed), want: accept, decision: KnownAuthority, since: 10},
		{name: "authority, no principals", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, nil), k.ed), want: unknown, since: 10},
		{name: "authority, alias as principal", alias: "nick", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, nil, "nick"), k.ed), want: accept, decision: KnownAuthority},
		{name: "authority, alias, host as principal", alias: "nick", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(cert, k.ed), want: unknown},
		{name: "expired", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(expired, k.ed), want: unknown},
		{name: "not yet valid", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(early, k.ed), want: unknown},
		{name: "critical option", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(critical, k.ed), want: unknown},
		{name: "user certificate", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.ed, func(c *ssh.Certificate) { c.CertType = ssh.UserCert }, "server"), k.ed), want: unknown},
		{name: "expired, accept-new", policy: AcceptNew, lines: []string{"@cert-authority * " + text(k.ca)}, server: one(expired, k.ed), want: accept, decision: Added},
		{name: "rsa certificate", lines: []string{"@cert-authority * " + text(k.ca)}, server: one(hostCert(tb, k.ca, k.rsa, nil, "server"), k.rsa, k.ecdsa), want: accept, decision: KnownAuthority},
		{name: "rsa authority", lines: []string{"@cert-authority * " + text(k.otherRSA)}, server: one(hostCert(tb, k.otherRSA, k.ed, nil, "server"), k.ed), want: accept, decision: KnownAuthority},

		// Policies.
		{name: "nothing on record", server: all, want: unknown},
		{name: "nothing on record, accept-new", policy: AcceptNew, server: all, want: accept, decision: Added},
		{name: "changed", lines: []string{"server " + text(k.otherEd)}, server: one(k.ed), want: mismatch},
		{name: "changed, accept-new", policy: AcceptNew, lines: []string{"server " + text(k.otherEd)}, server: one(k.ed), want: mismatch},
		{name: "nothing on record, off", policy: Disabled, server: all, want: accept, decision: Added},
		{name: "changed, off", policy: Disabled, lines: []string{"server " + text(k.otherEd)}, server: one(k.ed), want: accept, decision: Unchecked},
	}
	return cases
}

// TestAsOpenSSH compares our answers with OpenSSH's, each by a real key exchange, because the
// order of algorithms decides which key the server shows. With the build tag "oracle" the
// installed ssh must give the same answers.
func TestAsOpenSSH(t *testing.T) {
	for _, c := range opensshCases(t) {
		t.Run(c.name, func(t *testing.T) {
			v := verifier(t, c.port, Options{Policy: c.policy, Alias: c.alias}, c.lines...)
			err := handshake(t, v, c.server...)
			if got := verdictOf(t, err); got != c.want {
				t.Fatalf("got %s, want %s (%v)", got, c.want, err)
			}
			r := v.Result()
			if c.want != accept {
				if r.Decision != Undecided {
					t.Errorf("refused, but the result says %s", r.Decision)
				}
				return
			}
			if r.Decision != c.decision {
				t.Errorf("decision %s, want %s", r.Decision, c.decision)
			}
			if r.Type == "" || r.Fingerprint == "" || r.Name == "" {
				t.Errorf("the result lacks the key: %+v", r)
			}
		})
	}
}
