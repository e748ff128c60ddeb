package integration

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base32"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
)

// A labUser is an account that exists only in the lab.
type labUser struct {
	name     string
	password string
	key      labKey // authorized on every server, unless its configuration says otherwise
}

// labShells are the accounts and their login shells. Their uids lie where no distribution puts any.
var labShells = []struct{ name, shell string }{
	{"alice", "/bin/sh"},
	{"bob", "/bin/sh"},
	{"carol", "/bin/sh"},
	{"frank", "/bin/sh"},          // his password has expired
	{"nina", "/usr/sbin/nologin"}, // has no shell
	{"oddpass", "/bin/sh"},        // has a password that shells and protocols trip over
}

const labFirstUID = 61100

func (l *lab) addUsers(tb testing.TB) {
	tb.Helper()
	l.users = make(map[string]*labUser)
	var passwd, shadow, group, passwords, script strings.Builder
	for i, u := range labShells {
		user := &labUser{name: u.name, password: "the password of " + u.name + "-1138", key: newLabKey(tb, "ed25519")}
		if u.name == "oddpass" {
			user.password = `1138 p w:'"$é\`
		}
		leaktest.Secret(tb, user.password)
		l.users[u.name] = user
		id, home := labFirstUID+i, "/run/lab/home/"+u.name
		fmt.Fprintf(&passwd, "%s:x:%d:%d::%s:%s\n", u.name, id, id, home, u.shell)
		fmt.Fprintf(&shadow, "%s:*:19000:0:99999:7:::\n", u.name)
		fmt.Fprintf(&group, "%s:x:%d:\n", u.name, id)
		fmt.Fprintf(&passwords, "%s:%s\n", u.name, user.password)
		fmt.Fprintf(&script, "mkdir %s; chown %d:%d %s\n", home, id, id, home)
		l.file(tb, "/etc/ssh/lab/authorized/"+u.name, "644", user.key.authorized())
	}
	l.file(tb, "/run/lab/passwords", "600", passwords.String())
	l.run(tb, fmt.Sprintf(`cat >>/etc/passwd <<'end'
%send
cat >>/etc/shadow <<'end'
%send
cat >>/etc/group <<'end'
%send
%s
chpasswd --crypt-method SHA256 </run/lab/passwords
rm /run/lab/passwords
sed -i 's/^\(frank:[^:]*\):[0-9]*:/\1:0:/' /etc/shadow`, &passwd, &shadow, &group, &script))
}

// The PAM services. An sshd asks the one that is named as it is (see labServer).
const (
	labPAMPassword     = "sshd-lab-password"
	labPAMCode         = "sshd-lab-code"
	labPAMPasswordCode = "sshd-lab-password-code"
)

// labOneTimeSecret is shared by all users' one-time codes.
var labOneTimeSecret = []byte("a lab's secret, known to all")

func (l *lab) addPAM(tb testing.TB) {
	tb.Helper()
	const (
		password = "auth required pam_unix.so nodelay\n"
		code     = "auth required pam_google_authenticator.so user=root allowed_perm=0400 secret=/etc/ssh/lab/one-time\n"
		rest     = "account required pam_unix.so\npassword required pam_unix.so\nsession required pam_permit.so\n"
	)
	secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(labOneTimeSecret)
	l.file(tb, "/etc/ssh/lab/one-time", "400", secret+"\n\" TOTP_AUTH\n")
	for service, auth := range map[string]string{labPAMPassword: password, labPAMCode: code, labPAMPasswordCode: password + code} {
		l.file(tb, "/etc/pam.d/"+service, "644", auth+rest)
	}
	l.file(tb, "/etc/pam.d/passwd", "644", "auth required pam_unix.so\n"+rest)
}

// labCode returns the one-time code of this moment (RFC 6238).
func labCode() string {
	mac := hmac.New(sha1.New, labOneTimeSecret)
	for shift, step := 56, uint64(time.Now().Unix()/30); shift >= 0; shift -= 8 {
		mac.Write([]byte{byte(step >> shift)})
	}
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf // dynamic truncation, RFC 4226 section 5.3
	code := uint32(sum[at]&0x7f)<<24 | uint32(sum[at+1])<<16 | uint32(sum[at+2])<<8 | uint32(sum[at+3])
	return fmt.Sprintf("%06d", code%1000000)
}

// A labKey is a key pair of a user or a host.
type labKey struct {
	ssh.Signer
	pem string // the private half, in OpenSSH's format
}

// newLabKey makes a key: "ed25519", "ecdsa" or "rsa".
func newLabKey(tb testing.TB, kind string) labKey {
	tb.Helper()
	var private any
	var err error
	switch kind {
	case "ed25519":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		tb.Fatalf("no such kind of key: %s", kind)
	}
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return labKey{Signer: signer, pem: leaktest.Key(tb, string(pem.EncodeToMemory(block)))}
}

// authorized returns the public half as a line of authorized_keys, or of a .pub file.
func (k labKey) authorized() string { return string(ssh.MarshalAuthorizedKey(k.PublicKey())) }

func (k labKey) fingerprint() string { return ssh.FingerprintSHA256(k.PublicKey()) }

// certify returns a certificate for key, in the format of a .pub file.
func (k labKey) certify(tb testing.TB, key labKey, kind uint32, principal string, from, to time.Time) string {
	tb.Helper()
	c := &ssh.Certificate{
		Key: key.PublicKey(), CertType: kind, KeyId: "lab", ValidPrincipals: []string{principal},
		ValidAfter: uint64(from.Unix()), ValidBefore: uint64(to.Unix()),
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": ""}},
	}
	if kind == ssh.HostCert {
		c.Permissions = ssh.Permissions{}
	}
	if err := c.SignCert(rand.Reader, k); err != nil {
		tb.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(c))
}
