package config

import (
	"cmp"
	"fmt"
)

// compare checks keys that depend on each other. It skips keys that were refused or may
// be missing, because a second error about them would mislead.
func (l *loader) compare(c *Config) {
	const policy, floor = "ssh.host_key_policy", "ssh.host_key_floor"
	if c.SSH.HostKeyPolicy.WeakerThan(c.SSH.HostKeyFloor) {
		l.clash(policy, floor, fmt.Sprintf("%s %q is weaker than %s %q; choose a stronger policy, or lower the floor",
			policy, c.SSH.HostKeyPolicy, floor, c.SSH.HostKeyFloor))
	}
	atMost(l, "session.connect_timeout_ms", c.Session.ConnectTimeout.Milliseconds(),
		"limits.max_connect_timeout_ms", c.Limits.MaxConnectTimeout.Milliseconds())
	atMost(l, "session.read_timeout_ms", c.Session.ReadTimeout.Milliseconds(),
		"limits.max_wait_ms", c.Limits.MaxWait.Milliseconds())
	atMost(l, "locks.default_ttl_ms", c.Locks.DefaultTTL.Milliseconds(),
		"locks.max_ttl_ms", c.Locks.MaxTTL.Milliseconds())
	l.compareCluster(&c.Cluster)
	if c.Server.Transport != TransportStdio {
		l.compareHTTP(&c.Server.HTTP)
	}
}

// compareHTTP checks keys that matter only if HTTP is served.
func (l *loader) compareHTTP(h *HTTP) {
	const (
		only, tokens    = "server.http.auth_token", "server.http.tokens"
		file, isolate   = "server.http.tokens_file", "server.http.isolate"
		cert, key, self = "server.http.tls_cert_file", "server.http.tls_key_file", "server.http.tls_self_signed"
	)
	// A short token can be guessed by trying. It is refused only here, because a file of an
	// earlier version may hold one that is not used.
	if token := h.AuthToken.Reveal(); token != "" && len(token) < minToken {
		l.clash(
			only,
			only,
			fmt.Sprintf(
				"%s has fewer than %d characters; use a random value (openssl rand -hex 32 prints one)",
				only,
				minToken,
			),
		)
	}
	l.compareOAuth(&h.OAuth)
	// A refused token counts as present: its own error already says what to correct.
	if h.Isolate && h.AuthToken.Reveal() == "" && h.Tokens.Reveal() == "" && h.TokensFile == "" && h.OAuth.Issuer == "" &&
		!l.doubt[only] && !l.doubt[tokens] && !l.doubt["server.http.oauth.issuer"] {
		l.clash(isolate, file, isolate+" keeps tokens apart, but there are none; set "+file+", or leave isolate out")
	}
	switch {
	case (h.TLSCertFile == "") != (h.TLSKeyFile == ""):
		l.clash(cert, key, "TLS needs both "+cert+" and "+key+"; set both, or neither")
	case h.TLSCertFile != "" && h.TLSSelfSigned:
		l.clash(self, cert, self+" and "+cert+" exclude each other; leave one of them out")
	}
}

// atMost reports a clash if value exceeds max. Both are in the unit of their keys.
func atMost(l *loader, key string, value int64, bound string, max int64) {
	if value > max {
		l.clash(
			key,
			bound,
			fmt.Sprintf("%s %d is more than %s %d; lower the first or raise the second", key, value, bound, max),
		)
	}
}

// clash reports two keys that contradict each other, at the position of the first one
// that was set. At least one was set, since the defaults agree.
func (l *loader) clash(key, other, message string) {
	if l.gaps || l.doubt[key] || l.doubt[other] {
		return
	}
	l.refuse(key, cmp.Or(l.where[key], l.where[other]), message)
}
