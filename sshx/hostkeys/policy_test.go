package hostkeys

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// verify calls v.Verify with the plain key of s.
func verify(tb testing.TB, v *Verifier, s ssh.Signer) error {
	tb.Helper()
	return v.Verify(tb.Context(), s.PublicKey())
}

func read(tb testing.TB, name string) string {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func TestAsk(t *testing.T) {
	k := keys()
	failure := errors.New("nobody is there")
	for _, c := range []struct {
		name     string
		answers  []string
		fail     error
		want     verdict
		declined bool
	}{
		{name: "yes", answers: []string{"yes"}, want: accept},
		{name: "Yes, with blanks", answers: []string{" YES\r\n"}, want: accept},
		{name: "fingerprint", answers: []string{fingerprint(k.ed)}, want: accept},
		{name: "another fingerprint", answers: []string{fingerprint(k.rsa), "no"}, want: unknown, declined: true},
		{name: "no", answers: []string{"no"}, want: unknown, declined: true},
		{name: "empty", answers: []string{""}, want: unknown, declined: true},
		{name: "unclear, then yes", answers: []string{"y", "sure", "yes"}, want: accept},
		{name: "unclear to the end", answers: []string{"y", "y", "y"}, want: unknown, declined: true},
		{name: "no answer", fail: failure},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []Question
			v := verifier(t, 2201, Options{Policy: Ask, Ask: func(_ context.Context, q Question) (string, error) {
				asked = append(asked, q)
				if c.fail != nil {
					return "", c.fail
				}
				return c.answers[len(asked)-1], nil
			}}, "elsewhere "+text(k.ed))
			err := handshake(t, v, k.ed)
			file := read(t, v.o.UserFiles[0])
			if c.fail != nil {
				if !errors.Is(err, c.fail) {
					t.Fatalf("got %v, want it to be %v", err, c.fail)
				}
			} else if got := verdictOf(t, err); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			if added := strings.Contains(file, "[server]:2201 "+text(k.ed)); added != (c.want == accept) {
				t.Errorf("recorded: %v\n%s", added, file)
			}
			if u := (*UnknownError)(nil); errors.As(err, &u) && u.Declined != c.declined {
				t.Errorf("declined = %v", u.Declined)
			}
			if c.want == accept && v.Result().Decision != Confirmed {
				t.Errorf("decision %s", v.Result().Decision)
			}
			if c.fail == nil && len(asked) != len(c.answers) {
				t.Errorf("asked %d times, want %d", len(asked), len(c.answers))
			}
			for i, q := range asked {
				if q.Again != (i > 0) || q.Name != "[server]:2201" ||
					q.Fingerprint != fingerprint(k.ed) || q.Type != ssh.KeyAlgoED25519 ||
					len(q.OtherNames) != 1 ||
					q.OtherNames[0].Names != "elsewhere" {
					t.Errorf("question %d: %+v", i, q)
				}
			}
			for _, want := range []string{"[server]:2201", fingerprint(k.ed), "elsewhere", "yes/no"} {
				if !strings.Contains(asked[0].String(), want) {
					t.Errorf("the question lacks %q:\n%s", want, asked[0])
				}
			}
		})
	}
	t.Run("nobody to ask", func(t *testing.T) {
		if got := verdictOf(t, verify(t, verifier(t, 22, Options{Policy: Ask}), k.ed)); got != unknown {
			t.Error(got)
		}
	})
	t.Run("a changed key is no question", func(t *testing.T) {
		v := verifier(t, 22, Options{Policy: Ask, Ask: func(context.Context, Question) (string, error) {
			t.Error("asked")
			return "yes", nil
		}}, "server "+text(k.otherEd))
		if got := verdictOf(t, verify(t, v, k.ed)); got != mismatch {
			t.Error(got)
		}
	})
}

