package sshx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/exhausted"
	"ptyctl/sshx/auth"
	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/mux"
	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// handshake logs in to a hop over raw, and closes raw if it fails. It ends with
// the watchdog. It calls there when the server has shown its host key.
func handshake(
	w *watchdog, raw net.Conn, h *plan.Hop, l *steps, p term.Prompter, there func(),
) (*mux.Link, error) {
	stop := context.AfterFunc(w.ctx, func() { _ = raw.Close() })
	hs := &handshaking{h: h, raw: raw, there: there}
	k, err := hs.run(w, l, p)
	if err != nil {
		stop()
		_ = raw.Close()
		return nil, err
	}
	if !stop() { // the watchdog has closed the connection meanwhile
		k.Close()
		return nil, context.Cause(w.ctx)
	}
	return k, nil
}

// A handshaking is one login, with its record.
type handshaking struct {
	h      *plan.Hop
	raw    net.Conn
	there  func() // see handshake
	person *questions
	banner string
	more   int // bytes of the banner that were not kept
}

// run runs the key exchange, the host key check and the login, and starts the link.
func (hs *handshaking) run(w *watchdog, l *steps, p term.Prompter) (*mux.Link, error) {
	h := hs.h
	var ip net.IP
	// The address must not be that of a proxy, which may be on loopback.
	if tcp, ok := hs.raw.RemoteAddr().(*net.TCPAddr); ok && h.Proxy == nil {
		ip = tcp.IP
	}
	keyOptions := h.HostKeys
	person := &questions{w: w, h: h, p: p, auto: h.Answerer, login: h.Login()}
	hs.person = person
	if person.hasPerson() {
		keyOptions.Ask = func(_ context.Context, q hostkeys.Question) (string, error) {
			return person.askPerson(term.Prompt{Kind: term.PromptHostKey, Text: q.String(), Echo: true})
		}
	}
	// The operator's record is read before the verifier may add a key to it.
	prove, err := h.Prove(ip)
	if err != nil {
		return nil, hostKeyFileError(h, err)
	}
	keys, err := hostkeys.NewVerifier(h.Host, h.Port, ip, keyOptions)
	if err != nil {
		return nil, hostKeyFileError(h, err)
	}
	l.Begin(stepBanner)
	conn := &bannerConn{Conn: hs.raw, identified: func() { l.Begin(stepKex) }}
	login := auth.NewPlanner(w.ctx, h.Account(), person, conn.ended)
	defer login.Close()
	person.unread = func() []string { return login.Record().Unread }
	verify := keys.HostKeyCallback(w.ctx)
	var loggedIn atomic.Bool // a later key exchange runs in a goroutine of the library
	config := &ssh.ClientConfig{
		Config:            ssh.Config{KeyExchanges: h.Kex, Ciphers: h.Ciphers, MACs: h.MACs, RekeyThreshold: h.Rekey},
		User:              h.User,
		HostKeyAlgorithms: h.Offer(keys),
		HostKeyCallback: func(name string, remote net.Addr, key ssh.PublicKey) error {
			if loggedIn.Load() { // a later key exchange must show the same key
				return verify(name, remote, key)
			}
			// x/crypto/ssh calls this before any authentication, so a refused
			// host receives no credential.
			hs.there()
			l.Begin(stepHostKey)
			person.login.HostKey = prove(key)
			login.Prove(person.login.HostKey)
			if err := verify(name, remote, key); err != nil {
				return err
			}
			res := keys.Result()
			if res.Changed {
				login.Distrust()
			}
			l.end(true, res.Fingerprint)
			l.Begin(stepAuth)
			return nil
		},
		BannerCallback: func(message string) error {
			kept := min(len(message), maxBanner-len(hs.banner))
			hs.banner += message[:kept]
			hs.more += len(message) - kept
			return nil
		},
		ClientVersion: clientVersion + h.Version,
		AuthCallback:  login.Next,
	}
	sc, chans, reqs, err := ssh.NewClientConn(conn, h.Address(), config)
	if err != nil {
		return nil, hs.explain(w, l, conn, login, term.ForeignError(err))
	}
	loggedIn.Store(true)
	seen := login.Record()
	if seen.Last == "" {
		seen.Last = "none" // the server asked for nothing (RFC 4252 section 5.2)
	}
	l.end(true, seen.Last)
	res := keys.Result()
	k := &mux.Link{
		Name: h.String(), Raw: hs.raw, Conn: sc,
		Version: term.ForeignLine(string(sc.ServerVersion()), maxVersion),
		Banner:  term.ForeignStart(hs.banner, hs.more, shownBanner),
		Method:  seen.Last, HostKey: res.Fingerprint,
		Warnings: append(res.Warnings, seen.Notes...),
		Peer:     h.Peer(person.login.HostKey),
	}
	if h.ForwardAgent.Any() && !res.Changed { // like ssh(1): no forwarding to a host that may be an impostor
		if why := login.AgentWithheld(); why != "" {
			k.Warnings = append(k.Warnings, "the agent is not forwarded: "+why)
		} else {
			k.DialAgent = h.ForwardAgent.Dial
		}
	}
	// From here on the end of the connection must not leave a channel waiting.
	conn.onEnd(k.Seal)
	login.AddToAgent(func(text string) { k.Warnings = append(k.Warnings, text) })
	if !h.UpdateHostKeys {
		keys = nil
	}
	k.Start(chans, reqs, keys, h.Keepalive, h.KeepaliveCount)
	return k, nil
}

