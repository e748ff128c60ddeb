package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"ptyctl/config"
	"ptyctl/internal/callers"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/oauth"
	"ptyctl/mcpapi/tools"
)

// An httpPort is an open port and the handler of its requests. A nil one means that there is no port.
type httpPort struct {
	handler  *httpserve.Handler
	listener net.Listener
	page     *peoplePage     // nil: no watch page
	issuer   *oauth.Verifier // nil: no access tokens are accepted

	digest  func(tokens []httpserve.Token) string // of who may call; nil: this machine is alone
	callers atomic.Pointer[string]                // the digest of the tokens in force; nil: no digest
}

// listenHTTP opens the port that the configuration names, if it names one, and says on stderr where it is.
func (a *App) listenHTTP(metrics http.Handler) (*httpPort, error) {
	cfg, log := a.cfg, a.log
	if cfg.Server.Transport == config.TransportStdio {
		return nil, nil
	}
	o := cfg.Server.HTTP
	tokens, err := httpTokens(o)
	if err != nil {
		return nil, err
	}
	cert, err := certificate(o)
	if err = errors.Join(err, somebodyAnswers(cfg, tokens), inClearText(o, cert != nil)); err != nil {
		return nil, err
	}
	issuer, err := a.acceptOAuth()
	if err != nil {
		return nil, err
	}
	ln, err := httpserve.Listen(o.Listen, len(tokens) > 0 || issuer != nil)
	if err != nil {
		return nil, err
	}
	warnExpired(log, tokens)
	scheme, addr := "http", ln.Addr()
	if cert != nil {
		scheme, ln = "https", tls.NewListener(
			ln,
			&tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12},
		)
		fmt.Fprintf(os.Stderr, "ptyctl: certificate SHA-256 %s\n", httpserve.Fingerprint(cert))
	} else if !httpserve.Loopback(addr) {
		log.Warn(
			"tokens and terminals cross the network in clear text; set server.http.tls_cert_file, or tls_self_signed",
			"listen",
			addr.String(),
		)
	}
	fmt.Fprintf(os.Stderr, "ptyctl: serving MCP at %s://%s%s\n", scheme, addr, httpserve.Path)
	options := httpserve.Options{
		Tokens: tokens, Isolate: o.Isolate, Hosts: o.AllowedHosts, Origins: o.AllowedOrigins,
		RateLimit: o.RateLimit, Unlimited: tools.Closes, IdleTTL: o.SessionTTL,
		MaxBody: int64(cfg.Limits.MaxMessageBytes), MaxCalls: cfg.Limits.MaxInFlight, Room: a.messages,
		Metrics: metrics, OAuth: issuer, Logger: log, Ready: a.cluster.ready(),
	}
	port := &httpPort{listener: ln, issuer: issuer}
	if a.cluster != nil {
		port.digest = func(tokens []httpserve.Token) string { return callers.Digest(cfg.Cluster.Group, callers.Of(o, tokens)) }
		port.admits(tokens)
	}
	if o.Watch {
		fmt.Fprintf(os.Stderr, "ptyctl: serving the watch page at %s://%s%s\n", scheme, addr, httpserve.PagePath)
		port.page = a.newPage()
		options.Page = port.page.portal
	}
	port.handler = httpserve.New(a.server, options)
	return port, nil
}

// admits takes the tokens that are in force.
func (p *httpPort) admits(tokens []httpserve.Token) {
	if p.digest != nil {
		d := p.digest(tokens)
		p.callers.Store(&d)
	}
}

// who returns the digest of who may call; empty: there is no port. p may be nil.
func (p *httpPort) who() string {
	if p == nil {
		return ""
	}
	if d := p.callers.Load(); d != nil {
		return *d
	}
	return ""
}

// serve answers requests until ctx ends.
func (p *httpPort) serve(ctx context.Context) error {
	defer p.page.begin()()
	return p.handler.Serve(ctx, p.listener)
}

// httpTokens collects the tokens of all sources, with which a port can begin to serve.
func httpTokens(o config.HTTP) ([]httpserve.Token, error) {
	tokens, err := readTokens(o)
	switch {
	case err != nil:
		return nil, err
	case o.TokensFile != "" && len(tokens) == 0:
		return nil, fmt.Errorf(
			"server.http.tokens_file: %s holds no token; `ptyctl tokens add NAME` makes one, or leave the key empty",
			o.TokensFile,
		)
	case o.Watch && !slices.ContainsFunc(tokens, func(t httpserve.Token) bool { return t.Person }):
		return nil, errors.New("server.http.watch is set, and no token has the role watch or operate: the tokens of agents do " +
			"not open the page; add one to server.http.tokens_file, or leave server.http.watch out")
	}
	return tokens, nil
}

// warnExpired logs the tokens that have expired.
func warnExpired(log *slog.Logger, tokens []httpserve.Token) {
	for _, t := range tokens {
		if !t.Expires.IsZero() && !time.Now().Before(t.Expires) {
			log.Warn("this token has expired; `ptyctl tokens revoke` takes it out of the file", "token", t.Name, "expired", t.Expires)
		}
	}
}

