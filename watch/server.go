package watch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"filippo.io/age"

	"ptyctl/control"
	"ptyctl/internal/client"
)

//go:embed page/index.html page/style.css page/app.js page/replay.js page/icon.svg
var page embed.FS

// Options configure a Server.
type Options struct {
	Processes  client.Options // which are watched, and how they are reached
	Recordings string         // folder of recordings to replay; empty: none
	Identities []age.Identity // of encrypted ones
	Person     string         // the watcher's name, for those whose terminal they take; empty: the user of this process
	Logger     *slog.Logger   // nil: no log
}

// Times of links and connections.
const (
	ticketTime    = time.Minute
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTime      = 2 * time.Minute // of a connection between two requests
	endTime       = 3 * time.Second // to give the terminals back
)

// Bounds of the state that a browser can make this process keep.
const (
	mostTickets = 64
	mostTokens  = 64 // the one that was not used for longest ends for another
	mostHolds   = 32
	mostBody    = 1 << 20 // bytes
)

// A secret is the hash of a ticket or token: a comparison of hashes tells nothing of the text.
type secret [sha256.Size]byte

// A Server is the page and its API. Make it with New.
type Server struct {
	o    Options
	mux  *http.ServeMux
	host string // and port, by which it is asked; set by Serve

	mu      sync.Mutex                // guards the following
	tickets map[secret]time.Time      // until when each may be used
	tokens  map[secret]time.Time      // of the last use
	sockets map[string]control.Socket // of the processes that a stream has shown
	holds   map[string]*hold          // terminals that were taken
	over    bool                      // all was given back, and nothing more is taken
}

// New makes a server.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		o: o, tickets: make(map[secret]time.Time), tokens: make(map[secret]time.Time),
		sockets: make(map[string]control.Socket), holds: make(map[string]*hold),
	}
	s.mux = s.routes()
	return s
}

// newSecret returns a random text, and its hash.
func newSecret() (text string, hash secret) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	text = base64.RawURLEncoding.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

// Link returns the address of the page at a, which works once, within a minute. With the id of a session the page shows
// it first.
func (s *Server) Link(a net.Addr, session string) string {
	text, hash := newSecret()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for h, until := range s.tickets {
		if !until.After(now) || len(s.tickets) >= mostTickets {
			delete(s.tickets, h)
		}
	}
	s.tickets[hash] = now.Add(ticketTime)
	// A fragment is sent to no server, and is in no log of one.
	fragment := url.Values{"ticket": {text}}
	if session != "" {
		fragment.Set("session", session)
	}
	return fmt.Sprintf("http://%s/#%s", a, fragment.Encode())
}

// exchange returns a token for a ticket, which is used up; "": there is no such ticket.
func (s *Server) exchange(ticket string) (token string) {
	hash := secret(sha256.Sum256([]byte(ticket)))
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.tickets[hash]
	delete(s.tickets, hash)
	now := time.Now()
	if !ok || !now.Before(until) {
		return ""
	}
	if len(s.tokens) >= mostTokens { // a page that was loaded again has left its token
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.tokens)), func(a, b secret) int {
			return s.tokens[a].Compare(s.tokens[b])
		})
		delete(s.tokens, oldest)
	}
	token, key := newSecret()
	s.tokens[key] = now
	return token
}

// knows reports whether a token is one of this server's.
func (s *Server) knows(token string) bool {
	hash := secret(sha256.Sum256([]byte(token)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.tokens[hash]; !ok {
		return false
	}
	s.tokens[hash] = time.Now()
	return true
}

// Serve answers requests on a loopback address until ctx ends, and closes l. At the end it gives back the terminals
// that were taken.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return fmt.Errorf("watch: will not serve the page at %s: others could reach it there; use 127.0.0.1", l.Addr())
	}
	s.host = l.Addr().String()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTime, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams end with it
		ErrorLog:    slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	var err error
	select {
	case err = <-failed:
		stop()
	case <-ctx.Done():
	}
	last, done := context.WithTimeout(context.Background(), endTime)
	defer done()
	s.giveAllBack(last)
	if srv.Shutdown(last) != nil {
		_ = srv.Close()
	}
	if err == nil {
		err = <-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("watch: %w", err)
}
