package questions

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"ptyctl/mcpapi/identity"
	"ptyctl/term"
)

// Paths of the handler, at a control socket.
const (
	Path      = "/questions" // GET lists, POST answers
	WatchPath = "/watch"     // POST asks whether the client may watch for a person
)

// Limits of a request.
const (
	maxBody  = 64 << 10
	maxWait  = 50 * time.Second
	jsonType = "application/json"
)

// ServeHTTP implements http.Handler. The request's context carries the identity.Caller, whom the server before it has
// admitted.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var v any
	var err error
	switch {
	case r.URL.Path == Path && r.Method == http.MethodGet:
		v, err = b.list(r)
	case r.URL.Path == Path && r.Method == http.MethodPost:
		var a Answer
		if err = read(r, &a); err == nil {
			ctx := term.WithActor(r.Context(), actor(r))
			err, v = b.Answer(ctx, a), struct{}{}
		}
	case r.URL.Path == WatchPath && r.Method == http.MethodPost:
		c := identity.FromContext(r.Context())
		v, err = Watch{Mode: mode(c), PID: os.Getpid(), Version: b.o.Version}, b.refused(c)
	default:
		err = term.Errorf(term.InvalidArgument, "GET %s lists questions, POST %s answers one, POST %s asks to watch",
			Path, Path, WatchPath)
	}
	status := http.StatusOK
	if err != nil {
		status, v = failure(err)
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

// list answers a request for the list, at once or when there is another than the client has.
func (b *Board) list(r *http.Request) (List, error) {
	query := r.URL.Query()
	after, text := query.Get("after"), query.Get("wait_ms")
	if after == "" {
		return b.List(r.Context()), nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || ms < 0) {
		return List{}, term.Errorf(term.InvalidArgument, "wait_ms is %q, and must be a number of milliseconds", text)
	}
	return b.Wait(r.Context(), after, min(time.Duration(ms)*time.Millisecond, maxWait)), nil
}

// read reads the JSON object of a request.
func read(r *http.Request, into any) error {
	// A web page cannot send this type to another origin without asking first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		return term.Errorf(term.InvalidArgument, "send JSON, with the header Content-Type: %s", jsonType)
	}
	d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		// The decoder's own error could quote the answer.
		return term.Errorf(term.InvalidArgument, "the answer is no JSON object with question_id and one of yes, text, decline")
	}
	return nil
}

// actor returns the person who answers, for the audit log. The name of the program is its own claim.
func actor(r *http.Request) term.Actor {
	c := identity.FromContext(r.Context())
	a := term.Actor{
		Transport: c.Transport, Token: c.Token, Shim: c.Shim, Operator: c.Operator, Attachment: c.Attachment, PID: c.PID,
		Client: line(r.UserAgent()),
	}
	if c.Attachment != (term.Attachment{}) {
		a.Task = c.Attachment.String() // for the record: the person is no task
	}
	return a
}

// failure returns the answer to a request that was refused.
func failure(err error) (status int, f Failure) {
	kind := term.KindOf(err)
	f = Failure{Code: string(kind), Message: err.Error(), Retryable: kind.Retryable()}
	if e, ok := errors.AsType[*term.Error](err); ok {
		f.Message = e.Message()
	}
	switch kind {
	case term.InvalidArgument:
		return http.StatusBadRequest, f
	case term.PolicyDenied:
		return http.StatusForbidden, f
	case term.NotFound:
		return http.StatusNotFound, f
	case term.Busy:
		return http.StatusConflict, f
	}
	return http.StatusInternalServerError, f
}
