package main

import (
	"context"
	"fmt"

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

	result, err := run(context.Background(), term.Target{
		Protocol: "ssh", Host: "127.0.0.1", Port: server.Port(), User: "demo",
		Auth: term.Auth{Method: "password", Password: "secret"},
		SSH:  term.SSHOptions{NoConfig: true, HostKeyFingerprint: ssh.FingerprintSHA256(server.HostKey())},
	}, "echo to stdout; echo to stderr >&2; exit 7")
	fmt.Printf("%q %q %d %v\n", result.Stdout.Bytes(), result.Stderr.Bytes(), result.Exit.Code, err)
	// Output: "to stdout\n" "to stderr\n" 7 <nil>
}
