package mcp

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// An answerSite is the hosts that the recorded calls are about: web1 and more like it, db1, which asks for a password,
// and a switch that speaks Telnet.
type answerSite struct {
	t     *testing.T
	home  *lab.Home
	dir   string            // the home folder on web1
	ports map[string]string // by the names that arguments have for them
}

// hostPrograms are on web1, and say the same each time.
var hostPrograms = map[string]string{
	"df": `echo 'Filesystem      Size  Used Avail Use% Mounted on
/dev/vda1        40G   18G   21G  47% /
tmpfs           2.0G     0  2.0G   0% /dev/shm
/dev/vdb1       200G  121G   70G  64% /srv'`,
	"systemctl": `echo 'Job for nginx.service failed because the control process exited with error code.
See "systemctl status nginx.service" and "journalctl -xeu nginx.service" for details.' >&2; exit 1`,
	"journalctl": `seq -f 'Nov 25 10:14:%02g web1 nginx[812]: upstream timed out, client 192.0.2.17, request "GET /status"' 10 29`,
	"migrate":    `while [ ! -e "$HOME/done" ]; do sleep 0.05; done; echo 'applied 3 migrations'`,
	"sudo": `stty -echo; printf '[sudo] password for demo: '; read -r answer; stty echo; echo; ` +
		`echo 'nginx restarted'`,
}

// newAnswerSite starts the hosts.
func newAnswerSite(t *testing.T) *answerSite {
	t.Helper()
	dir := t.TempDir()
	for name, text := range hostPrograms {
		path := filepath.Join(dir, "bin", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	web := lab.ServeSSH(t, sshserver.Config{
		NoAuth: true, Dir: dir, Subsystems: map[string]string{"sftp": "/usr/lib/openssh/sftp-server"},
		Env: []string{
			"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "SHELL=/bin/sh", "PS1=demo@web1:~$ ",
			"LC_ALL=C",
		},
	})
	db := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"demo": "a-database-1138"}})
	h := lab.NewHome(t, "[fs]", "remote = true")
	h.Trust(t, web.KnownHostsLine(), db.KnownHostsLine())
	h.Write(t, h.SSHConfig, fmt.Sprintf(
		"IdentityAgent none\nIdentitiesOnly yes\nIdentityFile none\nUser demo\n"+
			"Host web*\n HostName 127.0.0.1\n Port %d\nHost db1\n HostName 127.0.0.1\n Port %d\n",
		web.Port(), db.Port(),
	))
	return &answerSite{
		t: t, home: h, dir: dir,
		ports: map[string]string{"SWITCH": strconv.Itoa(startSwitch(t)), "NOTHING": strconv.Itoa(lab.FreePort(t))},
	}
}

// reset gives web1 the files that it has before the first call.
func (site *answerSite) reset() {
	site.t.Helper()
	if err := os.RemoveAll(filepath.Join(site.dir, "app")); err != nil {
		site.t.Fatal(err)
	}
	for name, text := range map[string]string{
		"app/config.toml": "listen = \"127.0.0.1:8080\"\ndebug = false\nworkers = 4\n",
		"app/run.sh":      "#!/bin/sh\nexec ./server --config config.toml\n",
		"app/server.log":  strings.Repeat("started\n", 100),
	} {
		path := filepath.Join(site.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			site.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			site.t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(site.dir, "done")); err != nil {
		site.t.Fatal(err)
	}
}

// migrated lets the program migrate on web1 end.
func (site *answerSite) migrated() {
	site.t.Helper()
	if err := os.WriteFile(filepath.Join(site.dir, "done"), nil, 0o600); err != nil {
		site.t.Fatal(err)
	}
}

// The Telnet commands of the switch (RFC 854), and its options echo (RFC 857) and suppress go-ahead (RFC 858).
const (
	willEcho = "\xff\xfb\x01"
	willSGA  = "\xff\xfb\x03"
)

// startSwitch starts a device that speaks Telnet. It echoes, and knows a few commands.
func startSwitch(tb testing.TB) (port int) {
	tb.Helper()
	return lab.StartListener(tb, func(conn net.Conn) {
		if _, err := io.WriteString(conn, willEcho+willSGA+"\r\nswitch1>"); err != nil {
			return
		}
		d := device{conn: conn, prompt: "switch1>"}
		for d.line() {
		}
	})
}

// A device is one connection to the switch.
type device struct {
	conn   net.Conn
	prompt string
	hidden bool // the input is a password
	paging bool // the next key shows the second page
}

// line reads a line and answers it.
func (d *device) line() bool {
	var typed []byte
	b := make([]byte, 1)
	next := func() bool { _, err := io.ReadFull(d.conn, b); return err == nil }
	for next() {
		switch {
		case d.paging && b[0] == ' ':
			d.paging = false
			_, err := io.WriteString(d.conn, "\r\ninterface Gi0/2\r\nend\r\n"+d.prompt)
			return err == nil
		case b[0] == 0xff: // a command; those of a client to us have three bytes
			for range 2 {
				if !next() {
					return false
				}
			}
		case b[0] == '\r':
			if d.hidden { // any password is right
				d.hidden, d.prompt, typed = false, "switch1#", nil
			}
			return d.answer(string(typed))
		case b[0] == '\n' || b[0] == 0:
		default:
			typed = append(typed, b[0])
			if !d.hidden {
				if _, err := d.conn.Write(b); err != nil {
					return false
				}
			}
		}
	}
	return false
}

// answer answers a line.
func (d *device) answer(line string) bool {
	text := "\r\n"
	switch line {
	case "":
	case "show version":
		text += "Switch Software, Version 15.2(7)\r\nswitch1 uptime is 4 weeks\r\n"
	case "enable":
		d.hidden = true
		_, err := io.WriteString(d.conn, "\r\nPassword: ")
		return err == nil
	case "show run":
		d.paging = true
		_, err := io.WriteString(d.conn, "\r\nhostname switch1\r\ninterface Gi0/1\r\n --More-- ")
		return err == nil
	case "show tech": // and then nothing, for as long as anyone waits
		_, err := io.WriteString(d.conn, "\r\ncollecting\r\n")
		return err == nil
	case "exit":
		return false
	default:
		text += "% Invalid input detected at '^' marker.\r\n"
	}
	_, err := io.WriteString(d.conn, text+d.prompt)
	return err == nil
}
