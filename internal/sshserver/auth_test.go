package sshserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/ssh"
)

// twoQuestions asks for a password and a code at once.
func twoQuestions(user string, challenge ssh.KeyboardInteractiveChallenge) error {
	answers, err := challenge("login", "for "+user, []string{"Password: ", "Code: "}, []bool{false, true})
	if err != nil {
		return err
	}
	if !slices.Equal(answers, []string{"secret", "123"}) {
		return errors.New("wrong answers")
	}
	return nil
}

// answer is the client's side of keyboard-interactive; it records each round by the
// number of its questions.
func answer(rounds *[]int, answers ...string) ssh.AuthMethod {
	return ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
		*rounds = append(*rounds, len(questions))
		return answers[:min(len(questions), len(answers))], nil
	})
}

func TestAuth(t *testing.T) {
	good, other := newKey(t), newKey(t)
	passwords := map[string]string{"demo": "secret", "empty": ""}
	keys := []ssh.PublicKey{good.PublicKey()}
	var rounds []int
	for _, tc := range []struct {
		name     string
		config   Config
		auth     []ssh.AuthMethod
		ok       bool
		attempts map[Attempt]int
		rounds   []int
	}{
		{"nothing needed", Config{NoAuth: true}, nil, true, map[Attempt]int{{"demo", "none"}: 1}, nil},
		{"password", Config{Passwords: passwords}, []ssh.AuthMethod{ssh.Password("secret")}, true, map[Attempt]int{{"demo", "none"}: 1, {"demo", "password"}: 1}, nil},
		{"wrong password", Config{Passwords: passwords}, []ssh.AuthMethod{ssh.Password("Secret")}, false, map[Attempt]int{{"demo", "none"}: 1, {"demo", "password"}: 1}, nil},
		{"mismatched user", Config{Passwords: map[string]string{"eve": "x"}}, []ssh.AuthMethod{ssh.Password("")}, false, nil, nil},
		{"password not offered", Config{AuthorizedKeys: keys}, []ssh.AuthMethod{ssh.Password("secret")}, false, map[Attempt]int{{"demo", "none"}: 1}, nil},
		{"publickey", Config{AuthorizedKeys: keys}, []ssh.AuthMethod{ssh.PublicKeys(other, good)}, true, map[Attempt]int{{"demo", "none"}: 1, {"demo", "publickey"}: 2}, nil},
		{"wrong key", Config{AuthorizedKeys: keys}, []ssh.AuthMethod{ssh.PublicKeys(other)}, false, nil, nil},
		{"too many keys", Config{AuthorizedKeys: keys, MaxAuthTries: 1}, []ssh.AuthMethod{ssh.PublicKeys(other, good)}, false, nil, nil},
		{"two questions", Config{KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "123")}, true, nil, []int{2}},
		{"wrong answer", Config{KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "124")}, false, nil, []int{2}},
		{"zero-question round", Config{KeyboardInteractive: twoQuestions, Faults: Faults{ZeroQuestionRound: true}}, []ssh.AuthMethod{answer(&rounds, "secret", "123")}, true, nil, []int{2, 0}},
		{"any one suffices", Config{AuthorizedKeys: keys, KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "123")}, true, nil, []int{2}},
		{
			"all: both",
			Config{RequireAll: true, AuthorizedKeys: keys, KeyboardInteractive: twoQuestions},
			[]ssh.AuthMethod{answer(&rounds, "secret", "123"), ssh.PublicKeys(good)},
			true,
			map[Attempt]int{{"demo", "none"}: 1, {"demo", "publickey"}: 1, {"demo", "keyboard-interactive"}: 1},
			[]int{2},
		},
		{"all: key only", Config{RequireAll: true, AuthorizedKeys: keys, KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{ssh.PublicKeys(good)}, false, nil, nil},
		{"all: answers only", Config{RequireAll: true, AuthorizedKeys: keys, KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "123")}, false, nil, nil},
		{"all: three", Config{RequireAll: true, AuthorizedKeys: keys, Passwords: passwords, KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "123"), ssh.Password("secret"), ssh.PublicKeys(good)}, true, nil, []int{2}},
		{"all: wrong in the middle", Config{RequireAll: true, AuthorizedKeys: keys, Passwords: passwords, KeyboardInteractive: twoQuestions}, []ssh.AuthMethod{answer(&rounds, "secret", "123"), ssh.Password("x"), ssh.PublicKeys(good)}, false, nil, nil},
		{"all: one method", Config{RequireAll: true, Passwords: passwords}, []ssh.AuthMethod{ssh.Password("secret")}, true, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rounds = nil
				tc.config.Handler = echo
				s := newServer(t, tc.config)
				_, err := login(t, s, clientConfig(s, tc.auth...))
				if (err == nil) != tc.ok {
					t.Errorf("login: %v, want ok %v", err, tc.ok)
				}
				if !slices.Equal(rounds, tc.rounds) {
					t.Errorf("rounds of %v questions, want %v", rounds, tc.rounds)
				}
				synctest.Wait()
				n := s.Stats()
				if tc.attempts != nil && !maps.Equal(n.Attempts, tc.attempts) {
					t.Errorf("attempts %v, want %v", n.Attempts, tc.attempts)
				}
				if (n.Authenticated == 1) != tc.ok || n.Accepted != 1 {
					t.Errorf("stats %+v", n)
				}
			})
		})
	}
}

