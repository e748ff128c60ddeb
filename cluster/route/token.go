package route

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// The headers of a call.
const (
	headerID      = "Ptyctl-Id"
	headerEntry   = "Ptyctl-Entry"
	headerExpires = "Ptyctl-Expires" // Unix milliseconds
	headerToken   = "Ptyctl-Token"
	headerPieces  = "Ptyctl-Pieces" // of the body: their number
	headerPiece   = "Ptyctl-Piece"  // the token of a piece that is not the last: it has no headerToken and no headerPieces
)

// tokenLife is how long a call is accepted after it was made. The clocks of the nodes may differ by as much.
const tokenLife = time.Minute

// sign sets the headers of a call that entry makes to owner, with the key that both share.
func sign(h nats.Header, key *pairKey, id, entry, owner string, body []byte, now time.Time) {
	expires := strconv.FormatInt(now.Add(tokenLife).UnixMilli(), 10)
	h.Set(headerID, id)
	h.Set(headerEntry, entry)
	h.Set(headerExpires, expires)
	h.Set(headerToken, base64.RawStdEncoding.EncodeToString(token(key, id, entry, owner, expires, body)))
}

// token returns the HMAC (RFC 2104, with SHA-256) of a call. No part but the last has a zero byte, so the parts cannot be
// taken apart in another way.
func token(key *pairKey, id, entry, owner, expires string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return key.sum("ptyctl call 1", id, entry, owner, expires, string(sum[:]))
}

// signPiece sets the headers of a piece that is not the last. Its token does not cover the content of the piece, which
// the token of the call covers: it shows which node's share of the room the piece uses.
func signPiece(h nats.Header, key *pairKey, id, entry, owner string, now time.Time) {
	expires := strconv.FormatInt(now.Add(tokenLife).UnixMilli(), 10)
	h.Set(headerID, id)
	h.Set(headerEntry, entry)
	h.Set(headerExpires, expires)
	h.Set(headerPiece, base64.RawStdEncoding.EncodeToString(pieceToken(key, id, entry, owner, expires)))
}

// pieceToken returns the HMAC of the headers of a piece.
func pieceToken(key *pairKey, id, entry, owner, expires string) []byte {
	return key.sum("ptyctl piece 1", id, entry, owner, expires)
}

// pieceOf returns the node that has signed a piece of a call to this node.
func (r *Router) pieceOf(h nats.Header) (node string, ok bool) {
	id, entry, expires := h.Get(headerID), h.Get(headerEntry), h.Get(headerExpires)
	ms, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || !validID(id) || time.Now().After(time.UnixMilli(ms)) {
		return "", false
	}
	public, ok := r.o.Nodes.Key(entry)
	if !ok {
		return "", false
	}
	key, err := r.secrets.of(entry, r.o.Node, public)
	if err != nil {
		return "", false
	}
	got, err := base64.RawStdEncoding.DecodeString(h.Get(headerPiece))
	return entry, err == nil && hmac.Equal(pieceToken(key, id, entry, r.o.Node, expires), got)
}

// errUnknownEntry refuses a call of a node that is not known.
var errUnknownEntry = errors.New("that node is not in the registry")

// verify returns the id and the entry node of a call to this node, or says why it must not be taken. Only a memory
// knows whether the call was taken before.
func (r *Router) verify(h nats.Header, body []byte, now time.Time) (id, entry string, err error) {
	id, entry = h.Get(headerID), h.Get(headerEntry)
	expires := h.Get(headerExpires)
	ms, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || !validID(id) {
		return "", "", errors.New("it has no id or no time")
	}
	public, ok := r.o.Nodes.Key(entry)
	if !ok {
		return id, entry, errUnknownEntry
	}
	key, err := r.secrets.of(entry, r.o.Node, public)
	if err != nil {
		return id, entry, fmt.Errorf("the key of node %s in the registry cannot be used: %w", entry, err)
	}
	got, err := base64.RawStdEncoding.DecodeString(h.Get(headerToken))
	if err != nil || !hmac.Equal(token(key, id, entry, r.o.Node, expires, body), got) {
		return id, entry, fmt.Errorf("its token is not one of node %s for this call", entry)
	}
	// Checked last, so that the error is about the clocks only where nothing else is wrong.
	switch at := time.UnixMilli(ms); {
	case now.After(at):
		return id, entry, fmt.Errorf("it came %v too late: do the clocks of the nodes agree?", now.Sub(at).Round(time.Second))
	case at.After(now.Add(2 * tokenLife)):
		return id, entry, fmt.Errorf("it is from the future, by %v: do the clocks of the nodes agree?",
			at.Sub(now.Add(tokenLife)).Round(time.Second))
	}
	return id, entry, nil
}

// idLength is the number of characters of a call's id: rand.Text, 130 random bits.
const idLength = 26

// validID reports whether an id can be one of rand.Text.
func validID(id string) bool {
	if len(id) != idLength {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// A memory knows which calls were taken, or were given up before they came, for as long as their tokens are good. Make it with newMemory.
type memory struct {
	most int // calls; 0: any number

	mu            sync.Mutex // guards the following
	recent, older map[string]struct{}
	turned        time.Time // when recent became empty
}

func newMemory(most int) *memory {
	return &memory{most: most, recent: make(map[string]struct{}), older: make(map[string]struct{})}
}

// first reports whether a call is taken for the first time.
func (m *memory) first(id string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.turned) > 3*tokenLife { // the longest that a token can be good for, with clocks that differ
		m.older, m.recent, m.turned = m.recent, make(map[string]struct{}), now
	}
	_, recent := m.recent[id]
	_, older := m.older[id]
	if m.most == 0 || len(m.recent)+len(m.older) < m.most {
		m.recent[id] = struct{}{}
	}
	return !recent && !older
}

// has reports whether a call is known.
func (m *memory) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, recent := m.recent[id]
	_, older := m.older[id]
	return recent || older
}
