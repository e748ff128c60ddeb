package plan

import (
	"slices"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/sshconfig"
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
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoSKED25519v01, ssh.CertAlgoSKECDSA256v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
)

// algorithmDefaults returns the lists that "+", "-" and "^" in ssh_config modify,
// and all supported names.
func algorithmDefaults() sshconfig.Algorithms {
	s, i := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	set := func(def, safe, insecure []string) sshconfig.AlgorithmSet {
		return sshconfig.AlgorithmSet{Default: def, Supported: slices.Concat(safe, insecure)}
	}
	return sshconfig.Algorithms{
		Kex:     set(defaultKex, s.KeyExchanges, i.KeyExchanges),
		Ciphers: set(defaultCiphers, s.Ciphers, i.Ciphers),
		MACs:    set(defaultMACs, s.MACs, i.MACs),
		HostKey: set(defaultHostKeys, s.HostKeys, i.HostKeys),
		Pubkey: set(
			defaultPubkey,
			slices.Concat(defaultPubkey, slices.DeleteFunc(s.PublicKeyAuths, func(name string) bool {
				return slices.Contains(defaultPubkey, name)
			})),
			append(i.PublicKeyAuths, ssh.CertAlgoRSAv01),
		),
		CASignature: set(
			[]string{
				ssh.KeyAlgoED25519,
				ssh.KeyAlgoECDSA256,
				ssh.KeyAlgoECDSA384,
				ssh.KeyAlgoECDSA521,
				ssh.KeyAlgoRSASHA512,
				ssh.KeyAlgoRSASHA256,
			},
			s.PublicKeyAuths,
			i.PublicKeyAuths,
		),
	}
}
