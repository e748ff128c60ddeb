package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/term"
)

// A server in this process runs the command in a real shell.
func Example() {
	server, err := sshserver.Listen(sshserver.Config{Passwords: map[string]string{"demo": "secret"}, Shell: "/bin/sh"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	folder, err := os.MkdirTemp("", "record")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "demo.cast")

	err = run(context.Background(), path, term.Target{
		Protocol: "ssh", Host: "127.0.0.1", Port: server.Port(), User: "demo",
		Auth: term.Auth{Method: "password", Password: "secret"},
		SSH:  term.SSHOptions{NoConfig: true, HostKeyFingerprint: ssh.FingerprintSHA256(server.HostKey())},
	}, "echo hello; exit 7")
	if err != nil {
		fmt.Println(err)
		return
	}
	picture, err := last(path)
	picture = regexp.MustCompile(`exec-\w+: exit 7, .*\]`).ReplaceAllString(picture, "exec: exit 7]")
	fmt.Println(strings.TrimRight(picture, "\n"), err)
	// Output:
	// $ echo hello; exit 7
	// hello
	// [exec: exit 7] <nil>
}