// TestCredentialsSeen checks the counts that let a test prove that no credential was
// sent.
func TestCredentialsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, other := newKey(t), newKey(t)
		s := newServer(
			t,
			Config{Handler: echo, Passwords: map[string]string{}, AuthorizedKeys: []ssh.PublicKey{good.PublicKey()}},
		)

		mismatched := clientConfig(s, ssh.Password("secret"), ssh.PublicKeys(good))
		mismatched.HostKeyCallback = ssh.FixedHostKey(other.PublicKey())
		if _, err := login(t, s, mismatched); err == nil {
			t.Error("login despite another host key")
		}
		synctest.Wait()
		if n := s.Stats(); n.PasswordsSeen != 0 || len(n.KeysOffered) != 0 || len(n.Attempts) != 0 {
			t.Errorf("before the host key was accepted: %+v", n)
		}

		if _, err := login(t, s, clientConfig(s, ssh.Password("secret"), ssh.PublicKeys(other, good))); err != nil {
			t.Error(err)
		}
		n := s.Stats()
		want := []string{ssh.FingerprintSHA256(other.PublicKey()), ssh.FingerprintSHA256(good.PublicKey())}
		if n.PasswordsSeen != 1 || !slices.Equal(n.KeysOffered, want) {
			t.Errorf("PasswordsSeen %d, KeysOffered %v", n.PasswordsSeen, n.KeysOffered)
		}
	})
}

func TestBannerAndVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{NoAuth: true, Handler: echo, Banner: "authorised use only\n", Version: "SSH-2.0-Router_1.0"})
		config := clientConfig(s)
		var banner string
		config.BannerCallback = func(message string) error { banner = message; return nil }
		client, err := login(t, s, config)
		if err != nil {
			t.Fatal(err)
		}
		if banner != "authorised use only\n" || string(client.ServerVersion()) != "SSH-2.0-Router_1.0" {
			t.Errorf("banner %q, version %q", banner, client.ServerVersion())
		}
	})
}

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]Config{
		"nobody can log in": {Handler: echo},
		"empty host keys":   {NoAuth: true, Handler: echo, HostKeys: []ssh.Signer{}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: New accepted it", name)
		}
	}
	key := newKey(t)
	s := newServer(t, Config{NoAuth: true, Handler: echo, HostKeys: []ssh.Signer{key}})
	if got, want := fmt.Sprintf("%x", s.HostKey().Marshal()), fmt.Sprintf("%x", key.PublicKey().Marshal()); got != want {
		t.Errorf("HostKey = %s, want %s", got, want)
	}
}
