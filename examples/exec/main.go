// Command exec opens an SSH session and runs a command beside its terminal, with split streams and a true exit status:
//
//	go run ./examples/exec HOST COMMAND
//
// HOST is a name that ssh knows. ssh_config, the agent and known_hosts count as they do for ssh(1).
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: exec HOST COMMAND")
		os.Exit(2)
	}
	result, err := run(context.Background(), term.Target{Protocol: "ssh", Host: os.Args[1]}, os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "exec:", err)
		os.Exit(1)
	}
	fmt.Printf("%s", result.Stdout.Bytes())
	fmt.Fprintf(os.Stderr, "%s", result.Stderr.Bytes())
	os.Exit(result.Exit.Code)
}

// run opens a session, runs command on a channel of its own and closes the session.
func run(ctx context.Context, host term.Target, command string) (session.ExecResult, error) {
	sessions := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"ssh": sshx.Dialer(sshx.Options{})},
	})
	defer sessions.Close(ctx)

	opened, err := sessions.Open(ctx, session.OpenRequest{Target: host})
	if err != nil {
		return session.ExecResult{}, err
	}
	if opened.Prompt != nil { // examples/login answers
		return session.ExecResult{}, fmt.Errorf("%s asks: %s", host.Host, opened.Prompt.Text)
	}
	result, err := opened.Session.Exec(ctx, session.ExecRequest{Command: command, Timeout: time.Minute})
	if err == nil && !result.Exit.Known {
		err = fmt.Errorf("the exit status is not known: %s", result.ExitReason)
	}
	return result, err
}
