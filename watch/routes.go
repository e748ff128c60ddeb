package watch

import (
	"context"
	"io/fs"
	"net/http"
	"strconv"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/term"
	"ptyctl/watch/renderer"
)

// routes are the page's files and its API.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	addFiles(mux, "ticket")
	mux.HandleFunc("POST "+loginPath, s.login)
	mux.HandleFunc("GET /api/stream", s.stream)
	mux.HandleFunc("POST /api/take", s.take)
	mux.HandleFunc("POST /api/type", s.input)
	mux.HandleFunc("POST /api/beat", s.beat)
	mux.HandleFunc("POST /api/give", s.give)
	mux.HandleFunc("POST /api/answer", s.answerLogin)
	mux.HandleFunc("POST /api/question", s.answerQuestion)
	mux.HandleFunc("POST /api/search", s.search)
	mux.HandleFunc("GET /api/recordings", s.listRecordings)
	mux.HandleFunc("GET /api/recording", s.recording)
	mux.HandleFunc("GET /api/play", s.play)
	return mux
}

// addFiles adds the page's files, and a route that returns the kind of login: a ticket or a token.
func addFiles(mux *http.ServeMux, with string) {
	files, err := fs.Sub(page, "page")
	if err != nil { // the folder is embedded
		panic(err)
	}
	mux.Handle("GET /", http.FileServerFS(files))
	drawing := http.FileServerFS(renderer.Files())
	mux.Handle("GET /screen.js", drawing)
	mux.Handle("GET /screen.css", drawing)
	mux.HandleFunc("GET "+loginPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"with": with})
	})
}

// login exchanges the ticket of a link for a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[struct{ Ticket string }](w, r)
	if !ok {
		return
	}
	token := s.exchange(sent.Ticket)
	if token == "" {
		fail(w, http.StatusUnauthorized, "AUTH_FAILED",
			"this link was used, or is older than a minute; press enter where ptyctl watch runs for a new one")
		return
	}
	answer(w, loggedIn{Token: token, Recordings: s.o.Recordings != ""})
}

// loggedIn is the answer to a ticket, or to the token of a person.
type loggedIn struct {
	Token      string `json:"token"`
	Recordings bool   `json:"recordings"`     // there is a folder of them
	Hint       string `json:"hint,omitempty"` // how to be allowed more than to watch; empty: as the page says
}

// keyOf names a process for the page.
func keyOf(p control.Socket) string {
	if p.PID == 0 {
		return p.Path
	}
	return strconv.Itoa(p.PID)
}

// dial connects to a process that a stream has shown.
func (s *Server) dial(ctx context.Context, key string) (*client.Process, error) {
	s.mu.Lock()
	socket, ok := s.sockets[key]
	s.mu.Unlock()
	if !ok {
		return nil, term.Errorf(term.NotFound, "there is no such process")
	}
	return client.Dial(ctx, socket, s.o.Processes.Options)
}

// with calls do with a connection to a process, and answers with its result.
func (s *Server) with(w http.ResponseWriter, r *http.Request, key string, do func(p *client.Process) (any, error)) {
	p, err := s.dial(r.Context(), key)
	if err != nil {
		failWith(w, err)
		return
	}
	defer p.Close()
	value, err := do(p)
	if err != nil {
		failWith(w, err)
		return
	}
	answer(w, value)
}

// A reply is an answer to the question of a login.
type reply struct{ P, Session, Text string }

// answerLogin answers the question of a login, of a process that has no list of questions.
func (s *Server) answerLogin(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[reply](w, r)
	if !ok {
		return
	}
	s.with(w, r, sent.P, func(p *client.Process) (any, error) {
		wait := int64(1) // the verdict comes by the stream
		return struct{}{}, p.Call(r.Context(), client.ToolIO, client.IOCall{
			Action: "write", SessionID: sent.Session, Data: sent.Text + "\r", Sensitive: true, Timeout: &wait,
		}, nil)
	})
}

// A looking is a search in the output of a session.
type looking struct {
	P, Session, Pattern string
	IgnoreCase          bool
}

// search looks for a pattern in the output that is still held.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[looking](w, r)
	if !ok {
		return
	}
	s.with(w, r, sent.P, func(p *client.Process) (any, error) {
		var found map[string]any
		err := p.Call(r.Context(), client.ToolIO, client.IOCall{
			Action: "search", SessionID: sent.Session, Pattern: sent.Pattern, IgnoreCase: sent.IgnoreCase,
		}, &found)
		return found, err
	})
}
