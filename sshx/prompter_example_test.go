package sshx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// The example logs in with a password and a one-time code, which a function gives, and pins the host's key in the program.
func Example_prompter() {
	host, err := sshserver.Listen(sshserver.Config{
		KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			got, err := ask("", "", []string{"Password: ", "Code: "}, []bool{false, true})
			if err == nil && !slices.Equal(got, []string{"secret", "123456"}) {
				err = errors.New("wrong")
			}
			return err
		},
		Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			io.WriteString(r.Stdout, "ran "+r.Command+"\n")
			return sshserver.Exit{}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	answers := map[string]string{"Password: ": "secret", "Code: ": "123456"}
	client, err := sshx.Dial(
		context.Background(),
		term.Target{Host: "127.0.0.1", Port: host.Port(), User: "admin"},
		sshx.Options{NoConfig: true, IdentityAgent: "none", KnownHosts: []byte(host.KnownHostsLine())},
		term.PrompterFunc(func(_ context.Context, q term.Prompt) (string, error) { return answers[q.Text], nil }),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	var out bytes.Buffer
	exit, err := client.Exec(context.Background(), term.ExecRequest{Command: "echo hello"}, &out, nil)
	fmt.Print(out.String(), exit.OK(), " ", err, "\n")
	// Output:
	// ran echo hello
	// true <nil>
}