// maxBanner is the most bytes kept of the banner before authentication (RFC 4252
// section 5.4).
const maxBanner = 64 << 10

// The most bytes shown of the banner and of the identification string (RFC 4253 section 4.2).
const (
	shownBanner = 8 << 10
	maxVersion  = 255
)

// clientVersion is our identification string (RFC 4253 section 4.2), without a
// VersionAddendum.
const clientVersion = "SSH-2.0-ptyctl"

// checkPort is the advice where the server is not one for SSH.
const checkPort = "check the port"

// explain converts the error that ended a handshake to one that the caller can
// act on.
func (hs *handshaking) explain(w *watchdog, l *steps, conn *bannerConn, login *auth.Planner, err error) error {
	h, step, seen := hs.h, l.at(), login.Record()
	// The watchdog has closed the connection, so err is only a consequence.
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	failure := term.ConnectFailure{Hop: h.String(), ServerMessage: conn.said()}
	failed := func(kind term.Kind, advice, format string, args ...any) error {
		return &term.Error{
			Kind: kind, Err: err, Msg: fmt.Sprintf(format, args...), Advice: advice, Facts: term.Facts{failure},
		}
	}
	if known := hostKeyError(h, failure, err); known != nil {
		return known
	}
	if own, ok := errors.AsType[*term.Error](err); ok {
		named := *own // a copy, because the error may be shared
		if len(named.Facts) == 0 {
			named.Facts = term.Facts{failure}
			if rule := login.Rule(); rule != "" {
				named.Facts = named.Facts.With(term.Denial{Rule: rule})
			}
		}
		if named.Kind == term.AuthFailed {
			tried := term.FactOf[term.ConnectFailure](&named)
			seen.Describe(&tried)
			named.Facts = named.Facts.With(tried)
			if seen.Lacked != "" {
				named.Facts = named.Facts.With(term.ArgumentFault{Field: seen.Lacked})
			}
		}
		return &named
	}
	// The library names the algorithm list without a common element, and the server's
	// offer.
	if none, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err); ok {
		failure.ServerOffers = term.ForeignNames(none.RequestedAlgorithms)
		return failed(
			term.ConnectFailed,
			"if you trust it, allow one of them in ssh_config "+
				"(KexAlgorithms, Ciphers, MACs or HostKeyAlgorithms with a leading +)",
			"%s and ptyctl have no common algorithm for %s: the server offers only %s",
			h,
			none.What,
			strings.Join(failure.ServerOffers, ", "),
		)
	}
	if old, ok := errors.AsType[errNotSSH2](err); ok {
		return failed(term.ConnectFailed, checkPort, "%s is not an SSH 2 server: it says \"%s\"", h, old.line)
	}
	if errors.Is(err, errTelnet) {
		failure.ServerMessage = "" // the bytes are not text
		return failed(
			term.ConnectFailed,
			"use protocol telnet, or check the port",
			"%s is a Telnet server, not an SSH server",
			h,
		)
	}
	if strings.HasPrefix(failure.ServerMessage, "HTTP/") {
		return failed(
			term.ConnectFailed,
			checkPort,
			"%s is a web server, not an SSH server: it says \"%s\"",
			h,
			failure.ServerMessage,
		)
	}
	if ended := commandError(h, l, step, failure, err); ended != nil {
		return ended
	}
	said := ""
	if failure.ServerMessage != "" {
		said = " (it said: " + failure.ServerMessage + ")"
	}
	switch step {
	// The step decides the rest: the same network error has another reason in
	// each of them.
	case stepAuth:
		untried := login.EndedEarly()
		seen.Describe(&failure)
		if len(seen.Tried) == 0 {
			return failed(
				term.ConnectFailed, "try again", "%s ended the connection before anything could be tried: %v", h, err,
			)
		}
		advice, left := "check username and credentials", ""
		// A server that refuses says so; this one hung up while a person was to answer, or thereafter.
		if end := conn.ended(); end != nil && errors.Is(err, end) && hs.person.asked {
			advice = "open it again and answer sooner, if the server ends logins that take long (LoginGraceTime); " +
				"otherwise " + advice
		}
		if len(untried) > 0 {
			left = fmt.Sprintf("; never tried: %s", firstFew(untried))
			advice = "the server counts each key that is offered (MaxAuthTries): name the right one in ssh_config " +
				"with IdentityFile, and set IdentitiesOnly yes for this host"
		}
		ended := failed(
			term.AuthFailed,
			advice,
			"%s ended the connection during authentication (tried: %s): %v%s",
			h,
			strings.Join(seen.Tried, ", "),
			err,
			left,
		)
		if refused := login.RefusedTooMany(); refused != nil {
			return &retry{err: ended, refusedKeys: refused, offered: seen.Keys}
		}
		return ended
	case stepBanner:
		if conn.ended() == nil {
			return failed(
				term.ConnectFailed, checkPort, "%s does not identify itself as an SSH server%s: %v", h, said, err,
			)
		}
		closed := failed(
			term.ConnectFailed,
			checkPort+", or try again if the server limits new connections (MaxStartups)",
			"%s closed the connection before it identified itself as an SSH server%s: %v",
			h,
			said,
			err,
		)
		// A server without room for the connection sends no reason, or this one
		// (sshd_config(5) MaxStartups).
		if failure.ServerMessage == "" || strings.Contains(failure.ServerMessage, "MaxStartups") {
			return &retry{err: closed, noRoom: true}
		}
		return closed
	default:
		return failed(
			term.ConnectFailed,
			"try again, and check the network for interference",
			"the key exchange with %s failed%s: %v",
			h,
			said,
			err,
		)
	}
}

