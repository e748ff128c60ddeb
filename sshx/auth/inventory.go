package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// An Identity is a key, or a certificate for one, that a login could use. It
// contains no secret.
type Identity struct {
	From        string // path of its file, or "agent"
	Type        string // for example "ssh-ed25519"
	Fingerprint string // "SHA256:..."; empty if unknown without the passphrase
	Comment     string
	Encrypted   bool
	Certificate *CertificateInfo // nil for a plain key
	Problem     string           // why it is unusable; empty if it is usable
}

// A CertificateInfo describes a user certificate.
type CertificateInfo struct {
	KeyID       string
	Principals  []string // empty for any
	ValidAfter  time.Time
	ValidBefore time.Time // zero for no limit
	Authority   string    // fingerprint of the key that signed it
}

// Identities lists the keys that a login could use: those of the agent, then those in
// files. It omits default files that do not exist. agentErr is the
// agent's error, and nil without an agent.
func Identities(ctx context.Context, at AgentAt, files, certificates []sshconfig.Value) (
	ids []Identity, agentErr error,
) {
	if at.Any() {
		ids, agentErr = agentIdentities(ctx, at)
	}
	for _, v := range files {
		id, ok := fileIdentity(v.Text)
		switch {
		case ok:
			ids = append(ids, id)
		case v.Origin.Source != sshconfig.Default:
			ids = append(ids, Identity{From: v.Text, Problem: "it does not exist"})
		}
		if cert, ok := certificateIdentity(v.Text + "-cert.pub"); ok {
			ids = append(ids, cert)
		}
	}
	for _, v := range certificates {
		cert, ok := certificateIdentity(v.Text)
		if !ok {
			cert = Identity{From: v.Text, Problem: "it does not exist"}
		}
		ids = append(ids, cert)
	}
	return ids, agentErr
}

// agentIdentities lists the agent's keys, within agentTimeout.
func agentIdentities(ctx context.Context, at AgentAt) ([]Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	conn, err := at.Dial(ctx)
	if err != nil {
		return nil, term.RootCause(err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	keys, err := agent.NewClient(conn).List()
	if err != nil {
		return nil, fmt.Errorf("it lists no keys: %w", err)
	}
	ids := make([]Identity, len(keys))
	for i, k := range keys {
		ids[i] = describeKey("agent", k)
		ids[i].Comment = k.Comment
	}
	return ids, nil
}

// describeKey describes a public key or certificate.
func describeKey(from string, key ssh.PublicKey) Identity {
	if k, ok := key.(*agent.Key); ok {
		if parsed, err := ssh.ParsePublicKey(k.Blob); err == nil {
			key = parsed
		}
	}
	id := Identity{From: from, Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key)}
	if cert, ok := key.(*ssh.Certificate); ok {
		id.Fingerprint = ssh.FingerprintSHA256(cert.Key)
		id.Certificate = &CertificateInfo{
			KeyID: cert.KeyId, Principals: cert.ValidPrincipals,
			ValidAfter: certTime(cert.ValidAfter), ValidBefore: certTime(cert.ValidBefore),
			Authority: ssh.FingerprintSHA256(cert.SignatureKey),
		}
		id.Problem = id.Certificate.problem(time.Now())
		if cert.CertType != ssh.UserCert {
			id.Problem = "it is a certificate for hosts, not for users"
		}
	}
	return id
}

// certTime converts a time of a certificate (PROTOCOL.certkeys); the zero time
// means 0 or no limit.
func certTime(seconds uint64) time.Time {
	if seconds == 0 || seconds >= 1<<62 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// problem returns why the certificate is not valid at now, or "".
func (c *CertificateInfo) problem(now time.Time) string {
	switch {
	case !c.ValidBefore.IsZero() && !now.Before(c.ValidBefore):
		return "the certificate has expired on " + c.ValidBefore.UTC().Format(time.DateTime) + " UTC"
	case now.Before(c.ValidAfter):
		return "the certificate is not valid before " + c.ValidAfter.UTC().Format(time.DateTime) + " UTC"
	}
	return ""
}

// fileIdentity describes a file of IdentityFile; ok is false if it does not
// exist.
func fileIdentity(path string) (id Identity, ok bool) {
	id.From = path
	pem, info, err := readKeyFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return id, false
	case err != nil:
		id.Problem = "it cannot be read: " + err.Error()
		return id, true
	}
	if pub, comment, _, _, err := ssh.ParseAuthorizedKey(pem); err == nil {
		id = describeKey(path, pub)
		id.Comment, id.Problem = comment, "it is only the public half: the private key must be in the agent"
		return id, true
	}
	// An encrypted key may still show its public half, in the file or beside it.
	if pub := publicHalf(path); pub != nil {
		id = describeKey(path, pub)
	}
	_, err = ssh.ParsePrivateKey(pem)
	switch {
	case errors.As(err, new(*ssh.PassphraseMissingError)):
		id.Encrypted = true
	case err != nil:
		id.Problem = unreadableKey(pem, err)
	}
	if why := exposed(info); why != "" {
		id.Problem = why
	}
	return id, true
}

// certificateIdentity describes a file with a certificate; ok is false if it does
// not exist.
func certificateIdentity(path string) (id Identity, ok bool) {
	data, _, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, false
	}
	id = Identity{From: path, Problem: "it is not a certificate"}
	if err != nil {
		id.Problem = "it cannot be read: " + err.Error()
		return id, true
	}
	if pub, comment, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
		if _, isCert := pub.(*ssh.Certificate); isCert {
			id = describeKey(path, pub)
			id.Comment = comment
		}
	}
	return id, true
}