func TestPin(t *testing.T) {
	k := keys()
	cert := hostCert(t, k.ca, k.ed, nil, "server")
	for _, c := range []struct {
		name   string
		pin    ssh.Signer
		policy Policy
		floor  Policy
		lines  []string
		server []ssh.Signer
		want   verdict
	}{
		{name: "match, unknown", pin: k.ed, server: []ssh.Signer{k.ed}, want: unknown},
		{name: "match, unknown, ask", pin: k.ed, policy: Ask, floor: Ask, server: []ssh.Signer{k.ed}, want: unknown},
		{name: "match, unknown, accept_new", pin: k.ed, floor: AcceptNew, server: []ssh.Signer{k.ed}, want: accept},
		{name: "match, unknown, disabled", pin: k.ed, policy: Disabled, floor: Disabled, server: []ssh.Signer{k.ed}, want: accept},
		{name: "match, on record", pin: k.ed, lines: []string{"[server]:2201 " + text(k.ed)}, server: []ssh.Signer{k.ed}, want: accept},
		{name: "match, on record without the port", pin: k.ed, lines: []string{"server " + text(k.ed)}, server: []ssh.Signer{k.ed}, want: accept},
		{name: "match against the record", pin: k.ed, lines: []string{"[server]:2201 " + text(k.otherEd)}, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "match against the record, accept_new", pin: k.ed, policy: AcceptNew, floor: AcceptNew, lines: []string{"[server]:2201 " + text(k.otherEd)}, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "match against the record, strict where disabled is allowed", pin: k.ed, floor: Disabled, lines: []string{"[server]:2201 " + text(k.otherEd)}, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "another type on record", pin: k.ed, floor: AcceptNew, lines: []string{"[server]:2201 " + text(k.rsa)}, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "certificate", pin: k.ed, floor: AcceptNew, server: []ssh.Signer{cert, k.ed}, want: accept},
		{name: "certificate on record", pin: k.ed, lines: []string{"@cert-authority server " + text(k.ca)}, server: []ssh.Signer{cert, k.ed}, want: accept},
		{name: "certificate of another authority", pin: k.ed, lines: []string{"@cert-authority server " + text(k.otherCA)}, server: []ssh.Signer{cert, k.ed}, want: unknown},
		{name: "mismatch although on record", pin: k.otherEd, lines: []string{"server " + text(k.ed)}, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "mismatch under disabled", pin: k.otherEd, policy: Disabled, server: []ssh.Signer{k.ed}, want: mismatch},
		{name: "revoked", pin: k.ed, policy: Disabled, lines: []string{"@revoked * " + text(k.ed)}, server: []ssh.Signer{k.ed}, want: revoked},
		{name: "revoked without the port", pin: k.ed, lines: []string{"@revoked server " + text(k.ed)}, server: []ssh.Signer{k.ed}, want: revoked},
		{
			name: "the pinned type is asked for if on record", pin: k.rsa, lines: []string{"server " + text(k.ed), "server " + text(k.rsa)},
			server: []ssh.Signer{k.ecdsa, k.ed, k.rsa}, want: accept,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := verifier(t, 2201, Options{Policy: c.policy, Floor: c.floor, Fingerprint: fingerprint(c.pin)}, c.lines...)
			before := read(t, v.o.UserFiles[0])
			err := handshake(t, v, c.server...)
			if got := verdictOf(t, err); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			if c.want == accept && v.Result().Decision != Pinned {
				t.Errorf("decision %s", v.Result().Decision)
			}
			if m := (*MismatchError)(nil); errors.As(err, &m) && len(m.Recorded) == 0 &&
				(m.Pinned != fingerprint(c.pin) || !strings.Contains(m.Error(), m.Pinned)) {
				t.Errorf("the error does not name the pin: %v", err)
			}
			if read(t, v.o.UserFiles[0]) != before {
				t.Error("a pinned key was recorded")
			}
		})
	}
}

func TestDisabled(t *testing.T) {
	k := keys()
	v := verifier(t, 22, Options{Policy: Disabled}, "server "+text(k.otherEd))
	before := read(t, v.o.UserFiles[0])
	if err := verify(t, v, k.ed); err != nil {
		t.Fatal(err)
	}
	r := v.Result()
	if !r.Changed || r.Decision != Unchecked || r.Entry == nil || r.Entry.Line != 1 || len(r.Warnings) != 1 {
		t.Errorf("Result = %+v, want Changed, Unchecked, the entry of line 1 and one warning", r)
	}
	if read(t, v.o.UserFiles[0]) != before {
		t.Error("a changed key was recorded")
	}
	v = verifier(t, 22, Options{Policy: Disabled}, "@revoked * "+text(k.ed))
	if got := verdictOf(t, verify(t, v, k.ed)); got != revoked {
		t.Errorf("a revoked key under disabled: %s", got)
	}
	known := verifier(t, 22, Options{Policy: Disabled}, "server "+text(k.ed))
	if err := verify(t, known, k.ed); err != nil || known.Result().Decision != Known || known.Result().Changed {
		t.Errorf("a known key under disabled: %v, %+v", err, known.Result())
	}
}

