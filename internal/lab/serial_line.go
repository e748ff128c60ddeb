package lab

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/rfc2217.py
var rfc2217Server string

// A SerialLine is a serial line of this machine: one end of a pair of pseudo-terminals of socat, below a link as udev
// makes them, with a program at the other end. It ends with the test.
type SerialLine struct {
	Folder string // of the link
	Path   string // the link

	program string
	process *TelnetProcess
}

// StartSerialLine makes a line with a program at its other end, in the terms of an address of socat(1).
func StartSerialLine(tb testing.TB, program string) *SerialLine {
	tb.Helper()
	// socat(1) takes a path up to the first comma, and a test's own folder is named after the test.
	dir, err := os.MkdirTemp("", "ptyctl-line-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	l := &SerialLine{Folder: dir, Path: filepath.Join(dir, "usb-Lab_Line_0-if00"), program: program}
	l.Plug(tb)
	return l
}

// StartSerialLogin makes a line with agetty(8) at its other end, which starts login(1) for a user of the namespace of
// mounts that it is in. Only root can make that user; otherwise agetty starts the login program of the Telnet servers.
func StartSerialLogin(tb testing.TB) *SerialLine {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ptyctl-getty-") //nolint:usetesting // as above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the user's home is in it
		tb.Fatal(err)
	}
	program := writeScript(tb, dir, "login", otherLogin(tb))
	if os.Getuid() == 0 {
		program = writeScript(tb, dir, "getty", trueLogin(tb, dir))
		return StartSerialLine(tb, "exec:unshare --mount --propagation private "+program+",pty,setsid,ctty,stderr")
	}
	return StartSerialLine(tb, "exec:/usr/sbin/agetty -L -i -l "+program+" - vt100,pty,setsid,ctty,stderr")
}

// trueLogin returns a script that makes a user, in its own namespace of mounts, and becomes agetty.
func trueLogin(tb testing.TB, dir string) string {
	tb.Helper()
	hash, err := exec.Command("/usr/bin/openssl", "passwd", "-6", TelnetPassword).Output()
	if err != nil {
		tb.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	for name, text := range map[string]string{
		"passwd":        "root:x:0:0::/root:/bin/sh\n" + TelnetUser + ":x:65500:65500::" + home + ":/bin/sh\n",
		"shadow":        "root:*:19000::::::\n" + TelnetUser + ":" + strings.TrimSpace(string(hash)) + ":19000::::::\n",
		"pam":           "auth required pam_unix.so\naccount required pam_unix.so\nsession required pam_permit.so\n",
		"home/.profile": "PS1='demo$ '\n",
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // as above
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // as above
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return fmt.Sprintf(`
mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && mount --bind %[1]s/pam /etc/pam.d/login &&
	exec /usr/sbin/agetty -L -i - vt100
`, dir)
}

// otherLogin returns the login program of the Telnet servers for a user name that agetty has asked for and passes as
// the last argument.
func otherLogin(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(telnetLogin(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return regexp.MustCompile(`(?s)printf 'login: '\nread -r user \|\| exit 1\n`).ReplaceAllString(string(text), "for user; do :; done\n")
}

// Plug makes the device and its link, as when the line is plugged in.
func (l *SerialLine) Plug(tb testing.TB) {
	tb.Helper()
	l.process = startTelnetProcess(tb, []string{"/usr/bin/socat", "pty,raw,echo=0,link=" + l.Path, l.program})
	Eventually(tb, "the serial line", func() bool { _, err := os.Stat(l.Path); return err == nil })
}

// Unplug removes the device and its link.
func (l *SerialLine) Unplug(tb testing.TB) {
	tb.Helper()
	l.process.Stop(tb)
	_ = os.Remove(l.Path) // socat has, unless it was killed
}

// Allow returns the lines of the configuration that allow the line.
func (l *SerialLine) Allow() []string {
	return []string{"[serial]", fmt.Sprintf(`allow = [%q, "/dev/pts/*"]`, l.Folder+"/*")}
}

// Device is the path of the line without links.
func (l *SerialLine) Device(tb testing.TB) string {
	tb.Helper()
	device, err := filepath.EvalSymlinks(l.Path)
	if err != nil {
		tb.Fatal(err)
	}
	return device
}

// StartPySerial starts a server of RFC 2217, by pyserial. Its line sends all input back. settings waits until the
// server has printed the line's settings in a form.
func StartPySerial(tb testing.TB) (s *TelnetServer, settings func(pattern string)) {
	tb.Helper()
	script := filepath.Join(tb.TempDir(), "server.py")
	if err := os.WriteFile(script, []byte(rfc2217Server), 0o600); err != nil {
		tb.Fatal(err)
	}
	s = &TelnetServer{Name: "pyserial"}
	s.Process = startTelnetProcess(tb, []string{"/usr/bin/python3", script})
	port := regexp.MustCompile(`port (\d+)\n`)
	Eventually(tb, "the port of the server", func() bool { return port.MatchString(s.Process.log.String()) })
	var err error
	if s.Port, err = strconv.Atoi(port.FindStringSubmatch(s.Process.log.String())[1]); err != nil {
		tb.Fatal(err)
	}
	return s, func(pattern string) {
		tb.Helper()
		Eventually(tb, "the settings "+pattern, func() bool {
			return regexp.MustCompile(pattern).MatchString(s.Process.log.String())
		})
	}
}
