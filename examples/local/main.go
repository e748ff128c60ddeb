// Command local runs a program of this machine on a terminal, and types at it when it asks:
//
//	go run ./examples/local NAME
//
// The program is sh, which asks for a name; what it answers is printed.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// script asks on the terminal, as many programs do that ask nothing without one.
const script = `test -t 0 || exit 9; printf 'Name: '; read -r name; printf 'Hello, %s.\n' "$name"; exit 3`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: local NAME")
		os.Exit(2)
	}
	text, exit, err := run(context.Background(), []string{"/bin/sh", "-c", script}, os.Args[1])
	fmt.Print(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
	os.Exit(exit.Code)
}

// run starts a program, waits until it asks for the name, types that, and reads to the program's end.
func run(ctx context.Context, argv []string, name string) (text string, exit term.Exit, err error) {
	sessions := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}})
	defer sessions.Close(ctx)
	opened, err := sessions.Open(ctx, session.OpenRequest{
		Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: argv}},
	})
	if err != nil {
		return "", exit, err
	}
	s := opened.Session
	asked := s.Read(ctx, session.ReadRequest{Until: regexp.MustCompile(`Name: $`), Timeout: 10 * time.Second})
	if asked.Reason != session.ReasonMatched {
		return string(asked.Data), exit, fmt.Errorf("no question: %s", asked.Reason)
	}
	if _, err := s.Write(ctx, []byte(name+"\r"), session.WriteOptions{}); err != nil {
		return "", exit, err
	}
	rest := s.Read(ctx, session.ReadRequest{Cursor: asked.Next, End: true, Timeout: 10 * time.Second})
	return string(rest.Data), s.Info().End.Exit, nil
}
