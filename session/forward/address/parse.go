package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxText bounds the text of an address: a name of 253 characters (RFC 1035 section 2.3.4), brackets and a port.
const maxText = 270

// An Address is a host and a port in their one form. Host is a name in lower case without a dot at its end, or an
// address as netip.Addr writes it, an IPv4 address always as such.
type Address struct {
	Host string
	Port int
}

// String returns host:port, with an IPv6 address in brackets.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Parse reads NAME:PORT, IPV4:PORT or [IPV6]:PORT. Its errors continue a sentence that begins with the text.
func Parse(text string) (Address, error) {
	host, port, bracketed, err := split(text)
	if err != nil {
		return Address{}, err
	}
	n, err := parsePort(port)
	if err != nil {
		return Address{}, err
	}
	if bracketed {
		ip, err := parseIPv6(host)
		if err != nil {
			return Address{}, err
		}
		return Address{ip.String(), n}, nil
	}
	host = plainName(host)
	if ip, err := netip.ParseAddr(host); err == nil { // there is no colon, so it is IPv4
		return Address{ip.String(), n}, nil
	}
	if err := checkName(host, ""); err != nil {
		return Address{}, err
	}
	return Address{host, n}, nil
}

// split cuts a text at the colon before the port. The host in brackets is returned without them.
func split(text string) (host, port string, bracketed bool, err error) {
	if len(text) > maxText {
		return "", "", false, fmt.Errorf("is longer than %d bytes", maxText)
	}
	for _, c := range []byte(text) {
		switch {
		case c <= ' ', c == 0x7f:
			return "", "", false, errors.New("holds a blank or a control character; give HOST:PORT alone")
		case c > 0x7f:
			return "", "", false, errors.New("holds a character beyond ASCII; give the name as DNS has it (xn--...)")
		}
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		host, port, ok = strings.Cut(rest, "]:")
		if !ok {
			return "", "", false, errors.New("has no port after the bracket; give [ADDRESS]:PORT")
		}
		return host, port, true, nil
	}
	host, port, ok := strings.Cut(text, ":")
	switch {
	case !ok:
		return "", "", false, errors.New("has no port; give HOST:PORT")
	case strings.Contains(port, ":"):
		return "", "", false, errors.New("has more than one colon; give an IPv6 address in brackets, as [ADDRESS]:PORT")
	case host == "":
		return "", "", false, errors.New("has no host; give HOST:PORT, for the far side itself localhost:PORT")
	}
	return host, port, false, nil
}

// parsePort reads a port as strconv.Itoa writes it.
func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, errors.New("has no port from 1 to 65535, in digits without a zero before them")
	}
	return int(n), nil
}

// parseIPv6 reads the text in the brackets. An IPv4 address that is mapped into IPv6 (RFC 4291 section 2.5.5.2) is that
// IPv4 address.
func parseIPv6(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, errors.New("has no IPv6 address in the brackets")
	case ip.Zone() != "":
		return netip.Addr{}, errors.New("has a zone, which names an interface of one machine alone; leave it out")
	case ip.Is4():
		return netip.Addr{}, errors.New("has an IPv4 address in brackets; leave them out")
	}
	return ip.Unmap(), nil
}

// plainName returns a name in lower case, without the dot at its end that says that it is complete.
func plainName(text string) string {
	return strings.TrimSuffix(strings.ToLower(text), ".")
}

// checkName checks a name in lower case. more are the characters that it may hold besides those of host names.
func checkName(name, more string) error {
	if len(name) > 253 {
		return errors.New("has a name of more than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		switch {
		case label == "":
			return errors.New("has an empty part in its name: two dots, or one at its beginning")
		case len(label) > 63:
			return errors.New("has a part of more than 63 characters in its name")
		case label[0] == '-' || label[len(label)-1] == '-':
			return errors.New("has a part with a dash at its beginning or end in its name")
		}
		if i := strings.IndexFunc(label, func(c rune) bool { return !nameCharacter(c) && !strings.ContainsRune(more, c) }); i >= 0 {
			return fmt.Errorf("has %q in its name; a name has letters, digits, dashes, underscores and dots", label[i])
		}
	}
	if numeric(labels[len(labels)-1]) {
		return errors.New("is no address of four decimal numbers, and a name whose last part is a number may be read as an " +
			"address; write an address as 10.0.0.1")
	}
	return nil
}

func nameCharacter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// numeric reports whether inet_aton(3) may take a last part for a number: in decimal, octal or hexadecimal.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	return strings.IndexFunc(digits, func(c rune) bool {
		return !(c >= '0' && c <= '9' || hex && c >= 'a' && c <= 'f')
	}) < 0
}
