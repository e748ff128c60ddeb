// Command transport brings a transport of its own: the serial console of a virtual machine, which QEMU offers on a Unix
// socket (-serial unix:/run/vm1.sock,server=on,wait=off). It runs one command there and prints the output:
//
//	go run ./examples/transport /run/vm1.sock 'show version'
//
// The whole transport is in console.go.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: transport SOCKET COMMAND")
		os.Exit(2)
	}
	output, err := run(context.Background(), os.Args[1], os.Args[2])
	fmt.Printf("%s", output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "transport:", err)
		os.Exit(1)
	}
}

// run types command at the prompt of the console and returns the output up to the next prompt.
func run(ctx context.Context, socket, command string) ([]byte, error) {
	sessions := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"console": dial}})
	defer sessions.Close(ctx)
	opened, err := sessions.Open(ctx, session.OpenRequest{
		Target: term.Target{Protocol: "console", Host: socket},
		Expect: session.Expect{Prompt: regexp.MustCompile(`[>#$] $`), Class: session.ClassDevice},
	})
	if err != nil {
		return nil, err
	}
	// A console shows its prompt only when a key is pressed.
	s := opened.Session
	w, err := s.Write(ctx, []byte("\r"), session.WriteOptions{})
	if err != nil {
		return nil, err
	}
	s.Read(ctx, session.ReadRequest{Cursor: w.Cursor, Until: s.Expect().Prompt, Timeout: 5 * time.Second})
	result, err := s.Exec(ctx, session.ExecRequest{Command: command, Timeout: time.Minute})
	return result.Stdout.Bytes(), err
}
