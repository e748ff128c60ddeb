package sshx

import (
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// The default offers, the preferred algorithm first. The defaults of x/crypto/ssh
// are not used: they include group14 with SHA-1 and ssh-rsa, and lack group16.
var (
	defaultKex = []string{
		ssh.KeyExchangeMLKEM768X25519, ssh.KeyExchangeCurve25519,
		ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384, ssh.KeyExchangeECDHP521,
		ssh.KeyExchangeDHGEXSHA256, ssh.KeyExchangeDH16SHA512, ssh.KeyExchangeDH14SHA256,
	}
	defaultCiphers = []string{
		ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305,
		ssh.CipherAES128CTR, ssh.CipherAES192CTR, ssh.CipherAES256CTR,
	}
	defaultMACs = []string{
		ssh.HMACSHA256ETM, ssh.HMACSHA512ETM, ssh.HMACSHA256, ssh.HMACSHA512, ssh.HMACSHA1,
	}
	defaultHostKeys = []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
	defaultPubkey = []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
)

// negotiated returns the algorithms of an established connection.
func negotiated(c ssh.ConnMetadata) term.Algorithms {
	// Only a connection of x/crypto/ssh itself reports its algorithms.
	m, ok := c.(ssh.AlgorithmsConnMetadata)
	if !ok {
		return term.Algorithms{}
	}
	a := m.Algorithms()
	return term.Algorithms{Kex: a.KeyExchange, HostKey: a.HostKey, Cipher: a.Write.Cipher, MAC: a.Write.MAC}
}

// weakWarnings returns a warning for each negotiated algorithm that should no
// longer be used.
func weakWarnings(a term.Algorithms) []string {
	weak := ssh.InsecureAlgorithms()
	var out []string
	for _, n := range []struct {
		what, name string
		list       []string
	}{
		{"key exchange", a.Kex, weak.KeyExchanges}, {"host key", a.HostKey, weak.HostKeys},
		{"cipher", a.Cipher, weak.Ciphers}, {"MAC", a.MAC, weak.MACs},
	} {
		if slices.Contains(n.list, n.name) {
			out = append(out, fmt.Sprintf("the %s algorithm %s is weak; the server should be updated", n.what, n.name))
		}
	}
	return out
}
