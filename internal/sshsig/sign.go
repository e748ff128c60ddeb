package sshsig

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// Sign returns the armored signature of a message, as ssh-keygen -Y sign -n NAMESPACE makes it. A key of RSA signs with
// rsa-sha2-512; PROTOCOL.sshsig forbids ssh-rsa.
func Sign(random io.Reader, signer ssh.Signer, namespace string, message []byte) ([]byte, error) {
	if namespace == "" {
		return nil, errors.New("a signature needs a namespace")
	}
	b := blob{Version: version, PublicKey: signer.PublicKey().Marshal(), Namespace: namespace, Hash: "sha512"}
	data, err := b.signedData(message)
	if err != nil {
		return nil, err
	}
	signature, err := signAs(random, signer, data)
	if err != nil {
		return nil, fmt.Errorf("the key %s does not sign: %w", ssh.FingerprintSHA256(signer.PublicKey()), err)
	}
	b.Signature = ssh.Marshal(signature)
	text := b.encode()
	// The answer of an agent may be anything.
	if _, err := Verify(text, namespace, message, []ssh.PublicKey{signer.PublicKey()}); err != nil {
		return nil, fmt.Errorf("the signature just made is not good: %w", err)
	}
	return text, nil
}

func signAs(random io.Reader, signer ssh.Signer, data []byte) (*ssh.Signature, error) {
	if signer.PublicKey().Type() != ssh.KeyAlgoRSA {
		return signer.Sign(random, data)
	}
	s, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("it offers no rsa-sha2-512")
	}
	return s.SignWithAlgorithm(random, data, ssh.KeyAlgoRSASHA512)
}
