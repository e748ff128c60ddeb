package hostkeys

import (
	"crypto/rsa"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestRequiredRSASize(t *testing.T) {
	k := keys()
	for _, c := range []struct {
		required int
		key      ssh.Signer
		want     verdict
	}{
		{0, k.rsa1024, accept},
		{512, k.rsa1024, accept},
		{2048, k.rsa1024, weak},
		{2048, k.rsa, accept},
		{3072, k.rsa, weak},
		{3072, k.ed, accept},
	} {
		v := verifier(t, 22, Options{Policy: Disabled, RequiredRSASize: c.required}, "server "+text(c.key))
		if got := verdictOf(t, verify(t, v, c.key)); got != c.want {
			t.Errorf("RequiredRSASize %d, %s: %s, want %s", c.required, c.key.PublicKey().Type(), got, c.want)
		}
	}
}

// TestTinyRSA: x/crypto/ssh refuses such a key too, but the limit must not depend on that.
func TestTinyRSA(t *testing.T) {
	key, err := ssh.NewPublicKey(&rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 767, 1), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	w := (*WeakKeyError)(nil)
	err = verifier(t, 22, Options{Policy: Disabled}).Verify(t.Context(), key)
	if !errors.As(err, &w) || w.Bits != 768 || w.Required != 1024 {
		t.Error(err)
	}
}

func TestCASignatureAlgorithms(t *testing.T) {
	k := keys()
	sha1, err := ssh.NewSignerWithAlgorithms(k.otherRSA.(ssh.AlgorithmSigner), []string{ssh.KeyAlgoRSA})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		ca      ssh.Signer
		allowed []string
		want    verdict
	}{
		{"SHA-2 by default", k.otherRSA, nil, accept},
		{"no SHA-1 by default", sha1, nil, unknown},
		{"SHA-1 if asked for", sha1, []string{ssh.KeyAlgoRSA}, accept},
		{"ed25519 if not asked for", k.ca, []string{ssh.KeyAlgoRSASHA512}, unknown},
		{"none", k.ca, []string{}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := verifier(t, 22, Options{CASignatureAlgorithms: c.allowed}, "@cert-authority * "+text(c.ca))
			err := handshake(t, v, hostCert(t, c.ca, k.ed, nil, "server"), k.ed)
			if got := verdictOf(t, err); got != c.want {
				t.Errorf("got %s, want %s (%v)", got, c.want, err)
			}
			if u := (*UnknownError)(nil); errors.As(err, &u) && !strings.Contains(u.Certificate, "CASignatureAlgorithms") {
				t.Errorf("the error does not say why the certificate did not count: %v", err)
			}
		})
	}
}

func TestAlgorithms(t *testing.T) {
	k := keys()
	defaults := []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
	for _, c := range []struct {
		name     string
		defaults []string
		lines    []string
		first    []string // the head of the answer; the rest keeps its order
	}{
		{"nothing known", defaults, nil, nil},
		{"the best known", defaults, []string{"server " + text(k.rsa), "server " + text(k.ed)}, nil},
		{"rsa", defaults, []string{"server " + text(k.rsa)}, []string{ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}},
		{
			"rsa with ssh-rsa in the list", append([]string{ssh.KeyAlgoED25519}, ssh.KeyAlgoRSA, ssh.KeyAlgoRSASHA256),
			[]string{"server " + text(k.rsa)},
			[]string{ssh.KeyAlgoRSA, ssh.KeyAlgoRSASHA256},
		},
		{"ecdsa", defaults, []string{"server " + text(k.ecdsa)}, []string{ssh.KeyAlgoECDSA256}},
		{"authority", append([]string{ssh.KeyAlgoED25519}, defaults[:2]...), []string{"@cert-authority * " + text(k.ca)}, defaults[:2]},
		{"another host", defaults, []string{"other " + text(k.rsa)}, nil},
		{"a type not in the list", []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256}, []string{"server " + text(k.rsa)}, nil},
		{"without port", defaults, []string{"server " + text(k.ecdsa)}, []string{ssh.KeyAlgoECDSA256}},
		{"port over none", defaults, []string{"server " + text(k.ecdsa), "[server]:2201 " + text(k.ed)}, nil},
		{
			"revoked", defaults,
			[]string{"[server]:2201 " + text(k.ecdsa), "[server]:2201 " + text(k.rsa), "@revoked * " + text(k.ecdsa)},
			[]string{ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
		},
		{"revoked without the port", defaults, []string{"server " + text(k.ecdsa), "@revoked server " + text(k.ecdsa)}, nil},
		{"another key revoked", defaults, []string{"server " + text(k.ecdsa), "@revoked * " + text(k.rsa)}, []string{ssh.KeyAlgoECDSA256}},
		{"empty", nil, []string{"server " + text(k.rsa)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := slices.Clone(c.first)
			for _, a := range c.defaults {
				if !slices.Contains(c.first, a) {
					want = append(want, a)
				}
			}
			got := verifier(t, 2201, Options{}, c.lines...).Algorithms(c.defaults)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
