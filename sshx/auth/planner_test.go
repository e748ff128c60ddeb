package auth_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestPasswordAndQuestions checks which secrets are sent and which questions are
// asked, for both methods that take secrets.
func TestPasswordAndQuestions(t *testing.T) {
	password := map[string]string{"u": "pass-1138"}
	for _, tc := range []struct {
		name    string
		server  sshserver.Config
		pass    string
		p       *sshtest.Prompter // nil: no person to ask
		config  string
		kind    term.Kind // empty for success
		method  string    // that succeeded
		asked   []string  // texts, as far as given
		sent    int       // passwords by method password
		quizzes int       // attempts by keyboard-interactive
	}{
		{name: "password", server: sshserver.Config{Passwords: password}, pass: "pass-1138", method: "password", sent: 1},
		{name: "wrong password", server: sshserver.Config{Passwords: password}, pass: "hunter2-1138", p: sshtest.Answering(), kind: term.AuthFailed, sent: 1},
		{name: "wrong password by either method is sent once", server: sshserver.Config{Passwords: password, KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138"})}, pass: "hunter2-1138", kind: term.AuthFailed, sent: 0, quizzes: 1},
		{name: "asked", server: sshserver.Config{Passwords: password}, p: sshtest.Answering("pass-1138"), method: "password", asked: []string{"u@192.0.2.1's password: "}, sent: 1},
		{name: "asked until right", server: sshserver.Config{Passwords: password}, p: sshtest.Answering("x-1138-no", "y-1138-no", "pass-1138"), method: "password", asked: []string{"", "try again", "try again"}, sent: 3},
		{name: "asked three times", server: sshserver.Config{Passwords: password}, p: sshtest.Answering("x-1138-no", "y-1138-no", "z-1138-no"), kind: term.AuthFailed, asked: []string{"", "", ""}, sent: 3},
		{name: "NumberOfPasswordPrompts", server: sshserver.Config{Passwords: password}, p: sshtest.Answering("x-1138-no"), config: "NumberOfPasswordPrompts 1\n", kind: term.AuthFailed, asked: []string{""}, sent: 1},
		{name: "BatchMode", server: sshserver.Config{Passwords: password}, p: sshtest.Answering(), config: "BatchMode yes\n", kind: term.AuthFailed},
		{name: "password question", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"(u@host) Password: =pass-1138"})}, pass: "pass-1138", method: "keyboard-interactive", quizzes: 1},
		{name: "password question asked again", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138"}, []string{"Password: =pass-1138"})}, pass: "pass-1138", p: sshtest.Answering(), kind: term.AuthFailed, quizzes: 1},
		{name: "one-time password", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"One-time password (OATH) for u: =code-1138"})}, pass: "pass-1138", p: sshtest.Answering("code-1138"), method: "keyboard-interactive", asked: []string{"One-time"}, quizzes: 1},
		{name: "not a password question", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Verification code: =1"})}, pass: "pass-1138", kind: term.AuthFailed, quizzes: 1},
		{name: "two questions", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138", "Token: =token-1138"})}, pass: "pass-1138", p: sshtest.Answering("token-1138"), method: "keyboard-interactive", asked: []string{"Token: "}, quizzes: 1},
		{name: "three rounds", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Name: =name-1138", "A: =a-code-1138"}, []string{"B: =b-code-1138"}, []string{"C: =c-code-1138"})}, p: sshtest.Answering("name-1138", "a-code-1138", "b-code-1138", "c-code-1138"), method: "keyboard-interactive", asked: []string{"Name", "A", "B", "C"}, quizzes: 1},
		{name: "zero questions", server: sshserver.Config{KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138"}), Faults: sshserver.Faults{ZeroQuestionRound: true}}, pass: "pass-1138", method: "keyboard-interactive", quizzes: 1},
		{name: "password not allowed by config", server: sshserver.Config{Passwords: password}, pass: "pass-1138", config: "PasswordAuthentication no\n", kind: term.AuthFailed},
		{name: "PreferredAuthentications", server: sshserver.Config{Passwords: password, KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138"})}, pass: "pass-1138", config: "PreferredAuthentications password,keyboard-interactive\n", method: "password", sent: 1},
		{name: "nothing asked for", server: sshserver.Config{}, pass: "pass-1138", method: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				l.Config(tc.config)
				srv := l.Server(sshtest.Addr1, tc.server)
				var p term.Prompter
				if tc.p != nil {
					p = tc.p
				}
				if tc.kind != "" {
					e := l.Fails(sshtest.To(sshtest.Host1, tc.pass), p, tc.kind)
					if strings.Contains(fmt.Sprintf("%+v %+v", e, e.Facts), "hunter2-1138") ||
						len(term.FactOf[term.ConnectFailure](e).MethodsAllowed) == 0 ||
						sshtest.LastStep(term.FactOf[term.ConnectFailure](e).Ladder) != "auth!" {
						t.Errorf("%+v, details %+v", e, e.Facts)
					}
				} else {
					sh, err := l.Client(sshtest.To(sshtest.Host1, tc.pass), p).Shell(t.Context(), term.PTY{})
					if err != nil {
						t.Fatal(err)
					}
					if got := sh.Describe().AuthMethod; got != tc.method {
						t.Errorf("method %q, want %q", got, tc.method)
					}
				}
				synctest.Wait()
				if n := srv.Stats().PasswordsSeen; n != tc.sent {
					t.Errorf("%d passwords sent, want %d", n, tc.sent)
				}
				if n := sshtest.Attempts(srv, "keyboard-interactive"); n != tc.quizzes {
					t.Errorf("%d attempts by keyboard-interactive, want %d", n, tc.quizzes)
				}
				var asked []term.Prompt
				if tc.p != nil {
					asked = tc.p.Asked
				}
				if len(asked) != len(tc.asked) {
					t.Fatalf("asked %+v, want %q", asked, tc.asked)
				}
				for i, q := range asked {
					if !strings.Contains(q.Text, tc.asked[i]) || q.Host != sshtest.Host1 || q.User != "u" ||
						q.Echo != strings.HasPrefix(q.Text, "Name") {
						t.Errorf("question %+v", q)
					}
				}
				if tc.name == "two questions" && (asked[0].Index != 2 || asked[0].Of != 2) {
					t.Errorf("question %d of %d", asked[0].Index, asked[0].Of)
				}
			})
		})
	}
}

// TestDeclinedQuestion checks that a prompter's error ends the login with that
// error, for any question, and that no other method is tried.
func TestDeclinedQuestion(t *testing.T) {
	stop := &term.Error{Kind: term.Canceled, Msg: "ctrl_c"}
	no := &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) { return "", stop }}
	key, sealed := sshtest.SealedKey(t)
	for name, c := range map[string]sshserver.Config{
		"password":   {Passwords: map[string]string{"u": "pass-1138"}},
		"question":   {Passwords: map[string]string{"u": "pass-1138"}, KeyboardInteractive: sshtest.Quiz([]string{"Name: =name-1138"})},
		"passphrase": {Passwords: map[string]string{"u": "pass-1138"}, AuthorizedKeys: []ssh.PublicKey{key.PublicKey()}},
	} {
		t.Run(name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Server(sshtest.Addr1, c)
				l.Write(".ssh/id_ed25519", sealed)
				no.Asked = nil
				e := l.Fails(sshtest.To(sshtest.Host1, ""), no, term.Canceled)
				if !strings.Contains(e.Msg, "ctrl_c") || len(no.Asked) != 1 || srv.Stats().PasswordsSeen != 0 ||
					stop.Facts != nil {
					t.Errorf("%v; asked %d times, stats %+v, the prompter's own error %+v", e, len(no.Asked), srv.Stats(), stop)
				}
			})
		})
	}
}

