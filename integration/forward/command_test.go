package forward

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
)

// A person's forward is the command for people while it runs.
type persons struct {
	*exec.Cmd
	errs   *strings.Builder
	socket string
}

// command starts ptyctl forward with a link, and waits for its socket.
func command(t *testing.T, h *lab.Home, sshd *lab.SSHD, link, to string) persons {
	t.Helper()
	p := persons{
		Cmd: h.Command("forward", "--config", h.Config, "-p", itoa(sshd.Port), "--listen", link,
			sshd.User+"@127.0.0.1", to),
		errs: new(strings.Builder),
	}
	p.Stderr = p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if p.socket = strings.TrimSpace(line); err != nil || !strings.HasPrefix(p.socket, h.RuntimeDir) {
		_ = p.Process.Kill()
		_ = p.Wait()
		t.Fatalf("it prints %q, %v, %s; want the socket", line, err, p.errs)
	}
	return p
}

// The command for people forwards under the same rules, until ctrl-c or the end of its terminal. Another one takes the
// place of one that was killed, and none that of one that runs.
func TestCommand(t *testing.T) {
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*']")
	link := filepath.Join(h.Dir, "db.sock")
	for _, by := range []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP, syscall.SIGINT} {
		p := command(t, h, sshd, link, db.to("localhost"))
		exchange(t, dial(t, forwarded{Socket: link}), 1000)
		if by == syscall.SIGINT {
			_, errs, status := h.Run(t, "forward", "--config", h.Config, "-p", "1", "--listen", link, "127.0.0.1", db.to("localhost"))
			if status != 1 || !strings.Contains(errs, "another process listens") {
				t.Errorf("a second command with the same link = %d, %s; want it refused", status, errs)
			}
		}
		if err := p.Process.Signal(by); err != nil {
			t.Error(err)
		}
		err := p.Wait()
		if by == syscall.SIGKILL {
			if _, err := os.Lstat(link); err != nil {
				t.Fatalf("the link after SIGKILL: %v, want one that is left", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("after %v: %v, %s; want status 0", by, err, p.errs)
		}
		for _, path := range []string{link, p.socket, filepath.Dir(p.socket)} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after %v, %s is left (%v), want it removed", by, path, err)
			}
		}
	}
}

// An impossible forward is refused before there is a connection: nothing listens at the host's port.
func TestCommandRefused(t *testing.T) {
	h := lab.NewHome(t, "[forward]\nallow = ['localhost:*']")
	for name, text := range map[string]string{"file": "x", "folder/file": ""} {
		path := filepath.Join(h.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		h.Write(t, path, text)
	}
	for name, to := range map[string]string{
		"dangling": "/none", "link": "file", "like": filepath.Join(h.Dir, "ptyctl", "forward", "aaaaaaaaaa", "sock"),
	} {
		if err := os.Symlink(to, filepath.Join(h.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) []string { return []string{"--listen", filepath.Join(h.Dir, name)} }
	for _, tt := range []struct {
		flags    []string
		to, says string
	}{
		{nil, "db1:5432", "forward.allow"},
		{nil, "0x7f.1:80", "may be read as an address"},
		{[]string{"--tcp", "0"}, "localhost:80", "[forward] tcp"},
		{[]string{"--tcp", "70000"}, "localhost:80", "--tcp is 70000"},
		{[]string{"--listen", ""}, "localhost:80", "--listen is empty"},
		{at("file"), "localhost:80", "there already"},
		{at("folder"), "localhost:80", "there already"},
		{at("dangling"), "localhost:80", "no socket of ptyctl forward"},
		{at("link"), "localhost:80", "no socket of ptyctl forward"},
		{at("like"), "localhost:80", "no socket of ptyctl forward"},
		{at("none/sock"), "localhost:80", "no such file or directory"},
		{at("file/sock"), "localhost:80", "not a directory"},
	} {
		args := append([]string{"forward", "--config", h.Config, "-p", "1"}, tt.flags...)
		_, errs, status := h.Run(t, append(args, "127.0.0.1", tt.to)...)
		if status != 1 && status != 2 || !strings.Contains(errs, tt.says) {
			t.Errorf("ptyctl forward %q to %s = %d, %s; want %q", tt.flags, tt.to, status, errs, tt.says)
		}
	}
	for name, want := range map[string]string{"dangling": "/none", "link": "file"} {
		if to, err := os.Readlink(filepath.Join(h.Dir, name)); to != want {
			t.Errorf("the link %s leads to %q, %v; want %q as before", name, to, err, want)
		}
	}
}
