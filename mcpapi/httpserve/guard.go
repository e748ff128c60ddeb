package httpserve

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard refuses requests that a web page has sent on the sly: one with another page's Origin, and one for another host's
// name, which a page's own name server has made to mean this machine (DNS rebinding).
func (h *Handler) guard(r *http.Request) *refusal {
	if !h.ours(r, r.Host) {
		return refuse(
			http.StatusForbidden,
			"this server is not called by this name (Host); use its address, or have the operator add the name to server.http.allowed_hosts",
		)
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if len(origins) == 1 && (slices.Contains(h.o.Origins, origins[0]) || h.ourPage(r, origins[0])) {
		return nil
	}
	return refuse(
		http.StatusForbidden,
		"web pages of this origin may not call this server; have the operator add it to server.http.allowed_origins",
	)
}

// ourPage reports whether an Origin is a page of this server.
func (h *Handler) ourPage(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && h.ours(r, u.Host)
}

// ours reports whether hostport, whose port does not matter, names this server.
func (h *Handler) ours(r *http.Request, hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport // without a port
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(h.o.Hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}
