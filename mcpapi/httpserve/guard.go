package httpserve

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// guard refuses requests that a foreign web page may have caused: those with another
// page's Origin, and those for another host's name, which the page's DNS server may have
// pointed to this machine (DNS rebinding). MCP demands the check of Origin for streamable
// HTTP.
func (h *Handler) guard(r *http.Request) *refusal {
	if !h.ours(r, r.Host) {
		return refuse(
			http.StatusForbidden,
			"wrong Host: this server does not have that name; use its address, or ask the operator to add the name to "+
				"server.http.allowed_hosts",
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
		"wrong Origin: web pages of this origin may not call this server; ask the operator to add it to "+
			"server.http.allowed_origins",
	)
}

// ourPage reports whether the Origin is a page of this server.
func (h *Handler) ourPage(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && h.ours(r, u.Host)
}

// ours reports whether hostport names this server: localhost, a configured name, a
// loopback address, or the address on which the request arrived. The port does not
// matter.
func (h *Handler) ours(r *http.Request, hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport // no port
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

// mostUnused is the largest body, in bytes, of a request that needs no body.
const mostUnused = 4 << 10

// drain reads the body of a GET, which has no meaning (RFC 9110 section 9.3.1). The server of net/http does not notice
// that a client is gone while a part of the body is unread: a stream or a waiting request would go on without a client.
func drain(w *answer, r *http.Request) *refusal {
	if r.Method != http.MethodGet || r.ContentLength == 0 {
		return nil
	}
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = w.control.SetReadDeadline(time.Time{}) }()
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, mostUnused+1))
	if err != nil || n > mostUnused {
		return refuse(http.StatusBadRequest, "a GET needs no body: send it without one")
	}
	return nil
}
