// Command login opens an SSH session with a host that asks: for a password, a code, or a decision about its host key.
// It shows each question, reads the answer from standard input and prints how the login ended:
//
//	go run ./examples/login HOST
//
// A program for people must read secrets without echo; this one shows only the library.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: login HOST")
		os.Exit(2)
	}
	sessions := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"ssh": sshx.Dialer(sshx.Options{HostKeyPolicy: "ask"})},
	})
	ctx := context.Background()
	s, err := login(ctx, sessions, term.Target{Protocol: "ssh", Host: os.Args[1]}, askPerson())
	if err == nil {
		fmt.Printf("%s is %s\n", s.ID(), s.State())
	}
	sessions.Close(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

// askPerson returns a function that shows a question and reads a line as the answer.
func askPerson() func(term.Prompt) (string, error) {
	keyboard := bufio.NewReader(os.Stdin)
	return func(q term.Prompt) (string, error) {
		fmt.Printf("%s@%s asks: %s", q.User, q.Host, q.Text)
		line, err := keyboard.ReadString('\n')
		return strings.TrimRight(line, "\r\n"), err
	}
}

// login opens a session and has ask answer each question on the way. The session is open when it returns.
func login(
	ctx context.Context,
	sessions *session.Manager,
	host term.Target,
	ask func(term.Prompt) (string, error),
) (*session.Session, error) {
	opened, err := sessions.Open(ctx, session.OpenRequest{Target: host})
	for err == nil && opened.Prompt != nil {
		var answer string
		if answer, err = ask(*opened.Prompt); err != nil {
			break
		}
		// While a login waits, a write is the answer. It is in no log and never echoed.
		if _, err = opened.Session.Write(ctx, []byte(answer), session.WriteOptions{Sensitive: true}); err == nil {
			opened, err = opened.Again(ctx, 30*time.Second)
		}
	}
	if err == nil && opened.State != session.Open {
		err = fmt.Errorf("the session is %s", opened.State)
	}
	return opened.Session, err
}