func TestCheckIP(t *testing.T) {
	k := keys()
	ed, other := text(k.ed), text(k.otherEd)
	ip := net.ParseIP("192.0.2.7")
	for _, c := range []struct {
		name   string
		ip     net.IP
		port   int
		policy Policy
		lines  []string
		want   verdict
		added  string // the start of the added line
	}{
		{name: "both known", ip: ip, lines: []string{"server,192.0.2.7 " + ed}, want: accept},
		{name: "address new, under strict too", ip: ip, lines: []string{"server " + ed}, want: accept, added: "192.0.2.7 "},
		{name: "address contradicts", ip: ip, lines: []string{"server " + ed, "192.0.2.7 " + other}, want: mismatch},
		{name: "address contradicts, disabled", ip: ip, policy: Disabled, lines: []string{"server " + ed, "192.0.2.7 " + other}, want: accept},
		{name: "address contradicts a new host", ip: ip, policy: AcceptNew, lines: []string{"192.0.2.7 " + other}, want: mismatch},
		{name: "both new", ip: ip, policy: AcceptNew, want: accept, added: "server,192.0.2.7 "},
		{name: "both new, port", ip: ip, port: 2201, policy: AcceptNew, want: accept, added: "[server]:2201,[192.0.2.7]:2201 "},
		{name: "host new, address known", ip: ip, policy: AcceptNew, lines: []string{"192.0.2.7 " + ed}, want: accept, added: "server "},
		{name: "address known, host not", ip: ip, lines: []string{"192.0.2.7 " + ed}, want: unknown},
		{name: "known without the port", ip: ip, port: 2201, lines: []string{"server " + ed}, want: accept},
		{name: "address revoked", ip: ip, lines: []string{"server " + ed, "@revoked 192.0.2.7 " + ed}, want: revoked},
		{name: "loopback", ip: net.IPv6loopback, policy: AcceptNew, want: accept, added: "server "},
		{name: "not given", policy: AcceptNew, want: accept, added: "server "},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeLines(t, c.lines...)
			before := read(t, file)
			v, err := NewVerifier("server", c.port, c.ip, Options{Policy: c.policy, UserFiles: []string{file}, CheckIP: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := verdictOf(t, verify(t, v, k.ed)); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			added, ok := strings.CutPrefix(read(t, file), before)
			if !ok || (c.added == "") != (added == "") || !strings.HasPrefix(added, c.added) {
				t.Errorf("added %q, want %q", added, c.added)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		file := writeLines(t, "server "+ed, "192.0.2.7 "+other)
		v, err := NewVerifier("server", 22, ip, Options{UserFiles: []string{file}})
		if err != nil || verify(t, v, k.ed) != nil {
			t.Error("an address counts although CheckIP is off")
		}
	})
}

func TestLocalhost(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		name string
		ip   string
		o    Options
		want verdict
	}{
		{"loopback", "127.0.0.1", Options{NoHostAuthenticationForLocalhost: true}, accept},
		{"off", "127.0.0.1", Options{}, unknown},
		{"alias", "127.0.0.1", Options{NoHostAuthenticationForLocalhost: true, Alias: "box"}, unknown},
		{"not loopback", "192.0.2.7", Options{NoHostAuthenticationForLocalhost: true}, unknown},
	} {
		v, err := NewVerifier("localhost", 22, net.ParseIP(c.ip), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdictOf(t, verify(t, v, k.ed)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNewVerifierRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		host string
		port int
		o    Options
		want string
	}{
		{"no host", "", 22, Options{}, "host name"},
		{"port", "server", 65536, Options{}, "port"},
		{"policy", "server", 22, Options{Policy: 9}, "policy"},
		{"MD5", "server", 22, Options{Fingerprint: "MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48"}, "SHA256:"},
		{"short fingerprint", "server", 22, Options{Fingerprint: "SHA256:AAAA"}, "SHA256:"},
		{"bare fingerprint", "server", 22, Options{Fingerprint: strings.TrimPrefix(fingerprint(keys().ed), "SHA256:")}, "SHA256:"},
	} {
		if _, err := NewVerifier(c.host, c.port, nil, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something about %q", c.name, err, c.want)
		}
	}
	v, err := NewVerifier("server", 0, nil, Options{Floor: AcceptNew, Fingerprint: fingerprint(keys().ed) + "="})
	if err != nil || verify(t, v, keys().ed) != nil {
		t.Errorf("a padded fingerprint: %v", err)
	}
}