// TestConnectionLostWhileAsked checks that a person is not asked for the next
// method on a closed connection.
func TestConnectionLostWhileAsked(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(
			sshtest.Addr1,
			sshserver.Config{
				Passwords:           map[string]string{"u": "pass-1138"},
				KeyboardInteractive: sshtest.Quiz([]string{"Name: =name-1138"}),
			},
		)
		p := &sshtest.Prompter{}
		p.Answer = func(context.Context, term.Prompt) (string, error) {
			srv.DropConnections()
			synctest.Wait()
			return "name-1138", nil
		}
		e := l.Fails(sshtest.To(sshtest.Host1, ""), p, term.AuthFailed)
		if len(p.Asked) != 1 || !strings.Contains(e.Msg, "ended the connection") {
			t.Errorf("asked %d times; %v", len(p.Asked), e)
		}
	})
}

// TestNoInteractive checks that Auth.NoInteractive prevents every question.
func TestNoInteractive(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
		target := sshtest.To(sshtest.Host1, "")
		target.Auth.NoInteractive = true
		e := l.Fails(target, sshtest.NoPrompter(t), term.AuthFailed)
		if e.Reason != term.ReasonNoCredential || !strings.Contains(e.Message(), "Auth.Password") {
			t.Errorf("%q does not say what to pass", e.Message())
		}
	})
}

// TestPartialSuccess checks a server that requires a key and an answer (RFC 4252
// section 5.1).
func TestPartialSuccess(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		key, pem := sshtest.NewKey(t)
		srv := l.Server(
			sshtest.Addr1,
			sshserver.Config{
				AuthorizedKeys:      []ssh.PublicKey{key.PublicKey()},
				KeyboardInteractive: sshtest.Quiz([]string{"Password: =pass-1138", "Code: =code-1138"}),
				RequireAll:          true,
			},
		)
		l.Write(".ssh/id_ed25519", pem)
		l.Client(sshtest.To(sshtest.Host1, "pass-1138"), sshtest.Answering("code-1138"))
		if n := srv.Stats(); len(n.KeysOffered) == 0 || sshtest.Attempts(srv, "keyboard-interactive") != 1 {
			t.Errorf("Stats = %+v, want one attempt by keyboard-interactive and a key offered", n)
		}
	})
}
