package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Namespace is a mount and PID namespace with its own users, PAM services and servers on the host's loopback
// interface. A shell is its first process and runs the tests' commands. However the test program ends, the shell's
// input ends with it, and the kernel then kills every process in the namespace.
type Namespace struct {
	Users  map[string]*User
	RSAKey Key    // the only RSA key: it takes the longest to make
	fifos  string // folder of the servers' log pipes

	mu   sync.Mutex // guards the following
	in   io.WriteCloser
	out  *bufio.Reader
	runs int
}

// namespaceScript hides the files of the servers below /etc, /run and /var/log, and the system's log. Nothing of it
// outlasts the namespace, because everything is written to memory.
const namespaceScript = `
mount -t tmpfs -o mode=755 lab /run
mkdir -p /run/sshd /run/lab/upper /run/lab/work /run/lab/home
mount -t overlay -o lowerdir=/etc,upperdir=/run/lab/upper,workdir=/run/lab/work lab /etc
mount -t tmpfs -o mode=755 lab /var/log
[ ! -e /dev/log ] || mount --bind /dev/null /dev/log
mkdir -p /etc/ssh/lab/authorized
chmod 755 /etc/ssh /etc/ssh/lab /etc/ssh/lab/authorized
`

// StartNamespace makes the lab. It ends with the test, and the test fails if a process was left in it.
func StartNamespace(t *testing.T) *Namespace {
	t.Helper()
	began := time.Now()
	for _, file := range []string{"/usr/sbin/sshd", "/usr/sbin/dropbear", "/usr/bin/google-authenticator"} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
	}
	command := []string{
		"unshare",
		"--mount",
		"--pid",
		"--fork",
		"--kill-child",
		"--propagation",
		"private",
		"--mount-proc",
		"/bin/sh",
	}
	if os.Getuid() != 0 {
		if out, err := exec.Command("sudo", "-n", "true").CombinedOutput(); err != nil {
			t.Fatalf(
				"the lab needs root for its namespace, and sudo -n does not give it (%v: %s). "+
					"Run this line, then run again:\n\n\tsudo -v\n\n"+
					"or run the test as root:\n\n\tsudo env PATH=\"$PATH\" go test -race -run TestLab ./integration/ssh",
				err,
				bytes.TrimSpace(out),
			)
		}
		command = append([]string{"sudo", "-n"}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := &Namespace{fifos: t.TempDir(), in: in, out: bufio.NewReader(out), RSAKey: NewKey(t, "rsa")}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the lab's first process ended with %v: %s", err, &stderr)
		}
	})
	l.Run(t, namespaceScript)
	l.Run(
		t,
		fmt.Sprintf(
			"[ -d '%s' ] || { echo 'set TMPDIR to a folder that lies below neither /run nor /var/log'; exit 1; }",
			l.fifos,
		),
	)
	l.addUsers(t)
	l.addPAM(t)
	t.Cleanup(func() { l.wantEmpty(t) })
	t.Logf("the lab stood after %s", time.Since(began).Round(time.Millisecond))
	return l
}

// Run runs a shell script as root in the namespace, fails the test if it fails, and returns its output.
func (l *Namespace) Run(tb testing.TB, script string) string {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs++
	mark := fmt.Sprintf("lab-%d-ended-with-", l.runs)
	if _, err := fmt.Fprintf(
		l.in, "(set -eu\n%s\n) </dev/null 2>&1\nprintf '\\n%%s%%d\\n' %s $?\n", script, mark,
	); err != nil {
		tb.Fatalf("the lab has ended: %v", err)
	}
	var output strings.Builder
	for {
		line, err := l.out.ReadString('\n')
		if err != nil {
			tb.Fatalf("the lab has ended (%v) during\n%s\n%s", err, script, output.String())
		}
		status, ended := strings.CutPrefix(line, mark)
		if !ended {
			output.WriteString(line)
			continue
		}
		text := strings.TrimSpace(output.String())
		if status != "0\n" {
			tb.Fatalf("status %sof\n%s\n%s", status, script, text)
		}
		return text
	}
}

// WriteFile writes a file in the namespace.
func (l *Namespace) WriteFile(tb testing.TB, path, mode, content string) {
	tb.Helper()
	l.Run(
		tb,
		fmt.Sprintf(
			"cat >'%s' <<'end of the file'\n%s\nend of the file\nchmod %s '%s'",
			path,
			strings.TrimSuffix(content, "\n"),
			mode,
			path,
		),
	)
}

// processes lists the namespace's processes with text in their command line: pid, then the command line. It leaves out
// the lab's own.
func (l *Namespace) processes(tb testing.TB, text string) []string {
	tb.Helper()
	out := l.Run(tb, `for p in /proc/[0-9]*; do
	[ -r $p/cmdline ] || continue
	line=$(tr '\0' ' ' 2>/dev/null <$p/cmdline) || continue
	[ -z "$line" ] || echo "${p#/proc/} $line"
done`)
	var found []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, text) && !strings.HasSuffix(line, " /bin/sh") && !strings.Contains(line, ` tr \0 `) {
			found = append(found, line)
		}
	}
	return found
}

// WantRunning waits for a process with text in its command line, and returns its pid.
func (l *Namespace) WantRunning(tb testing.TB, text string) string {
	tb.Helper()
	limit := time.Now().Add(Patience)
	for {
		if found := l.processes(tb, text); len(found) > 0 {
			pid, _, _ := strings.Cut(found[0], " ")
			return pid
		}
		if time.Now().After(limit) {
			tb.Fatalf("no process has %q in its command line", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// WantGone fails the test unless every process with text in its command line ends.
func (l *Namespace) WantGone(tb testing.TB, text string) {
	tb.Helper()
	limit := time.Now().Add(Patience)
	for {
		left := l.processes(tb, text)
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			tb.Errorf("these processes still ran after %s:\n%s", Patience, strings.Join(left, "\n"))
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// wantEmpty fails the test if anything but the lab's own shell runs, once sshd has noticed that its clients are gone.
func (l *Namespace) wantEmpty(tb testing.TB) {
	tb.Helper()
	l.WantGone(tb, "")
}
