package hostkeys

import (
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestCallerFiles checks that files named by a caller can only narrow the record, and that
// they admit an unrecorded host only with the floor accept_new.
func TestCallerFiles(t *testing.T) {
	k := keys()
	cert := hostCert(t, k.ca, k.ed, nil, "server")
	known, other := "server "+text(k.ed), "server "+text(k.otherEd)
	for _, c := range []struct {
		name     string
		record   string
		callers  string
		floor    Policy
		policy   Policy
		server   []ssh.Signer
		want     verdict
		decision Decision
	}{
		{name: "the caller alone, strict", callers: known, want: unknown},
		{name: "the caller alone, ask", callers: known, floor: Ask, policy: Ask, want: unknown},
		{name: "the caller alone, accept_new", callers: known, floor: AcceptNew, want: accept, decision: Known},
		{name: "the record alone", record: known, want: accept, decision: Known},
		{name: "both", record: known, callers: known, want: accept, decision: Known},
		{name: "the caller against the record", record: other, callers: known, floor: AcceptNew, policy: AcceptNew, want: mismatch},
		{name: "the caller against another type on record", record: "server " + text(k.rsa), callers: known, floor: AcceptNew, want: mismatch},
		{name: "the record against the caller", record: known, callers: other, want: mismatch},
		{name: "the record against the caller, accept_new", record: known, callers: other, floor: AcceptNew, policy: AcceptNew, want: mismatch},
		{name: "revoked by the caller", record: known, callers: "@revoked * " + text(k.ed), want: revoked},
		{name: "revoked by the record", record: "@revoked * " + text(k.ed), callers: known, floor: AcceptNew, want: revoked},
		{name: "the caller's authority, strict", callers: "@cert-authority * " + text(k.ca), server: []ssh.Signer{cert, k.ed}, want: unknown},
		{name: "the caller's authority, accept_new", callers: "@cert-authority * " + text(k.ca), floor: AcceptNew, server: []ssh.Signer{cert, k.ed}, want: accept, decision: KnownAuthority},
		{name: "the caller's authority against the record", record: other, callers: "@cert-authority * " + text(k.ca), floor: AcceptNew, policy: AcceptNew, server: []ssh.Signer{cert, k.ed}, want: mismatch},
		{name: "the caller's authority, revoked by the record", record: "@revoked * " + text(k.ca), callers: "@cert-authority * " + text(k.ca), floor: AcceptNew, server: []ssh.Signer{cert}, want: revoked},
		{name: "the record's authority", record: "@cert-authority * " + text(k.ca), callers: "elsewhere " + text(k.rsa), server: []ssh.Signer{cert, k.ed}, want: accept, decision: KnownAuthority},
		{name: "disabled", record: other, callers: known, floor: Disabled, policy: Disabled, want: accept, decision: Unchecked},
		{name: "strict where disabled is allowed", record: other, callers: known, floor: Disabled, want: mismatch},
		{name: "the key that both know is asked for", record: known + "\nserver " + text(k.rsa), callers: "server " + text(k.rsa), server: []ssh.Signer{k.ecdsa, k.ed, k.rsa}, want: accept, decision: Known},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.server == nil {
				c.server = []ssh.Signer{k.ed}
			}
			callers := writeLines(t, c.callers)
			v := verifier(
				t,
				22,
				Options{Policy: c.policy, Floor: c.floor, CallerFiles: []string{callers}},
				strings.Split(c.record, "\n")...)
			record := v.o.UserFiles[0]
			before := read(t, record)
			err := handshake(t, v, c.server...)
			if got := verdictOf(t, err); got != c.want {
				t.Fatalf("handshake = %s (%v), want %s", got, err, c.want)
			}
			if r := v.Result(); r.Decision != c.decision || c.decision == Unchecked && !r.Changed {
				t.Errorf("Result() = %+v, want the decision %s", r, c.decision)
			}
			if read(t, record) != before || read(t, callers) != c.callers+"\n" {
				t.Error("a file was changed")
			}
			if c.want == unknown && strings.Contains(err.Error(), "host_key_fingerprint") {
				t.Errorf("the error advises what the floor %s forbids: %v", c.floor, err)
			}
		})
	}
}

// TestCallersAddress checks CheckHostIP with files named by a caller: a recorded address must
// match, and no address may be recorded because of a caller's file.
func TestCallersAddress(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		name    string
		record  string
		callers string
		pin     string
		keep    bool
		want    verdict
		added   bool
	}{
		{name: "the address contradicts the caller", record: "192.0.2.7 " + text(k.otherEd), callers: "server " + text(k.ed), want: mismatch},
		{name: "the address contradicts the pin", record: "192.0.2.7 " + text(k.otherEd), pin: fingerprint(k.ed), want: mismatch},
		{name: "the caller's address contradicts the record", record: "server " + text(k.ed), callers: "192.0.2.7 " + text(k.otherEd), want: mismatch},
		{name: "the caller's host", callers: "server " + text(k.ed), want: accept},
		{name: "the record's host", record: "server " + text(k.ed), want: accept, added: true},
		{name: "the record's host, addresses kept", record: "server " + text(k.ed), keep: true, want: accept},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := writeLines(t, c.record)
			v, err := NewVerifier("server", 22, net.ParseIP("192.0.2.7"), Options{
				Floor: AcceptNew, UserFiles: []string{record}, CallerFiles: []string{writeLines(t, c.callers)},
				Fingerprint: c.pin, CheckIP: true, KeepAddresses: c.keep,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := verdictOf(t, handshake(t, v, k.ed)); got != c.want {
				t.Errorf("handshake = %s, want %s", got, c.want)
			}
			if added := read(t, record) != c.record+"\n"; added != c.added {
				t.Errorf("a line was added: %t, want %t", added, c.added)
			}
		})
	}
}
