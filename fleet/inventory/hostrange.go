package inventory

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// expand returns the names that Ansible makes of a host in a file: web[01:20].example.net, db[a:f], with a step in a
// third field, and a port after it.
func expand(text string) (names []string, port, reason string) {
	text, port, reason = cutPort(text)
	if reason != "" {
		return nil, "", reason
	}
	names = []string{""}
	for rest := text; rest != ""; {
		literal, inner, after := rest, "", ""
		if i := strings.IndexByte(rest, '['); i >= 0 {
			var closed bool
			literal = rest[:i]
			if inner, after, closed = strings.Cut(rest[i+1:], "]"); !closed {
				return nil, "", "it has a [ without a ] after it"
			}
		}
		values := []string{""}
		if inner != "" || literal != rest {
			var ok bool
			if values, ok = parseRange(inner); !ok {
				return nil, "", "its brackets hold no range, such as [01:20] or [a:f]"
			}
		}
		if len(names)*len(values) > maxHosts {
			return nil, "", fmt.Sprintf("it has more than %d hosts", maxHosts)
		}
		longer := make([]string, 0, len(names)*len(values))
		for _, name := range names {
			for _, v := range values {
				longer = append(longer, name+literal+v)
			}
		}
		names, rest = longer, after
	}
	return names, port, ""
}

// cutPort separates a port, and the brackets of an address that has colons itself.
func cutPort(text string) (host, port, reason string) {
	if _, err := netip.ParseAddr(text); err == nil {
		return text, "", ""
	}
	host = text
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		if host, port = text[:i], text[i+1:]; portNumber(port) == 0 {
			return "", "", "its port is no number from 1 to 65535"
		}
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		if _, err := netip.ParseAddr(host[1 : n-1]); err == nil {
			host = host[1 : n-1]
		}
	}
	return host, port, ""
}

// parseRange returns the values of the text in brackets: first:last or first:last:step, of numbers or of single
// letters. Numbers keep the width of the first if it has leading zeros.
func parseRange(inner string) (values []string, ok bool) {
	fields := strings.Split(inner, ":")
	if len(fields) < 2 || len(fields) > 3 || fields[1] == "" {
		return nil, false
	}
	first, last, step := fields[0], fields[1], uint64(1)
	if len(fields) == 3 {
		n, err := strconv.ParseUint(fields[2], 10, 32)
		if step = n; err != nil || n == 0 {
			return nil, false
		}
	}
	if first == "" {
		first = "0"
	}
	if isLetter(first) && isLetter(last) {
		for c := int(first[0]); c <= int(last[0]); c += int(min(step, 256)) {
			values = append(values, string(rune(c)))
		}
		return values, len(values) > 0
	}
	from, err := strconv.ParseUint(first, 10, 62)
	to, err2 := strconv.ParseUint(last, 10, 62)
	if err != nil || err2 != nil || from > to || (to-from)/step >= maxHosts || len(first) > 18 {
		return nil, false
	}
	width := 0
	if first[0] == '0' && len(first) > 1 {
		if width = len(first); len(last) != width {
			return nil, false
		}
	}
	for n := from; n <= to; n += step {
		values = append(values, fmt.Sprintf("%0*d", width, n))
	}
	return values, true
}

// isLetter reports whether a text is one letter from a to z.
func isLetter(text string) bool {
	return len(text) == 1 && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z'
}
