package secret

import (
	"regexp"
	"testing"

	"ptyctl/term"
)

// Which lines of a terminal a secret without expressions of its own answers.
func TestLines(t *testing.T) {
	pw, otp := &Definition{}, &Definition{OneTime: true}
	own := &Definition{Prompts: []*regexp.Regexp{regexp.MustCompile(`^(PIN|bob@db1's password):$`)}}
	for line, want := range map[string]*Definition{
		"[sudo] password for deploy: ":             pw,
		"[sudo] password for alice@corp.example: ": pw,
		"Password: ":                                  pw,
		"Password:":                                   pw,
		"Enter password: ":                            pw,
		"Password for user postgres: ":                pw,
		"(current) UNIX password: ":                   pw,
		"Please input password: ":                     pw,
		"Enter password for 'x'? ":                    pw,
		"deploy@password-store:~$ ":                   nil,
		"$ cat password.txt":                          nil,
		"password hunter":                             nil,
		"New password: ":                              nil,
		"Retype password: ":                           nil,
		"Enter passphrase for key '/home/x/id': ":     nil,
		"root@db1's password: ":                       nil, // of a nested ssh
		"(root@db1) Password: ":                       nil,
		"Password for 'https://alice@git.example': ":  nil,
		"Verification code: ":                         otp,
		"One-time password (OATH) for `deploy': ":     otp,
		"Enter the 6-digit passcode? ":                otp,
		"code":                                        nil,
		"(deploy@db1) Verification code: ":            nil,
		"Password or token: ":                         otp,
		"PIN: ":                                       own,
		"bob@db1's password: ":                        own,
		"alice@db1's password: ":                      nil,
		"":                                            nil,
		"Are you sure? The password will be changed.": nil,
	} {
		for name, d := range map[string]*Definition{"password": pw, "code": otp, "own": own} {
			if got := d.answersLine(line); got != (d == want) {
				t.Errorf("the secret for %s answers %q: %t, want %t", name, line, got, d == want)
			}
		}
	}
}

// The decision also depends on the rest of the terminal's screen, not only on the question.
func TestTypedAt(t *testing.T) {
	d := Definition{Name: "pw", AllowEcho: true}
	for name, tt := range map[string]struct {
		r    term.SecretRequest
		rule string
	}{
		"a question":       {term.SecretRequest{}, ""},
		"shown":            {term.SecretRequest{Echo: true}, ""},
		"a shell's prompt": {term.SecretRequest{Shell: true}, "secret.pw.prompts"},
		"half an answer":   {term.SecretRequest{Typed: true}, "secret.pw.echo"},
		"a whole screen":   {term.SecretRequest{FullScreen: true}, "secret.pw.screen"},
	} {
		tt.r.Prompt = "Password: "
		if got := term.FactOf[term.Denial](d.typedAt(tt.r)).Rule; got != tt.rule {
			t.Errorf("%s is refused by %q, want %q", name, got, tt.rule)
		}
	}
}