// readTokens collects the tokens of all sources. There may be none: all can be withdrawn while the port serves.
func readTokens(o config.HTTP) ([]httpserve.Token, error) {
	var text string
	if o.TokensFile != "" {
		var err error
		if text, err = readPrivate(o.TokensFile); err != nil {
			return nil, fmt.Errorf("server.http.tokens_file: %w", err)
		}
	}
	all, err := config.ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("server.http.tokens_file: %s %w", o.TokensFile, err)
	}
	more, err := config.ParseTokens(o.Tokens.Reveal())
	if err != nil {
		return nil, fmt.Errorf("server.http.tokens %w", err)
	}
	all = append(all, more...)
	if o.AuthToken.Reveal() != "" {
		all = append(all, config.Token{Name: "default", Value: o.AuthToken})
	}
	names, values := make(map[string]bool), make(map[[sha256.Size]byte]string)
	tokens := make([]httpserve.Token, len(all))
	for i, t := range all {
		if names[t.Name] {
			return nil, fmt.Errorf("two tokens are called %s; give each a name of its own", t.Name)
		}
		names[t.Name] = true
		digest := sha256.Sum256([]byte(t.Value.Reveal()))
		if t.Digest != nil {
			digest = *t.Digest
		}
		if other := values[digest]; other != "" {
			return nil, fmt.Errorf("the tokens %s and %s have the same value; give each its own", other, t.Name)
		}
		values[digest] = t.Name
		tokens[i] = httpserve.Token{Name: t.Name, Digest: digest, ReadOnly: t.ReadOnly, Person: t.Person, Expires: t.Expires}
	}
	return tokens, nil
}

// maxTokensFile is more than any number of tokens that people can keep track of.
const maxTokensFile = 1 << 20

// readPrivate reads a file that only this user may read, as OpenSSH demands it of keys.
func readPrivate(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w; create it, or correct the path", err)
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("others may read or write %s (mode %04o); run chmod 600 on it", path, info.Mode().Perm())
	case info.Size() > maxTokensFile:
		return "", fmt.Errorf("%s is too long for a file of tokens", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// certificate returns the certificate for TLS; nil: the port has no TLS.
func certificate(o config.HTTP) (*tls.Certificate, error) {
	switch {
	case o.TLSSelfSigned:
		return httpserve.SelfSigned(o.Listen, o.AllowedHosts)
	case o.TLSCertFile == "":
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(o.TLSCertFile, o.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("server.http.tls_cert_file, tls_key_file: %w", err)
	}
	return &cert, nil
}

// again reads the tokens of a configuration, including those in its file. set puts them into force. p may be nil: then
// set does nothing.
func (p *httpPort) again(o config.HTTP) (set func(log *slog.Logger), err error) {
	if p == nil {
		return func(*slog.Logger) {}, nil
	}
	tokens, err := readTokens(o)
	return func(log *slog.Logger) {
		withdrawn := p.handler.SetTokens(tokens)
		p.admits(tokens)
		warnExpired(log, tokens)
		log.Info("the tokens of the HTTP port were read again", "tokens", len(tokens), "withdrawn", withdrawn)
	}, err
}

// roles are the roles of access tokens by the words of the configuration.
var roles = map[string]oauth.Role{"read": oauth.Read, "write": oauth.Write}

// Verifier returns the verifier of the access tokens that a configuration allows; nil: it allows none. The caller closes
// it.
func Verifier(o config.OAuth, log *slog.Logger) (*oauth.Verifier, error) {
	if o.Issuer == "" {
		return nil, nil
	}
	scopes := make(map[string]oauth.Role)
	for _, r := range o.Roles {
		scopes[r.Name] = roles[r.Role]
	}
	v, err := oauth.New(oauth.Options{Issuer: o.Issuer, Audience: o.Audience, Roles: scopes, Logger: log})
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("the keys of [server.http.oauth] are wrong: %w", err)}
	}
	return v, nil
}

// acceptOAuth makes the port's verifier of access tokens; nil: no access tokens are accepted.
func (a *App) acceptOAuth() (*oauth.Verifier, error) {
	v, err := Verifier(a.cfg.Server.HTTP.OAuth, a.log)
	if v != nil {
		a.closers = append(a.closers, v.Close)
		a.log.Info("access tokens of an OAuth issuer are accepted", "issuer", v.Issuer(), "audience", v.Audience(),
			"scopes", v.Scopes())
	}
	return v, err
}

// oauthFailures returns the count for the metrics; nil: no access tokens are accepted.
func (a *App) oauthFailures() func() int64 {
	if a.cfg.Server.Transport == config.TransportStdio || a.cfg.Server.HTTP.OAuth.Issuer == "" {
		return nil
	}
	return func() int64 { // the port is opened after the metrics are made
		if a.http == nil {
			return 0
		}
		return a.http.issuer.Failures()
	}
}
