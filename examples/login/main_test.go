package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// The server asks two questions in one round (RFC 4256), as a login with a second factor does.
func Example() {
	server, err := sshserver.Listen(sshserver.Config{KeyboardInteractive: twoFactors, Handler: idle})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	sessions := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"ssh": sshx.Dialer(sshx.Options{})},
	})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	defer sessions.Close(ctx)

	answers := map[string]string{"Password: ": "secret", "Verification code: ": "123456"}
	s, err := login(ctx, sessions, term.Target{
		Protocol: "ssh", Host: "127.0.0.1", Port: server.Port(), User: "demo",
		SSH: term.SSHOptions{NoConfig: true, HostKeyFingerprint: ssh.FingerprintSHA256(server.HostKey())},
	}, func(q term.Prompt) (string, error) {
		fmt.Printf("question %d of %d, a %s: %q\n", q.Index, q.Of, q.Kind, q.Text)
		return answers[q.Text], nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.State())
	// Output:
	// question 1 of 2, a challenge: "Password: "
	// question 2 of 2, a challenge: "Verification code: "
	// open
}

// twoFactors asks for a password and a code.
func twoFactors(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
	answers, err := challenge("", "", []string{"Password: ", "Verification code: "}, []bool{false, false})
	if err == nil && (answers[0] != "secret" || answers[1] != "123456") {
		err = errors.New("permission denied")
	}
	return err
}

// idle is a shell that does nothing until it is closed.
func idle(ctx context.Context, _ *sshserver.Request) sshserver.Exit {
	<-ctx.Done()
	return sshserver.Exit{}
}
