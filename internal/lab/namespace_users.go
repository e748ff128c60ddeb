package lab

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

// A User is an account that exists only in the lab.
type User struct {
	Name     string
	Password string
	Key      Key // authorized on every server, unless its configuration says otherwise
}

// namespaceUsers are the accounts and their login shells. Their uids lie where no distribution puts any.
var namespaceUsers = []struct{ name, shell string }{
	{"alice", "/bin/sh"},
	{"bob", "/bin/sh"},
	{"carol", "/bin/sh"},
	{"frank", "/bin/sh"},          // the password has expired
	{"nina", "/usr/sbin/nologin"}, // has no shell
	{"git", "/usr/bin/git-shell"}, // may run git's commands alone
	{"oddpass", "/bin/sh"},        // has a password that shells and protocols trip over
}

const firstUID = 61100

func (l *Namespace) addUsers(tb testing.TB) {
	tb.Helper()
	l.Users = make(map[string]*User)
	var passwd, shadow, group, passwords, script strings.Builder
	for i, u := range namespaceUsers {
		user := &User{Name: u.name, Password: "the password of " + u.name + "-1138", Key: NewKey(tb, "ed25519")}
		if u.name == "oddpass" {
			user.Password = `1138 p w:'"$é\`
		}
		leaktest.Secret(tb, user.Password)
		l.Users[u.name] = user
		id, home := firstUID+i, "/run/lab/home/"+u.name
		fmt.Fprintf(&passwd, "%s:x:%d:%d::%s:%s\n", u.name, id, id, home, u.shell)
		fmt.Fprintf(&shadow, "%s:*:19000:0:99999:7:::\n", u.name)
		fmt.Fprintf(&group, "%s:x:%d:\n", u.name, id)
		fmt.Fprintf(&passwords, "%s:%s\n", u.name, user.Password)
		fmt.Fprintf(&script, "mkdir %s; chown %d:%d %s\n", home, id, id, home)
		l.WriteFile(tb, "/etc/ssh/lab/authorized/"+u.name, "644", user.Key.Authorized())
	}
	l.WriteFile(tb, "/run/lab/passwords", "600", passwords.String())
	l.Run(tb, fmt.Sprintf(`cat >>/etc/passwd <<'end'
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

// The PAM services. An sshd asks the service with its own name (see Server).
const (
	PAMPassword     = "sshd-lab-password"
	PAMCode         = "sshd-lab-code"
	PAMPasswordCode = "sshd-lab-password-code"
)

// oneTimeSecret is shared by all users' one-time codes.
var oneTimeSecret = []byte("a lab's secret, known to all")

func (l *Namespace) addPAM(tb testing.TB) {
	tb.Helper()
	const (
		password = "auth required pam_unix.so nodelay\n"
		code     = "auth required pam_google_authenticator.so user=root allowed_perm=0400 secret=/etc/ssh/lab/one-time\n"
		rest     = "account required pam_unix.so\npassword required pam_unix.so\nsession required pam_permit.so\n"
	)
	secret := OneTimeKey()
	l.WriteFile(tb, "/etc/ssh/lab/one-time", "400", secret+"\n\" TOTP_AUTH\n")
	for service, auth := range map[string]string{PAMPassword: password, PAMCode: code, PAMPasswordCode: password + code} {
		l.WriteFile(tb, "/etc/pam.d/"+service, "644", auth+rest)
	}
	l.WriteFile(tb, "/etc/pam.d/passwd", "644", "auth required pam_unix.so\n"+rest)
}

// OneTimeKey returns the key of the one-time codes in base32.
func OneTimeKey() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(oneTimeSecret)
}

// OneTimeCode returns the one-time code of this moment (RFC 6238).
func OneTimeCode() string {
	mac := hmac.New(sha1.New, oneTimeSecret)
	for shift, step := 56, uint64(time.Now().Unix()/30); shift >= 0; shift -= 8 {
		mac.Write([]byte{byte(step >> shift)})
	}
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf // dynamic truncation, RFC 4226 section 5.3
	code := uint32(sum[at]&0x7f)<<24 | uint32(sum[at+1])<<16 | uint32(sum[at+2])<<8 | uint32(sum[at+3])
	return fmt.Sprintf("%06d", code%1000000)
}
