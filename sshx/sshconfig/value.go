package sshconfig

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// input is the rest of a line after the keyword, in the two forms that keywords need.
type input struct {
	args []string // split and unquoted
	tail string   // as written, up to the end of the line
}

// kind checks the arguments of a keyword and returns them in canonical form: yes and no
// instead of true and false, seconds instead of "1h30m". Without values and without an error
// the line does not set the keyword.
type kind func(in input) ([]string, error)

var (
	errMissing = errors.New("an argument is missing after the keyword")
	errExtra   = errors.New("there are too many arguments: quote a value that contains blanks")
)

// one returns the only argument of in.
func one(in input) (string, error) {
	switch {
	case len(in.args) == 0 || in.args[0] == "":
		return "", errMissing
	case len(in.args) > 1:
		return "", errExtra
	}
	return in.args[0], nil
}

// text accepts any single argument.
func text(in input) ([]string, error) {
	arg, err := one(in)
	return []string{arg}, err
}

// words accepts one of a few words, in any case. "true=yes" accepts true and stores yes.
func words(list ...string) kind {
	return func(in input) ([]string, error) {
		arg, err := one(in)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, w := range list {
			name, stored, synonym := strings.Cut(w, "=")
			if !synonym {
				stored = name
				names = append(names, name)
			}
			if strings.EqualFold(arg, name) {
				return []string{stored}, nil
			}
		}
		return nil, fmt.Errorf("%q is not one of %s", arg, strings.Join(names, ", "))
	}
}

// yesNo accepts yes and no, and their synonyms true and false.
func yesNo(in input) ([]string, error) {
	return words("yes", "no", "true=yes", "false=no")(in)
}

// yesNoOrText accepts yes or no in any case, and any other text unchanged.
func yesNoOrText(in input) ([]string, error) {
	if args, err := yesNo(in); err == nil {
		return args, nil
	}
	return text(in)
}

// integer accepts a number from 0 to 2147483647.
func integer(in input) ([]string, error) {
	arg, err := one(in)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(arg, 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a number from 0 to %d", arg, math.MaxInt32)
	}
	return []string{strconv.FormatInt(n, 10)}, nil
}

// positive accepts a number of at least 1.
func positive(in input) ([]string, error) {
	args, err := integer(in)
	if err == nil && args[0] == "0" {
		return nil, errors.New("the number must be at least 1")
	}
	return args, err
}

// port accepts a number or a service name of /etc/services.
func port(in input) ([]string, error) {
	arg, err := one(in)
	if err != nil {
		return nil, err
	}
	n, err := parsePort(arg)
	if err != nil {
		return nil, err
	}
	return []string{strconv.Itoa(n)}, nil
}

func parsePort(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil && strings.ContainsFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		n, err = net.LookupPort("tcp", s)
	}
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%q is not a port: give a number from 1 to 65535", s)
	}
	return n, nil
}

// duration accepts a time (sshd_config(5), TIME FORMATS) and returns whole seconds. After
// "none" a later line may still set the time.
func duration(in input) ([]string, error) {
	arg, err := one(in)
	if err != nil {
		return nil, err
	}
	if arg == "none" {
		return nil, nil
	}
	s, err := parseSeconds(arg)
	if err != nil {
		return nil, err
	}
	return []string{strconv.Itoa(s)}, nil
}

// rekey accepts a size and an optional time, and returns bytes and seconds. Without a time in
// the line it returns the bytes only.
func rekey(in input) ([]string, error) {
	if len(in.args) > 2 {
		return nil, errExtra
	}
	if len(in.args) == 0 || in.args[0] == "" {
		return nil, errMissing
	}
	size := "0"
	if arg := in.args[0]; arg != "default" {
		n, err := parseBytes(arg)
		if err != nil {
			return nil, err
		}
		if n != 0 && n < 16 {
			return nil, fmt.Errorf("%q is too small: the limit starts at 16 bytes", arg)
		}
		size = strconv.FormatInt(n, 10)
	}
	if len(in.args) == 1 || in.args[1] == "none" {
		return []string{size}, nil
	}
	seconds, err := parseSeconds(in.args[1])
	if err != nil {
		return nil, err
	}
	return []string{size, strconv.Itoa(seconds)}, nil
}

// addKeys accepts yes, no, ask, confirm [time] or a time, and returns the word and, if there
// is a lifetime, its seconds.
func addKeys(in input) ([]string, error) {
	if len(in.args) == 0 || in.args[0] == "" {
		return nil, errMissing
	}
	word, err := words("yes", "no", "true=yes", "false=no", "ask", "confirm")(input{args: in.args[:1]})
	switch {
	case err == nil && len(in.args) == 1:
		return word, nil
	case err == nil && word[0] == "confirm" && len(in.args) == 2:
		seconds, err := parseSeconds(in.args[1])
		return []string{"confirm", strconv.Itoa(seconds)}, err
	case len(in.args) > 1:
		return nil, errExtra
	}
	seconds, err := parseSeconds(in.args[0])
	if err != nil {
		return nil, fmt.Errorf("%q is neither yes, no, ask, confirm nor a time", in.args[0])
	}
	return []string{"yes", strconv.Itoa(seconds)}, nil
}

// command accepts the rest of the line unchanged, for a shell.
func command(in input) ([]string, error) {
	s := strings.TrimLeft(in.tail, blanks+"=")
	if s == "" {
		return nil, errMissing
	}
	return []string{s}, nil
}

