package sshsig

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// ParseKeys reads public keys, one a line: lines of authorized_keys (TYPE BASE64 [COMMENT]) or of allowed_signers
// (PRINCIPALS [OPTIONS] TYPE BASE64 [COMMENT]; ssh-keygen(1)). Empty lines and those that begin with # are comments; a
// text without any key gives no keys and no error. Of the options only namespaces="..." is taken, which must have the
// namespace: another one would limit the key in a way that is not judged here.
func ParseKeys(text []byte, namespace string) (keys []ssh.PublicKey, err error) {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := parseLine(line, namespace)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func parseLine(line, namespace string) (ssh.PublicKey, error) {
	if strings.HasPrefix(line, "-----BEGIN ") && strings.Contains(line, "PRIVATE KEY") {
		return nil, fmt.Errorf("it is a private key: give the public one, the file that ends in .pub")
	}
	words := split(line)
	for i, word := range words[:max(0, len(words)-1)] {
		raw, err := base64.StdEncoding.DecodeString(words[i+1])
		if err != nil || !strings.Contains(word, "-") {
			continue
		}
		key, err := ssh.ParsePublicKey(raw)
		if err != nil || key.Type() != word {
			continue
		}
		if err := judgeOptions(words[:i], namespace); err != nil {
			return nil, err
		}
		return key, usable(key)
	}
	return nil, fmt.Errorf("it has no public key: want TYPE BASE64, as in the file that ends in .pub, or a line of allowed_signers")
}

// judgeOptions judges the words before a key: none, the principals, or the principals and the options.
func judgeOptions(words []string, namespace string) error {
	if len(words) > 2 {
		return fmt.Errorf("%d words precede the key, want the principals and the options at most", len(words))
	}
	if len(words) < 2 {
		// A line of authorized_keys may begin with its options, which a principal never looks like.
		if len(words) == 1 && (strings.ContainsAny(words[0], `="`) || words[0] == "cert-authority") {
			words = append([]string{"*"}, words...)
		} else {
			return nil
		}
	}
	for _, option := range splitAt(words[1], ',') {
		name, value, _ := strings.Cut(option, "=")
		if !strings.EqualFold(name, "namespaces") {
			return fmt.Errorf("the option %s is not judged here: take it out, or use ssh-keygen -Y verify", name)
		}
		if list := strings.Split(strings.Trim(value, `"`), ","); !slices.Contains(list, namespace) {
			return fmt.Errorf("the key is for the namespaces %s, and not for %q", value, namespace)
		}
	}
	return nil
}

// split returns the words of a line; blanks between double quotes are part of a word.
func split(line string) []string {
	return slices.DeleteFunc(splitAt(strings.ReplaceAll(line, "\t", " "), ' '), func(word string) bool { return word == "" })
}

// splitAt cuts a text at a separator that is not between double quotes.
func splitAt(text string, separator rune) []string {
	quoted := false
	var words []string
	start := 0
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			words, start = append(words, text[start:i]), i+1
		}
	}
	return append(words, text[start:])
}
