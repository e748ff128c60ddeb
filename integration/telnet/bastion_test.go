package telnet

import (
	"context"
	"net"
	"strconv"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetBastion reaches telnetd through an SSH server. The urgent byte of the answer to an interrupt, an IAC, does not
// pass it: the kernel takes it out of sshd's stream, and the DM after it is left there as if it were data. It is not
// shown.
func telnetBastion(t *testing.T) {
	bastion := lab.StartSSHD(t)
	client, err := ssh.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(bastion.Port)), &ssh.ClientConfig{
		User: bastion.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(bastion.UserKey)},
		HostKeyCallback: ssh.FixedHostKey(bastion.HostKey.PublicKey()),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := lab.StartInetutils(t)
	dialer := telnet.Dialer{Dial: func(_ context.Context, network, address string, _ term.Approve) (net.Conn, error) {
		return client.Dial(network, address)
	}}
	terminal, err := dialer.Open(t.Context(), s.Target(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, terminal)
	k.login(s)
	k.ask("echo 'héllo'; stty size", `\nhéllo\r\n40 120\r\ndemo\$ $`)
	if err := terminal.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	eventuallyTyped(t, k, "stty size", `\n(\d+ \d+)\r\ndemo\$ $`, `\n30 100\r\ndemo\$ $`)
	for range 3 {
		k.send(lab.TelnetSleep + "\r")
		k.wait("\nbegun\r\n")
		k.send("\x03")
		if shown := k.wait(s.Prompt); shown != "^C\r\ndemo$ " {
			t.Errorf("Ctrl-C shows %q", shown)
		}
	}
}
