package elicit

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"ptyctl/term"
)

// Pages are web pages on this machine's loopback on which a person answers the question of a login that no client may
// see the answer of. Each has a listener of its own, for as long as its question waits: with the question the port is
// gone. Make them with NewPages, end them with Close.
type Pages struct {
	done    chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex // guards the following
	closed bool
}

// NewPages makes an empty set of pages.
func NewPages() *Pages { return &Pages{done: make(chan struct{})} }

// Close ends all pages, and returns when they have ended.
func (p *Pages) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.mu.Unlock()
	p.running.Wait()
}

// The limits of a page, which has only short texts.
const (
	pageTimeout = 10 * time.Second
	pageHeaders = 16 << 10
	pageBody    = 64 << 10
)

// errPagesClosed is the error of a page that is wanted too late.
var errPagesClosed = errors.New("ptyctl is shutting down")

// open makes a page for a question and returns its address. A person who answers on the page acts in the name of
// ctx's actor.
func (p *Pages) open(ctx context.Context, a asking) (address string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", errPagesClosed
	}
	// A number and not localhost: a name could lead elsewhere.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	actor := term.ActorFrom(ctx)
	// The audit log distinguishes the person at the page from the client that asked for it. The person may use the
	// client's sessions and locks.
	actor.Via = "page"
	g := &page{
		asking: a,
		actor:  actor,
		host:   l.Addr().String(),
		path:   "/" + rand.Text() + rand.Text(),
		form:   rand.Text(),
	}
	srv := &http.Server{
		Handler:     http.NewCrossOriginProtection().Handler(g),
		ReadTimeout: pageTimeout, WriteTimeout: pageTimeout, MaxHeaderBytes: pageHeaders,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // it might quote a request
	}
	// One goroutine for each page, so that Close can wait for all of them.
	p.running.Go(func() {
		var serving sync.WaitGroup
		serving.Go(func() { _ = srv.Serve(l) })
		select {
		case <-a.Over():
		case <-p.done:
		}
		// The only request under way is the page that reports the answer.
		leave, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		if srv.Shutdown(leave) != nil {
			_ = srv.Close()
		}
		serving.Wait()
	})
	return "http://" + g.host + g.path, nil
}

// asking is a question on a page. (*session.Question is one.)
type asking interface {
	Prompt() term.Prompt
	Answer(ctx context.Context, text []byte) error
	Decline(ctx context.Context) error
	Over() <-chan struct{} // closed when the question no longer takes an answer
}

// A page asks one question on its own port.
type page struct {
	asking asking
	actor  term.Actor
	host   string // as the Host header must be: another name for this address is a trick (DNS rebinding)
	path   string // random: knowing it is the permission
	form   string // known only to the form
}

// ServeHTTP shows the question, or takes its answer. The path must be the random one, and the Host header this
// address: a web page of another site must not answer in the person's name.
func (g *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would take the Origin off the form
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Connection", "close") // the listener is gone soon
	switch {
	case r.Host != g.host:
		http.Error(w, "this page has another address", http.StatusMisdirectedRequest)
	case subtle.ConstantTimeCompare([]byte(r.URL.Path), []byte(g.path)) != 1:
		http.NotFound(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		q := g.asking.Prompt()
		g.show(w, http.StatusOK, pageData{
			Heading: strings.TrimSpace(heading(q)), Text: plain(q.Text), Secret: q.Secret, Form: g.form,
		})
	case r.Method == http.MethodPost:
		g.take(w, r)
	default:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "use the form", http.StatusMethodNotAllowed)
	}
}

// take passes the typed answer to the login.
func (g *page) take(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, pageBody)
	sent, err := readForm(r.Body)
	if err == nil {
		defer sent.wipe()
	}
	if err != nil || subtle.ConstantTimeCompare(sent.get("form"), []byte(g.form)) != 1 {
		g.show(
			w,
			http.StatusForbidden,
			pageData{
				Heading: "Not accepted",
				Text:    "This did not come from the page itself. Open the page's address again.",
			},
		)
		return
	}
	ctx := term.WithActor(r.Context(), g.actor)
	// The page cancels the login as a client would: there is no third answer.
	if sent.has("decline") {
		err = g.asking.Decline(ctx)
	} else {
		err = g.asking.Answer(ctx, sent.get("answer"))
	}
	switch {
	case errors.Is(err, term.Busy):
		g.show(
			w,
			http.StatusConflict,
			pageData{Heading: "Too late", Text: "Another person has answered this question."},
		)
	case err != nil:
		g.show(w, http.StatusConflict, pageData{Heading: "Not accepted", Text: err.Error()})
	default:
		g.show(w, http.StatusOK, pageData{Heading: "Done", Text: "You can close this page."})
	}
}

// pageData is the content of a page.
type pageData struct {
	Heading, Text string
	Secret        string // name of the operator's secret that is asked for; empty: the host asks
	Form          string // empty: nothing to fill in
}

// The parts of a page. They are no html/template: a template calls methods by name, and so the linker must keep every
// exported method of the program, 3 MB.
const (
	pageTop = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ptyctl</title>
<style>body{font-family:sans-serif;max-width:40em;margin:3em auto;padding:0 1em}pre{white-space:pre-wrap;border-left:3px solid #999;padding-left:1em}</style>
</head><body><h1>`
	pageForm = `</pre>
<form method="post" autocomplete="off"><input type="hidden" name="form" value="`
	pageAnswer = `">
<p><input name="answer" type="password" autocomplete="off" autofocus aria-label="answer"></p>
<p><button>Answer</button> <button name="decline" value="1">`
	pageAfterForm = `</button></p></form>
<p>What you type goes to that host, and to nobody else.</p>`
	pageEnd = `
</body></html>
`
)

// html returns the page. Escaped text is safe in both places that it has: between tags, and in a quoted attribute.
func (d pageData) html() string {
	esc := html.EscapeString
	head := pageTop + esc(d.Heading) + "</h1>\n"
	if d.Form == "" {
		return head + "<p>" + esc(d.Text) + "</p>" + pageEnd
	}
	asks, decline := "The host asks, in its own words:", "Cancel the login"
	if d.Secret != "" {
		asks, decline = "It is for:", "Refuse"
	}
	return head + "<p>" + asks + "</p><pre>" + esc(d.Text) + pageForm + esc(d.Form) + pageAnswer + decline +
		pageAfterForm + pageEnd
}

// show writes the page with the given HTTP status.
func (g *page) show(w http.ResponseWriter, status int, d pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, d.html()) // a client that is gone sees no error either
}
