package httpserve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ptyctl/mcpapi/identity"
	"ptyctl/term"
)

// AttachmentHeader carries the proof that a request comes from a person who is attached
// at a terminal. A client gets its proof from AttachPath.
const AttachmentHeader = "Ptyctl-Attachment"

// maxAttach is the most bytes of a request for a proof.
const maxAttach = 4 << 10

// An attaching is the body of a request for a proof and of its answer.
type attaching struct { // the person's name, shown to others
	Name  string `json:"name,omitempty"`  // known only to the client that asked
	Proof string `json:"proof,omitempty"` // for the one client that has asked
}

// attach creates an attachment and answers with its proof. The proof must not be cached,
// since it represents the person.
func (h *Handler) attach(w *answer, r *http.Request, _ *key) *refusal {
	if r.Method != http.MethodPost {
		return notAllowed("POST")
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return refuse(
			http.StatusUnsupportedMediaType,
			"send the person's name as JSON, with the header Content-Type: "+jsonType,
		)
	}
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = w.control.SetReadDeadline(time.Time{}) }()
	var who attaching
	if err := json.NewDecoder(io.LimitReader(r.Body, maxAttach)).Decode(&who); err != nil {
		return refuse(http.StatusBadRequest, `the person's name did not come; send {"name":"..."}`)
	}
	body, err := json.Marshal(attaching{Proof: h.attached.New(who.Name)})
	if err != nil {
		return refuse(http.StatusInternalServerError, "the answer cannot be written as JSON")
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // a client that is gone needs no answer
	return nil
}

// attachment sets the person who makes the request in c. A request without a proof has no
// person. On a handler without attachments the header is ignored.
func (h *Handler) attachment(r *http.Request, c *identity.Caller) (bad *refusal) {
	shown := r.Header.Values(AttachmentHeader)
	if h.attached == nil || len(shown) == 0 {
		return nil
	}
	who, ok := h.attached.Of(shown[0])
	if !ok || len(shown) > 1 {
		return refuse(http.StatusForbidden,
			AttachmentHeader+" unknown: this process has given no such proof; attach again, or omit the header")
	}
	c.Attachment = who
	return nil
}

// EnvironmentHeader carries the working folder and the environment variables of a person's command, for the session or
// program that it opens; see EncodeEnvironment. Only a handler with Options.Operator takes it: otherwise a client could
// choose the programs and the agent that are used.
const EnvironmentHeader = "Ptyctl-Environment"

// MaxEnvironment is the most bytes of the header's value.
const MaxEnvironment = 192 << 10

// operatorHeader bounds the headers of a request where EnvironmentHeader is taken, in bytes.
const operatorHeader = MaxEnvironment + maxHeader

// EncodeEnvironment returns the value of EnvironmentHeader. The variables have the form of os.Environ.
func EncodeEnvironment(dir string, variables []string) string {
	// Neither a path nor a variable has a NUL, and both may have bytes that are no text.
	return base64.StdEncoding.EncodeToString([]byte(dir + "\x00" + strings.Join(variables, "\x00")))
}

// environment returns the environment of the command that makes the request; nil: this process's environment.
func (h *Handler) environment(r *http.Request) (*term.Environment, *refusal) {
	shown := r.Header.Values(EnvironmentHeader)
	if !h.o.Operator || len(shown) == 0 {
		return nil, nil
	}
	text, err := base64.StdEncoding.DecodeString(shown[0])
	dir, rest, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok || len(shown) > 1 || dir != "" && !filepath.IsAbs(dir) {
		return nil, refuse(http.StatusBadRequest, EnvironmentHeader+" is not as ptyctl sends it; omit it")
	}
	return term.NewEnvironment(dir, strings.Split(rest, "\x00")), nil
}

// watch serves Options.Watch, until the client is gone or the server stops.
func (h *Handler) watch(w *answer, r *http.Request, t *key) *refusal {
	c, bad := h.caller(r, t)
	if bad != nil {
		return bad
	}
	return h.stream(w, r, c, h.streams, h.o.Watch)
}

// stream serves a request that may take as long as it likes, until the client is gone or the server stops. It takes
// room for that time.
func (h *Handler) stream(w *answer, r *http.Request, c identity.Caller, room chan struct{}, to http.Handler) *refusal {
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		return refuse(http.StatusServiceUnavailable, "limit of "+strconv.Itoa(cap(room))+
			" open requests reached (limits.max_in_flight); close one, then send this again")
	}
	ctx, cancel := context.WithCancelCause(identity.WithCaller(r.Context(), c))
	defer cancel(nil)
	defer context.AfterFunc(h.streamsDone, func() { cancel(errShutdown) })()
	to.ServeHTTP(w, r.WithContext(ctx))
	return nil
}
