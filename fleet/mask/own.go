package mask

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
)

// own are the names and addresses of a host.
type own struct {
	names     []string // in lower case, the longest first
	addresses []netip.Addr
}

func newOwn(names []string) own {
	var o own
	add := func(name string) {
		if !slices.Contains(o.names, name) {
			o.names = append(o.names, name)
		}
	}
	for _, name := range names {
		name = strings.ToLower(strings.Trim(name, "[]. "))
		if a, err := netip.ParseAddr(name); err == nil {
			o.addresses = append(o.addresses, a.WithZone("").Unmap())
			continue
		}
		if len(name) < 2 || strings.Trim(name, "0123456789.") == "" {
			continue // it would replace numbers
		}
		add(name)
		if first, _, ok := strings.Cut(name, "."); ok && len(first) > 1 && strings.ContainsAny(first, "0123456789-") &&
			strings.Trim(first, "0123456789") != "" {
			add(first)
		}
	}
	slices.SortStableFunc(o.names, func(a, b string) int { return len(b) - len(a) })
	return o
}

// anyIn reports whether a name may be in the line. It is quick, for the many lines without digits.
func (o own) anyIn(line []byte) bool {
	for _, name := range o.names {
		for rest := line; len(rest) >= len(name); {
			i := bytes.IndexByte(rest, name[0])
			if up := name[0] &^ 0x20; name[0] >= 'a' && name[0] <= 'z' {
				if j := bytes.IndexByte(rest, up); j >= 0 && (i < 0 || j < i) {
					i = j
				}
			}
			if i < 0 {
				break
			}
			if foldPrefix(rest, i, name) {
				return true
			}
			rest = rest[i+1:]
		}
	}
	return false
}

// at returns the length of the name or the address at i, and its replacement.
func (o own) at(line []byte, i int) (n int, token string) {
	joined := i > 0 && (line[i-1] == '-' || line[i-1] == '.')
	for _, name := range o.names {
		end := i + len(name)
		if !joined && foldPrefix(line, i, name) && ends(line, end) && (end == len(line) || line[end] != '-') {
			return len(name), hostToken
		}
	}
	if len(o.addresses) == 0 || joined || i > 0 && line[i-1] == ':' && line[i] == ':' {
		return 0, ""
	}
	end, most := i, min(len(line), i+64) // no address is longer
	for end < most && (isDigit(line[end]) || line[end] == '.') {
		end++
	}
	if end > i+6 && o.has(line[i:end]) {
		return end - i, addressToken
	}
	if end-1 > i+6 && line[end-1] == '.' && o.has(line[i:end-1]) { // at the end of a sentence
		return end - 1 - i, addressToken
	}
	for end < most && (isHex(line[end]) || line[end] == '.' || line[end] == ':') {
		end++
	}
	if end < i+2 || !ends(line, end) || i > 0 && line[i-1] == ':' {
		return 0, ""
	}
	for ; end > i+1; end-- { // a colon or a period may follow it
		if o.has(line[i:end]) {
			return end - i, addressToken
		}
		if c := line[end-1]; c != ':' && c != '.' {
			break
		}
	}
	return 0, ""
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// has reports whether the text is one of the addresses.
func (o own) has(text []byte) bool {
	if len(text) > 45 {
		return false
	}
	a, err := netip.ParseAddr(string(text))
	return err == nil && slices.Contains(o.addresses, a.Unmap())
}
