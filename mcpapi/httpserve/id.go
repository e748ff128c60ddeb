package httpserve

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"ptyctl/mcpapi/jsonrpc"
)

// maxExactID is the longest number that mcp-go, which reads ids into a float64, writes as it was sent, in bytes.
const maxExactID = 15

// How much is read of a message over the limit to find its id, which may come last. If the announced length is over
// beyond, only the start is read, which has the id of most clients' requests.
const (
	firstBytes = 4 << 10
	beyond     = 32 << 20 // more than the limit
)

// A standIn is the id that mcp-go sees in place of one that it cannot keep, and the id itself. Both are JSON.
type standIn struct{ given, id []byte }

// replaceID returns the message with an id that mcp-go keeps, and the standIn that restores the message's own id.
// standIn is nil if mcp-go keeps that id.
func (e *envelope) replaceID() (body []byte, s *standIn) {
	if len(e.id) <= maxExactID || e.id[0] == '"' {
		return e.body, nil
	}
	s = &standIn{given: []byte(`"ptyctl-` + rand.Text() + `"`), id: e.id}
	var b bytes.Buffer
	for _, m := range jsonrpc.Split(bytes.TrimLeft(e.body, jsonrpc.Space)) {
		b.WriteByte(map[bool]byte{true: '{', false: ','}[b.Len() == 0])
		jsonrpc.Quote(&b, m.Name)
		b.WriteByte(':')
		if m.Name == "id" {
			m.Value = s.given
		}
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), s
}

// restore puts the id back into the output of mcp-go, which writes only whole messages.
func (s *standIn) restore(p []byte) []byte {
	return bytes.ReplaceAll(p, s.given, s.id)
}

// idOfLong returns the id of a message over the limit, which begins with first, or nil. It keeps none of the bytes
// that it reads.
func (h *Handler) idOfLong(w *answer, first []byte, r *http.Request) json.RawMessage {
	most, wait := int64(beyond), bodyTimeout
	if r.ContentLength > h.o.MaxBody+beyond {
		most, wait = firstBytes, lingerTimeout
	} else if first == nil {
		most += h.o.MaxBody
	}
	_ = w.control.SetReadDeadline(time.Now().Add(wait))
	var f jsonrpc.IDFinder
	_, _ = f.Write(first)                            // it never fails
	_, _ = io.Copy(&f, io.LimitReader(r.Body, most)) // an unreadable rest has no id
	return f.ID()
}
