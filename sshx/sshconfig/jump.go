package sshconfig

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Jump is one jump host before the destination. Evaluate it like any other host:
// Options{Host: j.Host, User: j.User, Port: j.Port, Overrides: j.Overrides, ...} with the
// same files as the destination, and without the destination's overrides.
//
// In a list of jumps each is reached through the ones before it, and the proxy settings of
// its own configuration are ignored. Only the first is reached as its own configuration says,
// possibly through further jumps. The caller must limit their number, because a configuration
// can send two hosts through each other.
type Jump struct {
	User string // empty: as configured for Host
	Host string // name to look up in the configuration, or an address
	Port int    // 0: as configured for Host

	// Overrides is set only for a jump written as "ProxyCommand ssh -W": the options of that
	// command, with the origin of its line.
	Overrides []Override
}

// String returns j in the spelling of ProxyJump.
func (j Jump) String() string {
	s := j.Host
	if strings.Contains(s, ":") {
		s = "[" + s + "]"
	}
	if j.Port != 0 {
		s += ":" + strconv.Itoa(j.Port)
	}
	if j.User != "" {
		s = j.User + "@" + s
	}
	return s
}

// ParseJump parses the value of ProxyJump and of -J: destinations of the form
// [user@]host[:port] or ssh://[user@]host[:port], separated by commas, in the order of
// connection. An IPv6 address with a port must be in brackets. For "none" it returns no jump.
func ParseJump(spec string) ([]Jump, error) {
	if strings.EqualFold(spec, "none") {
		return nil, nil
	}
	var jumps []Jump
	for s := range strings.SplitSeq(spec, ",") {
		j, err := parseDestination(s)
		if err != nil {
			return nil, fmt.Errorf("jump host %q: %w", s, err)
		}
		jumps = append(jumps, j)
	}
	return jumps, nil
}

// errDestination is the error of every malformed destination.
var errDestination = errors.New("write [user@]host[:port], with an IPv6 address in brackets")

// parseDestination parses one destination.
func parseDestination(s string) (Jump, error) {
	rest, isURI := strings.CutPrefix(s, "ssh://")
	var j Jump
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		j.User, rest = rest[:i], rest[i+1:]
		if isURI {
			// Connection parameters (;fingerprint=...) are dropped, as in ssh(1).
			name, _, _ := strings.Cut(j.User, ";")
			if strings.Contains(name, "@") { // a URI must encode it
				return Jump{}, errDestination
			}
			decoded, err := url.PathUnescape(name)
			if err != nil {
				return Jump{}, errDestination
			}
			j.User = decoded
		}
		if j.User == "" {
			return Jump{}, errDestination
		}
	}
	if isURI {
		rest = strings.TrimSuffix(rest, "/")
	}
	var portText string
	if inside, ok := strings.CutPrefix(rest, "["); ok {
		host, after, closed := strings.Cut(inside, "]")
		if !closed || after != "" && after[0] != ':' {
			return Jump{}, errDestination
		}
		j.Host, portText = host, strings.TrimPrefix(after, ":")
	} else if net.ParseIP(rest) != nil {
		j.Host = rest // a bare IPv6 address has no port
	} else {
		j.Host, portText, _ = strings.Cut(rest, ":")
	}
	if j.Host == "" || strings.ContainsAny(j.Host, blanks+"/") {
		return Jump{}, errDestination
	}
	if portText != "" {
		p, err := parsePort(portText)
		if err != nil {
			return Jump{}, err
		}
		j.Port = p
	}
	return j, nil
}

// validate returns an error if a shell or an option parser could misread j.
func (j Jump) validate() error {
	if !validHost(j.Host) {
		return fmt.Errorf("jump host %q contains characters that are not allowed in a host name", j.Host)
	}
	if j.User != "" && !validUser(j.User) {
		return fmt.Errorf("jump user %q contains characters that are not allowed in a user name", j.User)
	}
	return nil
}

// jumpFromCommand recognises "ssh -W %h:%p [options] bastion", the predecessor of ProxyJump,
// with an optional "exec" in front and "2>/dev/null" at the end. The options of that ssh
// become those of the jump. ok is false for any other command.
func jumpFromCommand(cmd string, origin Origin) (jumps []Jump, ok bool) {
	args, err := splitArgs(cmd)
	if err != nil {
		return nil, false
	}
	if len(args) > 0 && args[0] == "exec" {
		args = args[1:]
	}
	if n := len(args); n > 0 && args[n-1] == "2>/dev/null" {
		args = args[:n-1]
	} else if n > 1 && args[n-2] == "2>" && args[n-1] == "/dev/null" {
		args = args[:n-2]
	}
	if len(args) == 0 || strings.TrimSuffix(path.Base(strings.ReplaceAll(args[0], `\`, "/")), ".exe") != "ssh" {
		return nil, false
	}
	for _, arg := range args {
		// A command with shell syntax is not a plain ssh command.
		if strings.ContainsAny(arg, "|&;<>`$(){}\n") {
			return nil, false
		}
	}
	var forwarded, destination string
	var p argParser
	p.flags = "NnkxY" // these flags have no effect on a jump
	p.value = func(letter byte, value string) bool {
		if letter == 'W' {
			forwarded = value
		}
		return letter == 'W' || letter == 'e'
	}
	p.operand = func(arg string) bool {
		first := destination == ""
		destination = arg
		return first
	}
	if err := p.parse(args[1:]); err != nil {
		return nil, false
	}
	if forwarded != "%h:%p" && forwarded != "[%h]:%p" || destination == "" {
		return nil, false
	}
	last, err := parseDestination(destination)
	if err != nil {
		return nil, false
	}
	parsed := p.result()
	if parsed.ConfigFile != "" {
		return nil, false // the jump would need another configuration
	}
	for _, o := range parsed.Overrides {
		// Jumps before the bastion become elements of the list.
		if strings.EqualFold(o.Keyword, "ProxyJump") {
			before, err := ParseJump(o.Value)
			if err != nil {
				return nil, false
			}
			jumps = append(jumps, before...)
			continue
		}
		if n, err := strconv.Atoi(o.Value); err == nil && strings.EqualFold(o.Keyword, "Port") && last.Port == 0 {
			last.Port = n
			continue
		}
		o.Origin = origin
		last.Overrides = append(last.Overrides, o)
	}
	return append(jumps, last), true
}
