package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// Sign implements ssh.Signer.
func (s *sealedKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm implements ssh.AlgorithmSigner. The first call decrypts the
// key.
func (s *sealedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	opened, err := s.open()
	if err != nil {
		return nil, err
	}
	return opened.SignWithAlgorithm(rand, data, algorithm)
}

// maxKeyFile is the largest key file read, in bytes; the largest keys have some
// 13 KiB.
const maxKeyFile = 64 << 10

// readKeyFile reads a file that may hold a key. It refuses devices and named
// pipes, because a caller may have chosen the path and a read would not end.
func readKeyFile(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, rootPathError(err)
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	case info.Size() > maxKeyFile:
		return nil, nil, fmt.Errorf("it is too large for a key (%d bytes)", info.Size())
	}
	data, err := os.ReadFile(path)
	return data, info, rootPathError(err)
}

// rootPathError removes the operation and path that package os adds to an error;
// the messages here have their own.
func rootPathError(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// decrypt decrypts a private key with parse.
func decrypt(
	parse func(pem, passphrase []byte) (ssh.Signer, error),
	name string,
	pem, passphrase []byte,
) (ssh.AlgorithmSigner, error) {
	s, err := parse(pem, passphrase)
	if err != nil {
		return nil, fmt.Errorf("the passphrase does not open %s: %w", name, err)
	}
	as, ok := s.(ssh.AlgorithmSigner)
	if !ok {
		return nil, fmt.Errorf("%s is of a type that cannot sign", name)
	}
	return as, nil
}

// CallerKey parses the key of the call. If its passphrase is missing, the error
// is an *ssh.PassphraseMissingError. A call that offers no key of its own has none, which is no error.
func CallerKey(c Credentials) (ssh.Signer, error) {
	if !c.offersPrivateKey() {
		return nil, nil
	}
	pem := []byte(c.PrivateKey.Reveal())
	defer clear(pem)
	s, err := ssh.ParsePrivateKey(pem)
	if err == nil {
		return s, nil
	}
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		if c.Passphrase == "" {
			return nil, err
		}
		pass := []byte(c.Passphrase.Reveal())
		defer clear(pass)
		s, err := decrypt(ssh.ParsePrivateKeyWithPassphrase, callersKey, pem, pass)
		if err != nil {
			return nil, &term.Error{
				Kind:  term.AuthFailed,
				Msg:   "the passphrase does not open the private key; pass the passphrase of that key",
				Err:   err,
				Facts: term.Facts{term.ArgumentFault{Field: term.FieldPassphrase}},
			}
		}
		return s, nil
	}
	return nil, &term.Error{
		Kind:  term.InvalidArgument,
		Msg:   callersKey + ": " + unreadableKey(pem, err),
		Err:   err,
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldPrivateKey}},
	}
}

// callersKey is the name in messages of the key that the caller has passed.
const callersKey = "the private key of the call"

// unreadableKey returns why a private key cannot be read, and the remedy.
func unreadableKey(pem []byte, err error) string {
	switch {
	case len(bytes.TrimSpace(pem)) == 0:
		return "the key is empty; pass the whole PEM text, with its BEGIN and END lines"
	case bytes.HasPrefix(pem, []byte("PuTTY-User-Key-File")):
		return "this is a PuTTY key; convert it with: puttygen KEY -O private-openssh -o NEWKEY"
	case bytes.Contains(pem, []byte("BEGIN ENCRYPTED PRIVATE KEY")):
		return "this is an encrypted PKCS#8 key, which is not supported; convert it with: ssh-keygen -p -f KEY"
	case bytes.Contains(pem, []byte("BEGIN CERTIFICATE")),
		bytes.Contains(pem, []byte("PUBLIC KEY")),
		bytes.HasPrefix(pem, []byte("ssh-")),
		bytes.HasPrefix(pem, []byte("ecdsa-")):
		return "this is a public key or a certificate; the private key is needed"
	case !bytes.Contains(pem, []byte("-----BEGIN ")):
		return "this is not a private key; pass the whole PEM text, with its BEGIN and END lines and its line breaks"
	default:
		return fmt.Sprintf(
			"the key cannot be read (%v); supported are OpenSSH, PKCS#1, SEC 1 and unencrypted PKCS#8, "+
				"of types ed25519, ecdsa and rsa",
			err,
		)
	}
}

// publicHalf returns the public key of an identity file if that is possible
// without a passphrase: from the file itself, or from the .pub file beside it.
// The identity may itself be a public key, for example of a key in the agent.
func publicHalf(path string) ssh.PublicKey {
	for _, name := range []string{path, path + ".pub"} {
		data, _, err := readKeyFile(name)
		if err != nil {
			continue
		}
		if pub, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
			return pub
		}
		// The private part is not kept; only the public key is of interest here.
		s, err := ssh.ParsePrivateKey(data)
		clear(data)
		if err == nil {
			return s.PublicKey()
		}
		var missing *ssh.PassphraseMissingError
		if errors.As(err, &missing) && missing.PublicKey != nil {
			return missing.PublicKey
		}
	}
	return nil
}

// certified returns a signer for each user certificate that is configured, or
// that is beside an identity. The signer needs the private key among keys, or the same
// certificate: an agent may hold nothing but that.
func (k *keyring) certified(keys []ssh.Signer) []ssh.Signer {
	paths := append([]string(nil), k.h.Cred.Certificates...)
	for _, id := range k.h.Cred.IdentityFiles {
		paths = append(paths, id+"-cert.pub")
	}
	var certs []ssh.Signer
	for _, path := range paths {
		data, _, err := readKeyFile(path)
		if err != nil {
			continue
		}
		pub, _, _, _, err := ssh.ParseAuthorizedKey(data)
		cert, ok := pub.(*ssh.Certificate)
		if err != nil || !ok {
			k.seen.note("%s is not a certificate", path)
			continue
		}
		if slices.ContainsFunc(certs, func(s ssh.Signer) bool { return sameKey(s.PublicKey(), cert) }) {
			continue
		}
		for _, s := range keys {
			if sameKey(s.PublicKey(), cert) {
				certs = append(certs, s)
				break
			}
			if sameKey(s.PublicKey(), cert.Key) {
				if cs, err := ssh.NewCertSigner(cert, s); err == nil {
					certs = append(certs, cs)
				}
				break
			}
		}
	}
	return certs
}
