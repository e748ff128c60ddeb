package consent

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"ptyctl/term"
)

// A Call is a call that needs consent.
type Call struct {
	Actor     term.Actor
	Tool      string
	Action    string          // of the tool, or its verb
	Session   string          // that it names; empty: none
	Verb      term.Verb       // shown to people
	Arguments json.RawMessage // of the call
	Attempt   string          // the argument that names the attempt and not the action; empty: no argument
	Wanted    term.Consent    // as the rules have judged it

	// Asked is called once the question waits; nil: it is not called. over is closed when it is answered or withdrawn.
	Asked func(q Question, over <-chan struct{})
}

// A fingerprint is the same for the same calls.
type fingerprint struct {
	by  term.Principal
	sum [sha256.Size]byte
}

// A hasher makes fingerprints. Its key is random, since the arguments may hold a password.
type hasher struct{ key [32]byte }

func newHasher() (h hasher) {
	_, _ = rand.Read(h.key[:]) // never fails
	return h
}

// of returns the fingerprint of a call. Calls are the same if they have the same caller, task, action and arguments,
// however the arguments are written. The rule that asks does not matter, as long as one does.
func (h *hasher) of(c Call) fingerprint {
	mac := hmac.New(sha256.New, h.key[:])
	a, w := c.Actor, c.Wanted
	fmt.Fprintf(mac, "%q %q %q %q %q %q ", a.Task, a.Client, c.Tool, c.Action, c.Session, canonical(c.Arguments, c.Attempt))
	fmt.Fprintf(mac, "%q %q %q %q %q %q %t %q %t %t", w.Protocol, w.Host, w.User, w.Dir, w.Env, w.Text, w.Typed,
		w.Secret, w.Value, w.Lasting)
	f := fingerprint{by: a.Principal()}
	mac.Sum(f.sum[:0])
	return f
}

// canonical writes arguments in one way, with the members in order and without the one that names the attempt.
func canonical(raw json.RawMessage, attempt string) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // as float64 two numbers could become one
	var args any
	if d.Decode(&args) != nil {
		return raw
	}
	if members, ok := args.(map[string]any); ok && attempt != "" {
		delete(members, attempt)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return raw
	}
	return text
}

// The longest action that a person is asked about, in runes, and its most lines.
const (
	maxShown = 2000
	maxLines = 30
)

// Showable reports whether a person can be shown all of an action exactly: they must see all that they allow.
func Showable(w term.Consent) bool {
	text := Lines(w)
	shown := text + w.Dir + w.Env
	return utf8.RuneCountInString(shown) <= maxShown && term.Foreign(shown, 4*maxShown) == shown &&
		!strings.Contains(shown, "\t") && strings.Count(shown, "\n") <= maxLines && !strings.Contains(w.Dir, "\n")
}

// Lines returns the text of an action with line feeds for the carriage returns that enter its lines.
func Lines(w term.Consent) string { return strings.ReplaceAll(w.Text, "\r", "\n") }
