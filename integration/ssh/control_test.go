package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// The folder must keep another user out of the socket; if the folder is open, the kernel's peer credentials must.
func labControlSocket(t *testing.T, l *lab.Namespace) {
	program, err := os.ReadFile(lab.PlainBinary)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ptyctl"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	l.Run(t, "cp "+filepath.Join(dir, "ptyctl")+" /run/lab/ptyctl; chmod 755 /run/lab/ptyctl; "+
		"install -d -o alice -g alice -m 700 /run/lab/alice; mkfifo -m 666 /run/lab/input")
	defer l.Run(t, "rm -rf /run/lab/alice /run/lab/input /run/lab/ptyctl")
	as := func(user, command string) string {
		return "setpriv --reuid " + user + " --regid " + user + " --clear-groups env -i HOME=/run/lab/home/" + user +
			" PATH=/usr/bin:/bin " + command
	}
	const socket = "/run/lab/alice/ptyctl/s.sock"
	// The shell waits here until a writer has opened the pipe; the input stays open until the writer closes it.
	l.Run(t, as("alice", "/run/lab/ptyctl mcp --control-socket "+socket)+
		" </run/lab/input >/dev/null 2>/run/lab/log &\n"+
		"exec 9>/run/lab/input; sleep infinity 9>&9 & echo $! >/run/lab/holder")
	defer l.Run(t, "kill $(cat /run/lab/holder) || true")
	sessions := func(user string) string {
		return l.Run(t, as(user, "/run/lab/ptyctl sessions --socket "+socket)+" 2>&1 || echo status $?")
	}
	lab.Eventually(t, "the socket", func() bool { return l.Run(t, "test -S "+socket+" && echo yes || true") == "yes" })
	if got := sessions("alice"); got != "no sessions" {
		t.Errorf("the owner's call prints %q", got)
	}
	if got := sessions("bob"); !strings.Contains(got, "permission denied") || !strings.Contains(got, "status 1") {
		t.Errorf("another user's call prints %q", got)
	}
	l.Run(t, "chmod 755 /run/lab/alice /run/lab/alice/ptyctl; chmod 666 "+socket)
	for _, user := range []string{"bob", "root"} {
		if got := sessions(user); !strings.Contains(got, "belongs to user") || !strings.Contains(got, "status 1") {
			t.Errorf("a call of %s at an open folder prints %q", user, got)
		}
	}
}
