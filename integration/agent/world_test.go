package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// The accounts that work is done with: of the servers, and of the database host.
const (
	ops    = "/run/lab/home/ops"
	dba    = "/run/lab/home/dba"
	vault  = "/run/lab/home/bob"
	opsUID = 61300
	dbaUID = 61301
)

// manyHostNames are the hosts of the task about many of them.
var manyHostNames = func() (names []string) {
	for i := range 12 {
		names = append(names, fmt.Sprintf("n%02d", i+1))
	}
	return names
}()

// A world is the hosts that the tasks are done on. They share one file system, and differ in their ports, their
// accounts and the variable NODE.
type world struct {
	t       *testing.T // the task's
	ns      *lab.Namespace
	home    *lab.Home // of ptyctl
	work    string    // a folder of the agent's machine
	answers map[string]string
	router  *lab.TelnetServer
	serial  *lab.SerialServer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ns := lab.StartNamespace(t)
	accounts := &lab.Shells{Namespace: ns}
	accounts.Account(t, opsUID, "ops", "/bin/bash")
	accounts.Account(t, dbaUID, "dba", "/bin/bash")
	w := &world{t: t, ns: ns, work: t.TempDir(), answers: make(map[string]string)}
	w.home = lab.NewHome(t, "[fs]\nremote = true\nroots = ['"+w.work+"']")
	for _, user := range []string{"ops", "dba"} {
		w.run("echo 'PS1=\"" + user + "@$NODE:\\w\\$ \"' >/run/lab/home/" + user + "/.bash_profile")
	}
	// The tester's own files would be read by a shell of root's.
	w.run(`mkdir /run/lab/root; sed -i 's|^\(root:.*\):/root:|\1:/run/lab/root:|' /etc/passwd`)
	ns.WriteFile(t, "/etc/sudoers", "440", "ops ALL=(ALL:ALL) ALL\nDefaults !lecture, timestamp_timeout=0, requiretty\n")
	ns.WriteFile(t, "/etc/pam.d/sudo", "644", "auth required pam_unix.so nodelay\naccount required pam_permit.so\n"+
		"password required pam_unix.so\nsession required pam_permit.so\n")

	var config strings.Builder
	config.WriteString("IdentityAgent none\nIdentitiesOnly yes\n")
	add := func(name, user, more string, c lab.ServerConfig) {
		c.Config += "\nSetEnv NODE=" + name + " LANG=C.UTF-8 HISTFILE=/dev/null\nMaxSessions 50\nSubsystem sftp internal-sftp"
		s := ns.SSHD(t, c)
		w.home.Trust(t, strings.TrimSpace(s.Known()))
		fmt.Fprintf(&config, "Host %s\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n%s", name, s.Port, user, more)
	}
	key := func(user string) string {
		path := filepath.Join(w.home.Dir, "id_"+user)
		w.home.Write(t, path, ns.Users[user].Key.PEM)
		return "\tIdentityFile " + path + "\n"
	}
	opsKey := key("ops")
	const banner = "/etc/ssh/lab/banner"
	ns.WriteFile(t, banner, "644", strings.Repeat("*", 70)+`
* This system is for authorized users only. What is done here is      *
* recorded. By going on you agree to that. If you have come here       *
* by mistake, disconnect now and tell the operations desk.             *
`+strings.Repeat("*", 70)+"\n")
	add("bastion", "ops", opsKey, lab.ServerConfig{Config: "Banner " + banner})
	add("vault", "bob", "\tProxyJump bastion\n\tIdentityFile none\n", lab.ServerConfig{
		PAM:    lab.PAMPasswordCode,
		Config: "KbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive\nBanner " + banner,
	})
	add("legacy", "frank", "\tIdentityFile none\n", lab.ServerConfig{
		PAM: lab.PAMPassword, Config: "PasswordAuthentication yes\nAuthenticationMethods password",
	})
	for _, name := range append([]string{"web1", "web2"}, manyHostNames...) {
		add(name, "ops", opsKey, lab.ServerConfig{})
	}
	add("db1", "dba", key("dba"), lab.ServerConfig{})
	w.home.Write(t, w.home.SSHConfig, config.String())
	return w
}

// run runs a shell script as root on the hosts.
func (w *world) run(script string) string {
	w.t.Helper()
	return w.ns.Run(w.t, script)
}

// file writes a file of an account on the hosts.
func (w *world) file(path, mode, content string) {
	w.t.Helper()
	w.ns.WriteFile(w.t, path, mode, content)
	owner := strings.Split(path, "/")[4] // /run/lab/home/OWNER
	w.run(fmt.Sprintf("chown %s: '%s'", owner, path))
}

// folder makes an empty folder of an account on the hosts.
func (w *world) folder(path string) {
	w.t.Helper()
	owner := strings.Split(path, "/")[4]
	w.run(fmt.Sprintf("rm -rf '%[1]s'; mkdir '%[1]s'; chown %[2]s: '%[1]s'", path, owner))
}

// local writes a file of the agent's machine.
func (w *world) local(name string, data []byte) string {
	w.t.Helper()
	path := filepath.Join(w.work, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// password returns the password of an account, which is in no output.
func (w *world) password(user string) string { return leaktest.Secret(w.t, w.ns.Users[user].Password) }
