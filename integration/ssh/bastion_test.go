package ssh

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/sshx"
	"ptyctl/term"
)

// TestOpenSSHAsBastion checks that a server that does not speak SSH is reached over OpenSSH's, with all that is written
// before the end, and that OpenSSH takes a break.
func TestOpenSSHAsBastion(t *testing.T) {
	s := lab.StartSSHD(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	heard := make(chan int, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "login: ")
		all, _ := io.ReadAll(c)
		_ = c.Close()
		heard <- len(all)
	}()
	home := t.TempDir()
	n := sshx.NewNetwork(
		sshx.Options{
			HomeDir:        home,
			NoConfig:       true,
			HostKeyPolicy:  "accept_new",
			IdentityAgent:  "none",
			KnownHostsPath: filepath.Join(home, "known_hosts"),
		},
	)
	jump := term.Target{
		Host: "127.0.0.1",
		Port: s.Port,
		User: s.User,
		SSH:  term.SSHOptions{ExtraArgs: []string{"-i", s.Identity}},
	}

	sh, err := n.OpenShell(t.Context(), jump, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.(term.KeySender).SendKey(t.Context(), term.KeyBreak); err != nil {
		t.Errorf("break: %v", err)
	}
	_ = sh.Close()

	config := filepath.Join(home, "config")
	text := fmt.Sprintf(
		"Host bastion\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %s\n",
		s.Port,
		s.User,
		s.Identity,
	)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n = sshx.NewNetwork(
		sshx.Options{
			HomeDir:        home,
			ConfigPath:     config,
			HostKeyPolicy:  "accept_new",
			IdentityAgent:  "none",
			KnownHostsPath: filepath.Join(home, "known_hosts"),
		},
	)
	port := ln.Addr().(*net.TCPAddr).Port
	c, err := n.DialTCP(
		t.Context(),
		"tcp",
		term.Target{Host: "127.0.0.1", Port: port, SSH: term.SSHOptions{ProxyJump: "bastion"}},
		nil,
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	p := make([]byte, 7)
	if _, err := io.ReadFull(c, p); err != nil || string(p) != "login: " {
		t.Errorf("read %q, %v", p, err)
	}
	const size = 1 << 20
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case got := <-heard:
		if got != size {
			t.Errorf("%d bytes arrived of %d", got, size)
		}
	case <-time.After(time.Minute):
		t.Error("the device does not see the end")
	}
}
