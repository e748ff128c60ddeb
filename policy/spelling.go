package policy

import (
	"net/netip"
	"strconv"
	"strings"
)

// allowedForm returns the form of a name or address in which rules that allow
// are compared: in lower case, without a final dot and brackets; an address as
// netip prints it.
func allowedForm(name string) string {
	name = strings.ToLower(strings.TrimRight(name, "."))
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().String()
	}
	return name
}

// isAddress reports whether a form is an address.
func isAddress(form string) bool {
	_, err := netip.ParseAddr(form)
	return err == nil
}

// spellings returns the forms in which a name is compared with rules that deny.
// For each of them some resolver returns the same host.
func spellings(name string) []string {
	forms := []string{allowedForm(name)}
	if a, err := netip.ParseAddr(forms[0]); err == nil {
		return append(forms, addressForms(a)...)
	}
	if a, ok := oldAddress(forms[0]); ok {
		return append(forms, addressForms(a)...)
	}
	if forms[0] == "localhost" || strings.HasSuffix(forms[0], ".localhost") { // RFC 6761 section 6.3
		forms = append(forms, "localhost", "127.0.0.1", "::1")
	}
	return forms
}

// nat64 is the prefix for translated IPv4 addresses (RFC 6052 section 2.1).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// addressForms returns the forms of an address: itself, the IPv4 address inside
// it, and all others if it is one of this machine.
func addressForms(a netip.Addr) []string {
	a = a.WithZone("").Unmap()
	forms := []string{a.String()}
	if raw := a.As16(); nat64.Contains(a) {
		forms = append(forms, netip.AddrFrom4([4]byte(raw[12:])).String())
	}
	if a.IsLoopback() || a.IsUnspecified() { // a connection to 0.0.0.0 or :: reaches this machine
		forms = append(forms, "localhost")
	}
	if a.IsUnspecified() {
		forms = append(forms, "127.0.0.1", "::1")
	}
	return forms
}

// oldAddress parses the forms of IPv4 addresses that inet_aton(3) and most resolvers accept: one to four numbers,
// decimal, octal or hexadecimal. The last one fills the remaining bytes.
func oldAddress(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		if part == "" || strings.ContainsAny(part, "_+-") || strings.HasPrefix(part, "0b") ||
			strings.HasPrefix(part, "0o") {
			return netip.Addr{}, false
		}
		n, err := strconv.ParseUint(part, 0, 32)
		left := 8
		if i == len(parts)-1 {
			left = 32 - 8*i
		}
		if err != nil || n >= 1<<left {
			return netip.Addr{}, false
		}
		sum = sum<<left | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}
