package watch

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"ptyctl/control"
	"ptyctl/term"
)

// headers are those of every answer. The browser runs no script, and draws no style, but those of this server, connects
// to nothing else, and shows the page in no other one.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// apiPath is where the API begins: a token is needed for all of it but login.
const (
	apiPath   = "/api/"
	loginPath = apiPath + "login"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	switch {
	// The DNS server of a page can point the page's name to this machine. A request then has that name, and the browser
	// takes the two for one origin.
	case !s.ours(r.Host):
		fail(w, http.StatusForbidden, "FORBIDDEN",
			"this server does not have that name; open the link that ptyctl watch prints")
		return
	case !s.sameOrigin(r):
		fail(w, http.StatusForbidden, "FORBIDDEN", "this page may not call ptyctl watch")
		return
	case !strings.HasPrefix(r.URL.Path, apiPath), r.URL.Path == loginPath:
	case !s.authorized(r):
		fail(w, http.StatusUnauthorized, "AUTH_FAILED",
			"no valid token; open a new link: press enter where ptyctl watch runs")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// ours reports whether host is the name and port of this server. Nothing of the request itself is taken for that.
func (s *Server) ours(host string) bool {
	_, port, _ := strings.Cut(s.host, ":")
	return host == s.host || host == "localhost:"+port
}

// sameOrigin reports whether a request may come from a page of this server, or from no page: the browser itself, when a
// person opens the address. A browser sends the Origin with each POST, and the other header with each request.
func (s *Server) sameOrigin(r *http.Request) bool {
	origin, has := r.Header["Origin"]
	if has && (len(origin) != 1 || origin[0] != "http://"+r.Host) || !has && r.Method != http.MethodGet {
		return false
	}
	if !strings.HasPrefix(r.URL.Path, apiPath) { // to open the page is no harm, wherever the link was
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin"
}

// authorized reports whether a request has a token.
func (s *Server) authorized(r *http.Request) bool {
	sent := r.Header["Authorization"]
	if len(sent) != 1 {
		return false
	}
	token, ok := strings.CutPrefix(sent[0], "Bearer ")
	return ok && s.knows(token)
}

// fail answers with an error.
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error_code": code, "message": message})
}

// failWith answers with an error of a process.
func failWith(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*control.ToolError](err); ok {
		status := http.StatusConflict
		if e.Code == string(term.PolicyDenied) {
			status = http.StatusForbidden
		}
		fail(w, status, e.Code, err.Error())
		return
	}
	status := http.StatusBadGateway
	switch term.KindOf(err) {
	case term.PolicyDenied:
		status = http.StatusForbidden
	case term.NotFound:
		status = http.StatusNotFound
	}
	fail(w, status, string(term.KindOf(err)), err.Error())
}

// answer answers with JSON.
func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a browser that is gone needs no answer
}

// read reads the body of a request into a value, or answers with the reason why not.
func read[T any](w http.ResponseWriter, r *http.Request) (value T, ok bool) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "send JSON")
		return value, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&value)
	if err == nil {
		_, err = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, mostBody))
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if err != nil { // its text may quote the request, which may have a password
		fail(w, http.StatusBadRequest, "INVALID_ARGUMENT", "the request is no JSON of at most 1 MiB")
	}
	return value, err == nil
}
