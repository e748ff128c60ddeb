package httpserve

import (
	"crypto/tls"
	"net"
	"net/http"

	"ptyctl/mcpapi/identity"
)

// PagePath is the path of Options.Page.
const PagePath = "/watch/"

// A Page is a site for people, beside MCP. Its requests pass the checks of the port, and stricter ones: a token of a
// person (Token.Person) begins a visit, which has a token of its own; only the page itself may send requests, and none
// crosses the network in clear text.
type Page interface {
	// ServeHTTP gets the requests that have passed. The context of one with a token carries the identity.Caller of
	// its person.
	http.Handler
	// Access says which token a request must carry.
	Access(r *http.Request) Access
	// Visitor returns the name of the token that began a visit, by the token of the visit. "": there is no such visit.
	Visitor(token string) string
	// Withdraw ends the visits that a token has begun. It must not wait for their requests.
	Withdraw(name string)
}

// Access is the token that a request of a Page must carry.
type Access int

// The tokens of requests.
const (
	AccessVisit  Access = iota // the token of a visit
	AccessPerson               // the token of a person, which begins a visit
	AccessPublic               // no token, for a file that is the same in every ptyctl, such as a script
)

// page serves a request of Options.Page or returns the reason why not.
func (h *Handler) page(w *answer, r *http.Request) *refusal {
	if err := h.guard(r); err != nil {
		return err
	}
	if err := onlyItself(r); err != nil {
		return err
	}
	access := h.o.Page.Access(r)
	if access == AccessPublic {
		w.Header().Set("Connection", "close") // no token was needed, so the connection must not be kept
		h.o.Page.ServeHTTP(w, r)
		return nil
	}
	k, err := h.person(r, access)
	if err != nil {
		if err.status == http.StatusUnauthorized {
			h.wrongToken(r, err.message)
		}
		return err
	}
	return h.admit(w, r, k, h.visit)
}

// onlyItself refuses requests that cross the network in clear text, and those that a page of another origin may have
// caused; guard lets pages pass that the operator allows to use MCP, and pages of other ports.
func onlyItself(r *http.Request) *refusal {
	secure := isTLS(r)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !secure && (local == nil || !Loopback(local)) {
		return refuse(http.StatusForbidden, "this page is served over TLS alone: set server.http.tls_cert_file, or "+
			"tls_self_signed, and open it as https")
	}
	// A proxy on this machine may have the TLS.
	origins := r.Header.Values("Origin")
	own := len(origins) == 1 && (origins[0] == "https://"+r.Host || !secure && origins[0] == "http://"+r.Host)
	if len(origins) > 0 && !own || len(origins) == 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(http.StatusForbidden, "wrong Origin: only the watch page itself may call this")
	}
	// To open the page is no harm, wherever the link was; a browser says so about all else.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" &&
		r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return refuse(http.StatusForbidden, "wrong site: only the watch page itself may call this")
	}
	return nil
}

// isTLS reports whether a request has come over TLS. net/http does not know, since the connections wrap it.
func isTLS(r *http.Request) bool {
	if c := connectionOf(r); c != nil {
		_, ok := c.Conn.(*tls.Conn)
		return ok
	}
	return r.TLS != nil
}

// person returns the key of the person who sends a request.
func (h *Handler) person(r *http.Request, access Access) (*key, *refusal) {
	keys := h.tokens.Load()
	value, bad := bearer(r)
	if bad != nil {
		return nil, bad
	}
	if access == AccessVisit {
		// If the token of that name has another value now, its visits have ended: see SetTokens.
		if name := h.o.Page.Visitor(value); name != "" {
			if k := keys.named(name); k != nil && k.Person {
				return k, nil
			}
		}
		return nil, unknownToken("this visit has ended; log in again")
	}
	if keys.open { // every request has a key then
		return nil, unknownToken("this server has no tokens of people; ask its operator for one")
	}
	k, bad := keys.of(r)
	if bad == nil && !k.Person {
		h.o.Logger.Warn("a token of an agent was refused at the watch page", "token", k.Name, "from", r.RemoteAddr)
		return nil, refuse(http.StatusForbidden, "the token "+k.Name+" is an agent's; the page needs one of a person, with the "+
			"role watch or operate")
	}
	return k, bad
}

// visit serves a request of a person.
func (h *Handler) visit(w *answer, r *http.Request, k *key) *refusal {
	c := identity.Caller{
		Transport: identity.PageTransport, Token: k.Name, ReadOnly: h.o.ReadOnly || k.ReadOnly, Operator: true,
	}
	room := h.calls
	if r.Method == http.MethodGet { // most of these are streams
		room = h.streams
	}
	return h.stream(w, r, c, room, h.o.Page)
}
