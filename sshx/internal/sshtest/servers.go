package sshtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/term"
)

// Attempts returns how often the user u has tried a method.
func Attempts(srv *sshserver.Server, method string) int {
	return srv.Stats().Attempts[sshserver.Attempt{User: "u", Method: method}]
}

// Quiz asks rounds of questions and expects these answers.
func Quiz(rounds ...[]string) func(string, ssh.KeyboardInteractiveChallenge) error {
	return func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
		for _, round := range rounds {
			var questions []string
			var echos []bool
			var want []string
			for _, qa := range round {
				q, a, _ := strings.Cut(qa, "=")
				questions, echos, want = append(
					questions,
					q,
				), append(
					echos,
					strings.HasPrefix(q, "Name"),
				), append(
					want,
					a,
				)
			}
			got, err := challenge("", "", questions, echos)
			if err != nil {
				return err
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("got %d answers, some wrong", len(got))
			}
		}
		return nil
	}
}

// Untouched checks that a server received no credential.
func Untouched(t *testing.T, srv *sshserver.Server) {
	t.Helper()
	if n := srv.Stats(); len(n.Attempts) != 0 || n.PasswordsSeen != 0 || len(n.KeysOffered) != 0 ||
		n.Authenticated != 0 {
		t.Errorf("the server was told %+v", n)
	}
}

// DeviceAddr is a device without SSH.
const DeviceAddr = "192.0.2.9:23"

// Behind returns the target of the device, behind these jump hosts.
func Behind(jumps string) term.Target {
	return term.Target{
		Host: "192.0.2.9",
		Port: 23,
		SSH:  term.SSHOptions{ProxyJump: jumps},
		Auth: term.Auth{Password: "of the device-1138"},
	}
}
