package hostkeys

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const defaultPort = 22 // RFC 4253 section 4

// unsafeInName has the characters with a meaning in a line. A name with one of them, or with
// a control character or a blank, is never written.
const unsafeInName = "@?*#[]|'\"\\!, "

// hostNames are the names under which one host is looked up, in lower case.
type hostNames struct {
	name string // an alias, a host, or [host]:port
	bare string // the host without its port, used if name has no line; empty if equal to name
	ip   string // the address, or [address]:port, if CheckHostIP applies
	cert string // the principal a certificate must name: never with a port
}

// newHostNames returns the names of a host in the form of the files (sshd(8) "SSH_KNOWN_HOSTS
// FILE FORMAT").
func newHostNames(host string, port int, ip net.IP, o Options) hostNames {
	host = canonical(host)
	n := hostNames{name: withPort(host, port), cert: host}
	if n.name != host {
		n.bare = host
	}
	if o.Alias != "" {
		n.name, n.bare, n.cert = o.Alias, "", o.Alias
	}
	if o.CheckIP && ip != nil && !ip.IsLoopback() && ip.String() != host {
		n.ip = withPort(ip.String(), port)
	}
	return n
}

// canonical returns a host name in lower case, or an address in its canonical form without
// brackets.
func canonical(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.ToLower(host)
}

// withPort returns host, or [host]:port if the port is not the default one.
func withPort(host string, port int) string {
	if port == 0 || port == defaultPort {
		return host
	}
	return "[" + host + "]:" + strconv.Itoa(port)
}

// recordable reports whether a name, a host or [host]:port, is safe to write into a line.
func recordable(name string) bool {
	if host, ok := strings.CutPrefix(name, "["); ok {
		if i := strings.LastIndex(host, "]:"); i >= 0 {
			name = host[:i]
		}
	}
	return name != "" && !strings.ContainsAny(name, unsafeInName) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// missing returns the names to record for a key: the address and, if name is set, the name.
// It returns no names for a key that contradicts the record.
func (n *hostNames) missing(j judgement, name bool) []string {
	if j.status == changed || j.ip == changed {
		return nil
	}
	var names []string
	if name && j.status == notRecorded {
		names = append(names, n.name)
	}
	if n.ip != "" && j.ip == notRecorded {
		names = append(names, n.ip)
	}
	return names
}
