package sshx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/sshx/sshconfig"
)

// An Identity is a key, or a certificate for one, with which we could log in. It holds nothing secret.
type Identity struct {
	From        string // its file; "agent"
	Type        string // such as "ssh-ed25519"
	Fingerprint string // "SHA256:..."; empty: not known without the passphrase
	Comment     string
	Encrypted   bool
	Certificate *CertificateInfo // nil: it is a key
	Problem     string           // why it cannot be used; empty: it can
}

// A CertificateInfo says what a user certificate is good for.
type CertificateInfo struct {
	KeyID       string
	Principals  []string // empty: any
	ValidAfter  time.Time
	ValidBefore time.Time // zero: for ever
	Authority   string    // fingerprint of the key that signed it
}

// Identities lists the keys that a login at h could use: those of the agent, then those in files. Default files that do not
// exist are left out. agentErr says why the agent lists none, and is nil when there is no agent to ask.
func (h *InspectedHost) Identities(ctx context.Context) (ids []Identity, agentErr error) {
	if h.cred == nil {
		return nil, nil
	}
	if h.cred.agentSocket != "" {
		ids, agentErr = agentIdentities(ctx, h.cred.agentSocket)
	}
	for _, v := range h.Config.IdentityFiles {
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
	for _, v := range h.Config.CertificateFiles {
		cert, ok := certificateIdentity(v.Text)
		if !ok {
			cert = Identity{From: v.Text, Problem: "it does not exist"}
		}
		ids = append(ids, cert)
	}
	return ids, agentErr
}

// agentIdentities asks the agent what it holds, and has agentTimeout for it.
func agentIdentities(ctx context.Context, socket string) ([]Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, rootCause(err)
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

// describeKey tells what a public key or certificate is.
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

// certTime is a time of a certificate (PROTOCOL.certkeys); the zero time for 0 and for ever.
func certTime(seconds uint64) time.Time {
	if seconds == 0 || seconds >= 1<<62 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

func (c *CertificateInfo) problem(now time.Time) string {
	switch {
	case !c.ValidBefore.IsZero() && !now.Before(c.ValidBefore):
		return "the certificate has expired on " + c.ValidBefore.UTC().Format(time.DateTime) + " UTC"
	case now.Before(c.ValidAfter):
		return "the certificate is not valid before " + c.ValidAfter.UTC().Format(time.DateTime) + " UTC"
	}
	return ""
}

// fileIdentity looks at a file of IdentityFile; ok is false if there is none.
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
		id.Comment, id.Problem = comment, "it is only the public half: the agent must hold the key"
		return id, true
	}
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

// certificateIdentity looks at a file that may hold a certificate; ok is false if there is none.
func certificateIdentity(path string) (id Identity, ok bool) {
	data, _, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, false
	}
	id = Identity{From: path, Problem: "it holds no certificate"}
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
