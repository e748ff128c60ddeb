package sshconfig

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokens maps the letter of a %-token to its value (ssh_config(5), TOKENS).
type tokens map[byte]string

// tokens returns the values of all tokens for a connection to host.
func (e *evaluator) tokens(host string) tokens {
	jumpHost := ""
	if j := e.text("ProxyJump"); j != "" && j != "none" {
		// Only the last jump, without user and port, as in ssh(1).
		if jumps, err := ParseJump(j); err == nil && len(jumps) > 0 {
			jumpHost = jumps[len(jumps)-1].Host
		}
	}
	alias := strings.ToLower(e.text("HostKeyAlias"))
	if alias == "" {
		alias = e.opt.Host
	}
	// %L is the host name up to the first dot.
	short, _, _ := strings.Cut(e.opt.LocalHost, ".")
	t := tokens{
		'd': e.opt.HomeDir,
		'h': host,
		'i': e.uid,
		'j': jumpHost,
		'k': alias,
		'L': short,
		'l': e.opt.LocalHost,
		'n': e.opt.Host,
		'p': e.text("Port"),
		'r': e.user(),
		'u': e.opt.LocalUser,
	}
	t.hash()
	return t
}

// hash sets %C from the other tokens. It must be the SHA-1 that other programs on this
// machine compute; it names a connection and protects no secret.
func (t tokens) hash() {
	sum := sha1.Sum([]byte(t['l'] + t['h'] + t['p'] + t['r'] + t['j']))
	t['C'] = hex.EncodeToString(sum[:])
}

// localUID returns the user id for %i, or "" if it is unknown.
func localUID() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Uid
}

// only returns the tokens with letters in allowed.
func (t tokens) only(allowed string) tokens {
	some := make(tokens, len(allowed))
	for i := range len(allowed) {
		if v, ok := t[allowed[i]]; ok {
			some[allowed[i]] = v
		}
	}
	return some
}

// expand replaces %-tokens in s and, with env, ${NAME}. It does not expand the inserted text.
func expand(s string, t tokens, env func(string) (string, error)) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			i++
			if i == len(s) {
				return "", errors.New("a % ends the value: write %% for a percent sign")
			}
			if s[i] == '%' {
				b.WriteByte('%')
				continue
			}
			v, ok := t[s[i]]
			if !ok {
				return "", fmt.Errorf("%q is not a token of this keyword: write %%%% for a percent sign", s[i-1:i+1])
			}
			b.WriteString(v)
		case env != nil && strings.HasPrefix(s[i:], "${"):
			name, _, closed := strings.Cut(s[i+2:], "}")
			if !closed || name == "" {
				return "", errors.New("${ is not followed by a name and }")
			}
			v, err := env(name)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
			i += len("${}") + len(name) - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// expandCommand is expand for a command line of the operator. A shell reads the result, so a host, or a user that the
// operator has not written out, must not contain a character that a shell interprets, and must not pass for an
// option.
func (e *evaluator) expandCommand(command string, t tokens) (string, error) {
	for _, letter := range []byte("hjknr") {
		if letter == 'r' && !e.origin("User").Caller() && t['r'] == e.user() {
			continue
		}
		if strings.Contains(command, "%"+string(rune(letter))) && misread(t[letter], runtime.GOOS) {
			return "", fmt.Errorf(
				"%%%c is %q here, which a shell or the program could read as more than a name: use a plain name",
				letter, t[letter],
			)
		}
	}
	return expand(command, t, nil)
}

// misread reports whether a shell, or the program, might read word as other than one name. On Windows
// a program gets its arguments in the system's code page, where a letter can become a quote,
// and the interpreter of a batch file expands %NAME%.
func misread(word, goos string) bool {
	return strings.HasPrefix(word, "-") || strings.ContainsFunc(word, func(r rune) bool {
		switch {
		case goos == "windows" && (r == '%' || r >= utf8.RuneSelf):
			return true
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return false
		}
		return !strings.ContainsRune("._-@:+%/,", r)
	})
}

// callerEnv has the variables that a caller's values may expand: locations, never secrets.
var callerEnv = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "SSH_AUTH_SOCK": true,
	"XDG_RUNTIME_DIR": true, "XDG_CONFIG_HOME": true, "TMPDIR": true,
	"USERPROFILE": true, "LOCALAPPDATA": true, "APPDATA": true,
}

// env returns the lookup function of ${NAME} for a value from origin.
func (e *evaluator) env(origin Origin) func(string) (string, error) {
	return func(name string) (string, error) {
		if origin.Caller() && !callerEnv[name] {
			return "", fmt.Errorf("${%s} is not expanded in values of a caller: write the value itself", name)
		}
		v, ok := e.opt.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		return v, nil
	}
}

// tilde replaces a leading ~ or ~user by the home directory.
func (e *evaluator) tilde(s string) (string, error) {
	if !strings.HasPrefix(s, "~") {
		return s, nil
	}
	// The local user's own name needs no lookup, which may be slow.
	name, rest, _ := strings.Cut(s[1:], "/")
	home := e.opt.HomeDir
	if name != "" && name != e.opt.LocalUser {
		u, err := user.Lookup(name)
		if err != nil {
			return "", fmt.Errorf("~%s: there is no such user", name)
		}
		home = u.HomeDir
	}
	return filepath.Join(home, filepath.FromSlash(rest)), nil
}