// addendum accepts the rest of the line up to a comment; "none" means the empty text.
func addendum(in input) ([]string, error) {
	s, _, _ := strings.Cut(in.tail, "#")
	s = strings.Trim(s, blanks)
	if strings.ContainsFunc(s, isControl) {
		return nil, errors.New("the text contains a control character: it must fit into the version line")
	}
	if strings.EqualFold(s, "none") {
		s = ""
	}
	return []string{s}, nil
}

// jump accepts the value of ProxyJump: the rest of the line up to a comment.
func jump(in input) ([]string, error) {
	s := strings.TrimLeft(in.tail, blanks+"=")
	s, _, _ = strings.Cut(s, "#")
	s = strings.TrimRight(s, blanks)
	if strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "'") {
		var err error
		if s, err = one(in); err != nil {
			return nil, err
		}
	}
	if s == "" {
		return nil, errMissing
	}
	if strings.EqualFold(s, "none") {
		return []string{"none"}, nil
	}
	if _, err := ParseJump(s); err != nil {
		return nil, err
	}
	return []string{s}, nil
}

// list accepts one or more arguments. "none" must be the only one.
func list(in input) ([]string, error) {
	if len(in.args) == 0 {
		return nil, errMissing
	}
	for _, arg := range in.args {
		if arg == "" {
			return nil, errors.New("an argument is empty: remove it")
		}
		if strings.EqualFold(arg, "none") {
			if len(in.args) > 1 {
				return nil, errors.New("none must be the only argument: remove it or the others")
			}
			return []string{"none"}, nil
		}
	}
	return in.args, nil
}

// maxKnownHostsFiles is OpenSSH's limit for UserKnownHostsFile and GlobalKnownHostsFile.
const maxKnownHostsFiles = 32

// files accepts a list of known_hosts files.
func files(in input) ([]string, error) {
	if len(in.args) > maxKnownHostsFiles {
		return nil, fmt.Errorf("there are more than %d files", maxKnownHostsFiles)
	}
	return list(in)
}

// maxDomains is OpenSSH's limit for CanonicalDomains.
const maxDomains = 32

// domains accepts a list of domain names, and returns them in lower case without a trailing
// dot.
func domains(in input) ([]string, error) {
	args, err := list(in)
	if err != nil {
		return nil, err
	}
	if len(args) > maxDomains {
		return nil, fmt.Errorf("there are more than %d domains", maxDomains)
	}
	for i, arg := range args {
		arg = strings.ToLower(strings.TrimSuffix(arg, "."))
		if !validDomain(arg) {
			return nil, fmt.Errorf("%q is not a domain name", args[i])
		}
		args[i] = arg
	}
	return args, nil
}

// validDomain checks the characters of a domain name. Underscores are allowed, as in the DNS.
func validDomain(s string) bool {
	if s == "" || len(s) > 255 || s[0] == '.' || strings.Contains(s, "..") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// cnames accepts none, *, or pairs "source:target" of pattern lists.
func cnames(in input) ([]string, error) {
	args, err := list(in)
	if err != nil || args[0] == "none" {
		return args, err
	}
	for i, arg := range args {
		if _, target, _ := strings.Cut(arg, ":"); arg != "*" && target == "" {
			return nil, fmt.Errorf("%q is not of the form source-patterns:target-patterns", arg)
		}
		args[i] = strings.ToLower(arg)
	}
	return args, nil
}

// maxAlgorithms limits one list; no real configuration comes near it.
const maxAlgorithms = 256

// algorithms accepts an algorithm list with an optional operator (ssh_config(5), Ciphers).
func algorithms(in input) ([]string, error) {
	arg, err := one(in)
	if err != nil {
		return nil, err
	}
	names := strings.TrimLeft(arg, "+-^")
	if len(arg)-len(names) > 1 || names == "" {
		return nil, fmt.Errorf("%q is not a list of algorithms such as a,b or +a", arg)
	}
	if strings.Count(names, ",") >= maxAlgorithms {
		return nil, fmt.Errorf("there are more than %d algorithms", maxAlgorithms)
	}
	if strings.HasPrefix(names, "!") || strings.Contains(names, ",!") {
		return nil, fmt.Errorf("%q contains a negated name: use -name", arg)
	}
	return []string{arg}, nil
}

// envNames accepts names and patterns of variables.
func envNames(in input) ([]string, error) {
	if len(in.args) == 0 {
		return nil, errMissing
	}
	for _, arg := range in.args {
		if arg == "" || strings.Contains(arg, "=") {
			return nil, errors.New("an argument is not the name of a variable: use SetEnv for NAME=VALUE")
		}
	}
	return in.args, nil
}

// envPairs accepts NAME=VALUE arguments. Its errors never quote them, because they may be
// secrets.
func envPairs(in input) ([]string, error) {
	if len(in.args) == 0 {
		return nil, errMissing
	}
	var pairs []string
	// As in ssh(1), the first value of a variable wins.
	seen := make(map[string]bool)
	for _, arg := range in.args {
		name, _, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, errors.New("an argument is not of the form NAME=VALUE: quote values that contain blanks")
		}
		if !seen[name] {
			seen[name] = true
			pairs = append(pairs, arg)
		}
	}
	return pairs, nil
}

// forward accepts between least and most arguments; forwardings are reported, not opened.
func forward(least, most int) kind {
	return func(in input) ([]string, error) {
		switch {
		case len(in.args) < least || in.args[0] == "":
			return nil, errMissing
		case len(in.args) > most:
			return nil, errExtra
		}
		return []string{strings.Join(in.args, " ")}, nil
	}
}
