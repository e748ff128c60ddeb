package address

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Pattern allows addresses: HOST:PORT, where HOST is a name, an IPv4 address or an IPv6 address in brackets, and
// PORT a number. In each of them * matches any text, also an empty one, and ? matches one character. Neither matches a
// dot or a colon: a pattern has as many parts as a matching address. An IPv6 pattern with * or ? has all its eight
// parts.
type Pattern struct {
	text   string
	family family
	parts  []string // of the host: names have labels, IPv4 addresses four numbers, IPv6 addresses eight
	port   string
}

// A family is the kind of a host. Only hosts of the same family match.
type family int

const (
	named family = iota
	ipv4
	ipv6
)

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// ParsePattern reads a pattern. Its errors continue a sentence that begins with the text.
func ParsePattern(text string) (Pattern, error) {
	if strings.Contains(text, "/") {
		return Pattern{}, errors.New("has a slash: neither networks, as 10.0.0.0/24, nor URLs are entries; write * for any " +
			"number in a part of an address, as 10.0.0.*:443")
	}
	host, port, bracketed, err := split(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{text: text, port: port}
	if err := checkPort(port); err != nil {
		return Pattern{}, err
	}
	if bracketed {
		p.family, p.parts, err = ipv6Pattern(host)
		return p, err
	}
	host = plainName(host)
	p.parts = strings.Split(host, ".")
	last := p.parts[len(p.parts)-1]
	numbers := strings.Trim(host, "0123456789.*?") == ""
	switch {
	case numbers && len(p.parts) == 4:
		p.family = ipv4
		return p, checkNumbers(p.parts)
	case numbers && strings.ContainsAny(host, "0123456789"),
		strings.Trim(last, "0123456789*?") == "" && strings.Trim(last, "*?") != "":
		return Pattern{}, errors.New("ends like an address and has not its four parts; write them all, as 10.0.0.*")
	}
	return p, checkName(host, "*?")
}

// checkPort checks the port of a pattern.
func checkPort(text string) error {
	if !strings.ContainsAny(text, "*?") {
		_, err := parsePort(text)
		return err
	}
	if strings.Trim(text, "0123456789*?") != "" || text[0] == '0' {
		return errors.New("has a port that is no number, nor one with * or ?")
	}
	return nil
}

// checkNumbers checks the parts of an IPv4 pattern that have neither * nor ?.
func checkNumbers(parts []string) error {
	for _, part := range parts {
		if strings.ContainsAny(part, "*?") {
			continue
		}
		if n, err := strconv.ParseUint(part, 10, 8); err != nil || strconv.FormatUint(n, 10) != part {
			return fmt.Errorf("has %q in its address, where a number from 0 to 255 belongs", part)
		}
	}
	return nil
}

// ipv6Pattern reads the text in the brackets of a pattern.
func ipv6Pattern(text string) (family, []string, error) {
	if !strings.ContainsAny(text, "*?") {
		ip, err := parseIPv6(text)
		if err != nil {
			return 0, nil, err
		}
		f, parts := partsOf(ip)
		return f, parts, nil
	}
	parts := strings.Split(strings.ToLower(text), ":")
	if len(parts) != 8 {
		return 0, nil, errors.New("has * or ? in an IPv6 address without its eight parts; write them all, zeros too")
	}
	for _, part := range parts {
		if part == "" || len(part) > 4 || strings.Trim(part, "0123456789abcdef*?") != "" || len(part) > 1 && part[0] == '0' {
			return 0, nil, fmt.Errorf("has %q in its IPv6 address, where up to four hexadecimal digits belong, without "+
				"a zero before them", part)
		}
	}
	if slices.Equal(parts[:6], []string{"0", "0", "0", "0", "0", "ffff"}) {
		return 0, nil, errors.New("is for IPv4 addresses in IPv6, which are IPv4 addresses here; write it as 10.0.0.*")
	}
	return ipv6, parts, nil
}

// partsOf returns the parts of an address as patterns have them.
func partsOf(ip netip.Addr) (family, []string) {
	if ip.Is4() {
		return ipv4, strings.Split(ip.String(), ".")
	}
	b := ip.As16()
	parts := make([]string, 8)
	for i := range parts {
		parts[i] = strconv.FormatUint(uint64(b[2*i])<<8|uint64(b[2*i+1]), 16)
	}
	return ipv6, parts
}

// Matches reports whether the pattern allows an address that Parse has returned.
func (p Pattern) Matches(a Address) bool {
	f, parts := named, []string(nil)
	if ip, err := netip.ParseAddr(a.Host); err == nil {
		f, parts = partsOf(ip)
	} else {
		parts = strings.Split(a.Host, ".")
	}
	if f != p.family || len(parts) != len(p.parts) || !glob(p.port, strconv.Itoa(a.Port)) {
		return false
	}
	for i, part := range p.parts {
		if !glob(part, parts[i]) {
			return false
		}
	}
	return true
}

// glob reports whether a pattern with * and ? matches a text. Its time is at most the product of their lengths.
func glob(pattern, text string) bool {
	star, from := -1, 0 // the last *, and the text after its match so far
	i := 0
	for j := 0; j < len(text); {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == text[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
