package destination

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Destination is a host and the words beside its name; empty members were not given.
type Destination struct {
	Protocol string // "ssh" or "telnet", of a URL
	User     string
	Host     string // a name or an address, without brackets
	Port     int
}

// ErrPassword is the error for a text that holds a password.
var ErrPassword = errors.New("it holds a password")

// Parse reads the text. A colon separates a port only from a name, an IPv4 address or brackets: ::1 is an address.
func Parse(text string) (Destination, error) {
	var d Destination
	rest := strings.TrimSpace(text)
	scheme, after, isURL := strings.Cut(rest, "://")
	if isURL {
		rest = after
	}
	// Before all else, so that no other error shows it.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && strings.Contains(rest[:at], ":") {
		return Destination{}, ErrPassword
	}
	if isURL {
		d.Protocol = strings.ToLower(scheme)
		if d.Protocol != "ssh" && d.Protocol != "telnet" {
			return Destination{}, fmt.Errorf("its scheme is %q, not ssh or telnet", scheme)
		}
		var path string
		if rest, path, _ = strings.Cut(rest, "/"); path != "" || strings.ContainsAny(rest, "?#") {
			return Destination{}, errors.New("it is a URL with more than a user, a host and a port")
		}
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if d.User, rest = rest[:at], rest[at+1:]; d.User == "" {
			return Destination{}, errors.New("nothing is before its @")
		}
	}
	host, port, hasPort, err := splitPort(rest)
	if err != nil {
		return Destination{}, err
	}
	if host == "" {
		return Destination{}, errors.New("it names no host")
	}
	d.Host = host
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Destination{}, fmt.Errorf("its port is %q, not a number from 1 to 65535", port)
		}
		d.Port = int(n)
	}
	return d, nil
}

// splitPort splits a host from its port.
func splitPort(text string) (host, port string, hasPort bool, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		address, after, closed := strings.Cut(inner, "]")
		// Brackets are for addresses with colons alone, and a colon follows them or nothing.
		if ip, err := netip.ParseAddr(address); !closed || err != nil || !ip.Is6() || after != "" && after[0] != ':' {
			return "", "", false, errors.New("its brackets hold no IPv6 address, or more than a port follows them")
		}
		return address, strings.TrimPrefix(after, ":"), after != "", nil
	}
	host, port, hasPort = strings.Cut(text, ":")
	if strings.Contains(port, ":") {
		return text, "", false, nil
	}
	return host, port, hasPort, nil
}
