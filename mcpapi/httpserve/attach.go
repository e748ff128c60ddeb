package httpserve

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"ptyctl/mcpapi/identity"
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