// hostKeyFileError converts an error that came before a key could be judged. The operator's
// configuration is at fault, unless a file that exists could not be read.
func hostKeyFileError(h *plan.Hop, err error) error {
	if e := unreadableError(h, term.ConnectFailure{Hop: h.String()}, err); e != nil {
		return e
	}
	return &term.Error{Kind: term.InvalidArgument, Err: err, Msg: "host keys: " + err.Error()}
}

// unreadableError converts the error of a file that could not be read and may refuse the key. It
// returns nil for other errors.
func unreadableError(h *plan.Hop, failure term.ConnectFailure, err error) *term.Error {
	var e *term.Error
	file, unreadable := errors.AsType[*hostkeys.UnreadableError](err)
	what := h.String() + ": the host key cannot be judged"
	switch {
	case exhausted.Descriptors(err):
		e = exhausted.NoDescriptors(what, err)
	case unreadable:
		e = &term.Error{
			Kind: term.IOError, Reason: term.ReasonUnreadable, Err: err, Msg: what + ": " + file.Error(),
			Advice: "make it readable, and try again",
		}
	default:
		return nil
	}
	e.Facts = e.Facts.With(failure)
	return e
}

// maxNamed is the most keys that a message names.
const maxNamed = 8

// firstFew lists the first of many names.
func firstFew(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// hostKeyError converts an error of the host key check to one of package term, or
// returns nil for other errors.
func hostKeyError(h *plan.Hop, failure term.ConnectFailure, err error) error {
	var (
		unknown  *hostkeys.UnknownError
		mismatch *hostkeys.MismatchError
		revoked  *hostkeys.RevokedError
		weak     *hostkeys.WeakKeyError

		f term.HostKeyFailure
	)
	refuse := func(kind term.Kind, typ, fingerprint string, why error) *term.Error {
		f.Type, f.Fingerprint = typ, fingerprint
		return &term.Error{Kind: kind, Err: err, Msg: h.String() + ": " + why.Error(), Facts: term.Facts{failure, f}}
	}
	switch {
	case errors.As(err, &unknown):
		f.KnownHosts = unknown.Files
		e := refuse(term.HostKeyUnknown, unknown.Type, unknown.Fingerprint, unknown)
		if unknown.AdvisesPin() {
			e.Reason, e.Advice = term.ReasonPinAllowed, "SSHOptions.HostKeyFingerprint pins a key"
			if unknown.Policy == hostkeys.AcceptNew {
				e.Reason = term.ReasonPinUnrecorded
			}
		}
		return e
	case errors.As(err, &mismatch):
		for _, e := range mismatch.Recorded {
			f.Recorded = append(f.Recorded, knownKey(e))
		}
		if mismatch.Pinned != "" {
			f.Recorded = append(f.Recorded, term.KnownKey{Fingerprint: mismatch.Pinned})
		}
		return refuse(term.HostKeyMismatch, mismatch.Type, mismatch.Fingerprint, mismatch)
	case errors.As(err, &revoked):
		f.Recorded = []term.KnownKey{knownKey(revoked.Entry)}
		return refuse(term.HostKeyRevoked, revoked.Type, revoked.Fingerprint, revoked)
	case errors.As(err, &weak):
		return refuse(term.HostKeyMismatch, ssh.KeyAlgoRSA, weak.Fingerprint, weak)
	}
	if e := unreadableError(h, failure, err); e != nil {
		return e
	}
	return nil
}

// knownKey returns the line of a known_hosts file for term.HostKeyFailure.
func knownKey(e hostkeys.Entry) term.KnownKey {
	return term.KnownKey{File: e.File, Line: e.Line, Type: e.Type, Fingerprint: e.Fingerprint}
}
