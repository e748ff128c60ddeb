package lab

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
)

// A LoginShell is an account of the lab with that login shell.
type LoginShell struct {
	Name    string // of the shell, and of the account
	program string
	Class   session.Class
	rc      string // startup file in the account's home, which exists though it is empty
}

// LoginShells are the shells of the tests. zsh asks its newcomers questions unless there is a startup file.
var LoginShells = []LoginShell{
	{"bash", "/bin/bash", session.ClassPosix, ".bash_profile"},
	{"dash", "/bin/dash", session.ClassPosix, ".profile"},
	{"zsh", "/bin/zsh", session.ClassPosix, ".zshrc"},
	{"fish", "/usr/bin/fish", session.ClassFish, ".fishrc"},
	{"mksh", "/bin/mksh", session.ClassPosix, ".mkshrc"},
	{"tcsh", "/bin/tcsh", session.ClassCsh, ".tcshrc"},
	{"ash", "/bin/busybox", session.ClassPosix, ".profile"},
	{"rbash", "/bin/rbash", session.ClassPosix, ".bash_profile"},
}

// ashPath is the login shell of the account ash: busybox runs the applet it is called as.
const ashPath = "/run/lab/ash"

// FirstShellUID is above the uids of the lab's own accounts.
const FirstShellUID = 61200

// A Shells is a lab with an account for each shell, and one sshd that they can all log in to.
type Shells struct {
	*Namespace
	Server *Server
}

// StartShells makes the lab. It ends with the test, which fails if anything that a test has started still runs there.
func StartShells(t *testing.T) *Shells {
	t.Helper()
	l := &Shells{Namespace: StartNamespace(t)}
	l.Run(t, "ln -s /bin/busybox "+ashPath)
	for i, sh := range LoginShells {
		if _, err := os.Stat(sh.program); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
		program := sh.program
		if sh.Name == "ash" {
			program = ashPath
		}
		l.Account(t, FirstShellUID+i, sh.Name, program)
		l.Run(t, fmt.Sprintf("touch /run/lab/home/%s/%s", sh.Name, sh.rc))
	}
	l.Server = l.SSHD(t, ServerConfig{Config: "MaxSessions 50\nSetEnv HISTFILE=/dev/null LANG=C.UTF-8"})
	return l
}

// Account adds a user with a login shell and a password.
func (l *Shells) Account(t *testing.T, uid int, name, shell string) {
	t.Helper()
	u := &User{Name: name, Password: leaktest.Secret(t, "the password of "+name+"-1138"), Key: NewKey(t, "ed25519")}
	l.Users[name] = u
	l.WriteFile(t, "/etc/ssh/lab/authorized/"+name, "644", u.Key.Authorized())
	l.Run(t, fmt.Sprintf(`h=/run/lab/home/%[1]s
echo '%[1]s:x:%[2]d:%[2]d::'$h':%[3]s' >>/etc/passwd
echo '%[1]s:*:19000:0:99999:7:::' >>/etc/shadow
echo '%[1]s:x:%[2]d:' >>/etc/group
echo '%[1]s:%[4]s' | chpasswd --crypt-method SHA256
mkdir -p $h/.local/share/fish/generated_completions # or fish reads all manual pages, beside the test
chown -R %[2]d:%[2]d $h`, name, uid, shell, u.Password))
}

// Open logs in as the user, and waits until the shell has shown its prompt.
func (l *Shells) Open(t *testing.T, user string) *session.Session {
	t.Helper()
	s := l.Operator(t, l.Server).MustOpen(l.Server.WithKey(l.Users[user]))
	ReadUntil(t, s, 0, `[$%>#] `)
	s.Read(
		t.Context(),
		session.ReadRequest{Cursor: session.Latest, Idle: 100 * time.Millisecond, Timeout: Patience},
	) // fish redraws it
	return s
}
