package sshx_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// runningConfig reads the configuration of a network device page by page.
func runningConfig(ctx context.Context, device term.Target) (config []byte, err error) {
	client, err := sshx.Dial(ctx, device, sshx.Options{}, nil) // ssh_config, agent, ProxyJump, known_hosts
	if err != nil {
		return nil, err
	}
	defer client.Close()
	shell, err := client.Shell(ctx, term.PTY{Term: "vt100"})
	if err != nil {
		return nil, err
	}
	s := session.New(shell, session.Options{})
	defer s.Close(ctx, session.CloseOptions{})

	more := []byte("--More-- ")
	ready := session.ReadRequest{Until: regexp.MustCompile(`(--More--|#) $`), Timeout: 5 * time.Second}
	screen := s.Read(ctx, ready) // from the first byte to the first prompt
	for keys := "show running-config\r"; keys != ""; {
		if _, err := s.Write(ctx, []byte(keys), session.WriteOptions{}); err != nil {
			return config, err
		}
		ready.Cursor = screen.Next
		if screen = s.Read(ctx, ready); screen.Reason != session.ReasonMatched {
			return config, fmt.Errorf("%s stopped answering: %s", device.Host, screen.Reason)
		}
		config, keys = append(config, screen.Data...), ""
		if before, ok := bytes.CutSuffix(config, more); ok {
			config, keys = before, " "
		}
	}
	return config, nil
}

// The example reads the whole output of a device that shows it in pages.
func Example() {
	device, err := sshserver.Listen(
		sshserver.Config{Passwords: map[string]string{"admin": "secret"}, Handler: networkDevice},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()

	config, err := runningConfig(context.Background(), term.Target{
		Host: "127.0.0.1", Port: device.Port(), User: "admin", Auth: term.Auth{Method: "password", Password: "secret"},
		SSH: term.SSHOptions{NoConfig: true, HostKeyFingerprint: ssh.FingerprintSHA256(device.HostKey())},
	})
	fmt.Printf("%s%v\n", bytes.ReplaceAll(config, []byte("\r"), nil), err)
	// Output:
	// show running-config
	// hostname sw1
	// vlan 10
	// vlan 20
	// sw1# <nil>
}

// networkDevice is a device with a screen of two lines.
func networkDevice(_ context.Context, r *sshserver.Request) sshserver.Exit {
	keyboard := bufio.NewReader(r.Stdin)
	io.WriteString(r.Stdout, "sw1# ")
	command, _ := keyboard.ReadString('\r')
	io.WriteString(r.Stdout, command+"\nhostname sw1\r\n--More-- ")
	keyboard.ReadByte()
	io.WriteString(r.Stdout, "vlan 10\r\nvlan 20\r\n--More-- ")
	keyboard.ReadByte()
	io.WriteString(r.Stdout, "sw1# ")
	keyboard.ReadByte() // fails when the terminal is closed
	return sshserver.Exit{}
}
