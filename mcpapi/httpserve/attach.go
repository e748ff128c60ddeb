package httpserve

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"ptyctl/mcpapi"
)

// AttachmentHeader is what a request bears that a person at a terminal makes: the proof that AttachPath has answered with.
const AttachmentHeader = "Ptyctl-Attachment"

// maxAttach bounds the body of a request for a proof.
const maxAttach = 4 << 10

// An attaching is the body of a request for a proof, and of its answer.
type attaching struct {
	Name  string `json:"name,omitempty"`  // for others to read
	Proof string `json:"proof,omitempty"` // for the one client that has asked
}

// attach gives a client the proof of an attachment of its own.
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

// attachment says in c which person makes the request: nobody, if it shows no proof. Where no person is attached, what
// looks like a proof says nothing.
func (h *Handler) attachment(r *http.Request, c *mcpapi.Caller) (bad *refusal) {
	shown := r.Header.Values(AttachmentHeader)
	if h.attached == nil || len(shown) == 0 {
		return nil
	}
	who, ok := h.attached.Of(shown[0])
	if !ok || len(shown) > 1 {
		return refuse(http.StatusForbidden, "this process has given no such "+AttachmentHeader+"; attach anew, or send none")
	}
	c.Attachment = who
	return nil
}
