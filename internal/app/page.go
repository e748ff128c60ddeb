package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"ptyctl/config"
	"ptyctl/internal/cliadvice"
	"ptyctl/internal/tcppeer"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/term"
	"ptyctl/watch"
)

// servesPage reports whether people can open the watch page at the HTTP port.
func servesPage(cfg config.Config) bool {
	return cfg.Server.HTTP.Watch && cfg.Server.Transport != config.TransportStdio
}

// inClearText refuses to serve the page where what people type would cross the network in clear text.
func inClearText(o config.HTTP, secure bool) error {
	if addr, err := net.ResolveTCPAddr("tcp", o.Listen); err != nil || !o.Watch || secure || httpserve.Loopback(addr) {
		return nil //nolint:nilerr // an invalid address is refused when the port is opened
	}
	return fmt.Errorf("will not serve the watch page at %s without TLS: what people type would cross the network in clear "+
		"text; set server.http.tls_cert_file or tls_self_signed, listen on 127.0.0.1, or leave server.http.watch out", o.Listen)
}

// A peoplePage is the watch page at the HTTP port. Its users reach the same parts of this process as at the control
// socket, as far as the role of their token allows.
type peoplePage struct {
	portal *watch.Portal
	inner  *httpserve.Handler
}

// somebodyAnswers returns an error if calls need a person's consent, and neither a token nor the control socket lets a
// person answer.
func somebodyAnswers(cfg config.Config, tokens []httpserve.Token) error {
	operates := func(t httpserve.Token) bool { return t.Person && !t.ReadOnly }
	if cfg.Policy.Consent != config.PolicyConsentPerson || cfg.Server.Control.ControlMode == config.ControlReadWrite ||
		slices.ContainsFunc(tokens, operates) && !cfg.Server.ReadOnly {
		return nil
	}
	return &ConfigError{errors.New("policy.consent is \"person\", and nobody may answer: add a token with the role operate for " +
		"the watch page, or set server.control.control_mode to \"readwrite\"")}
}

// newPage makes the page.
func (a *App) newPage() *peoplePage {
	srv := a.forPeople()
	return &peoplePage{
		portal: watch.NewPortal(watch.PortalOptions{
			Version: a.version, Recordings: a.cfg.Record.Dir, Observe: a.observeAudit, Refuse: refuseVisit,
			Logger: a.log,
		}),
		inner: httpserve.New(srv, httpserve.Options{
			// All tools that type are refused to all on a server that is read-only; so are answers.
			ReadOnly: a.cfg.Server.ReadOnly,
			Operator: true, Transport: identity.PageTransport, Identify: watch.Identify, Results: identity.Full,
			Message: cliadvice.Message,
			MaxBody: int64(a.cfg.Limits.MaxMessageBytes), MaxCalls: a.cfg.Limits.MaxInFlight, Room: a.messages,
			Watch: a.feed, People: a.questions, Logger: a.log,
		}),
	}
}

// refuseVisit refuses the programs of this process's sessions, which may have read the file of tokens.
func refuseVisit(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if !ok || err != nil {
		return term.Errorf(term.PolicyDenied, "where this request comes from is not known")
	}
	for _, pid := range tcppeer.PIDs(local.AddrPort(), remote) { // none: on another machine, or another user's
		if err := refuseAnswer(pid); err != nil {
			return &term.Error{Kind: term.PolicyDenied, Msg: err.Error()}
		}
	}
	return nil
}

// begin serves the people's requests until end is called, which comes after the port has stopped serving.
func (p *peoplePage) begin() (end func()) {
	if p == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = p.inner.Serve(ctx, p.portal.Listener()) }) // which ends with end alone
	return func() {
		p.portal.Close()
		stop()
		served.Wait()
	}
}
