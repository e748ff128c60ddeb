package forward

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
)

// The command for people forwards under the same rules, until ctrl-c.
func TestCommand(t *testing.T) {
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*']")
	host := sshd.User + "@127.0.0.1"
	link := filepath.Join(h.Dir, "db.sock")
	if err := os.Symlink("/none", link); err != nil { // of a command that was killed
		t.Fatal(err)
	}
	cmd := h.Command("forward", "--config", h.Config, "-p", itoa(sshd.Port), "--listen", link, host, db.to("localhost"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs := new(strings.Builder)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	socket := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(socket, h.RuntimeDir) {
		t.Errorf("it prints %q, %v; want the socket", line, err)
	}
	exchange(t, dial(t, forwarded{Socket: link}), 1000)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after ctrl-c: %v, %s; want status 0", err, errs)
	}
	for _, path := range []string{link, socket} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left (%v), want it removed", path, err)
		}
	}
	for _, tt := range []struct{ to, says string }{
		{"db1:5432", "forward.allow"},
		{"0x7f.1:80", "may be read as an address"},
	} {
		_, errs, status := h.Run(t, "forward", "--config", h.Config, "-p", itoa(sshd.Port), host, tt.to)
		if status == 0 || !strings.Contains(errs, tt.says) {
			t.Errorf("ptyctl forward to %s = %d, %s; want %q", tt.to, status, errs, tt.says)
		}
	}
}
