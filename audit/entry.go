package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"ptyctl/term"
)

// An Entry is one line. Fields that say nothing are left out of it.
type Entry struct {
	Prev string    `json:"prev"` // SHA-256 of the line before, in hex; zeros in the first line of all
	Time time.Time `json:"time"`
	PID  int       `json:"pid"`

	// Event is a term.Verb, or what happened to the log itself: "file", "start", "stop", "lost", "torn".
	Event   string    `json:"event"`
	Intent  bool      `json:"intent,omitempty"`  // written before the action, which waits for it; another line tells the outcome
	Outcome string    `json:"outcome,omitempty"` // "ok", or the error_code
	Refused bool      `json:"refused,omitempty"` // nothing of it was done
	Session string    `json:"session,omitempty"`
	Proto   string    `json:"protocol,omitempty"`
	Host    string    `json:"host,omitempty"` // as the caller named it
	Actor   *Actor    `json:"actor,omitempty"`
	Exec    string    `json:"exec_id,omitempty"`
	Command string    `json:"command,omitempty"` // see Commands
	Digest  string    `json:"command_sha256,omitempty"`
	Length  int       `json:"command_bytes,omitempty"`
	Detail  string    `json:"detail,omitempty"`  // user@host:port, key, signal, size, lane, kind of question, reason, warnings
	Consent string    `json:"consent,omitempty"` // the rule for which the person at the actor's client has agreed
	State   string    `json:"state,omitempty"`
	Bytes   int       `json:"bytes,omitempty"` // sent to the far side; of exec_end: its output
	Secret  bool      `json:"sensitive,omitempty"`
	Exit    *int      `json:"exit_code,omitempty"`
	Signal  string    `json:"exit_signal,omitempty"`
	Took    int64     `json:"duration_us,omitempty"`
	Self    *SelfNote `json:"log,omitempty"`
}

// An Actor is who did it, as term.Actor.
type Actor struct {
	Transport string `json:"transport,omitempty"`
	Client    string `json:"client,omitempty"`
	Version   string `json:"version,omitempty"`
	Token     string `json:"token,omitempty"` // its name
	Task      string `json:"task_id,omitempty"`
}

// A SelfNote is what a line says about the log itself.
type SelfNote struct {
	File      int64  `json:"file,omitempty"`    // [file] its number, from 1
	Program   string `json:"program,omitempty"` // [start] version
	Lost      int64  `json:"lost,omitempty"`    // [lost, stop] lines that could not be kept since the last such count
	TornBytes int    `json:"torn_bytes,omitempty"`
	TornHash  string `json:"torn_sha256,omitempty"` // [torn] of the line before this one, which was never finished
}

// The events of the log itself.
const (
	eventFile  = "file"
	eventStart = "start"
	eventStop  = "stop"
	eventLost  = "lost"
	eventTorn  = "torn"
)

// Bounds of the text in a line, in bytes.
const (
	maxName    = 256
	maxDetail  = 512
	maxCommand = 4 << 10
	maxLine    = 64 << 10 // JSON makes at most six bytes of one
)

// A Commands says how much of a command's text is kept.
type Commands string

// The choices.
const (
	CommandsRedacted Commands = "redacted" // the text, without what looks like a secret
	CommandsHash     Commands = "hash"     // its SHA-256 and length: enough to recognise a command that is known
	CommandsNone     Commands = "none"     // its length
)

// recorded reports whether events of that verb make lines: not what is merely read.
func recorded(v term.Verb) bool {
	switch v {
	case term.VerbOutput, term.VerbRead, term.VerbQuestion, term.VerbGone:
		return false
	}
	return true
}

// newEntry makes a line of e, but for its place in the chain. It keeps nothing of what was typed.
func newEntry(e term.Event, commands Commands) Entry {
	n := Entry{
		Time: e.Time.UTC(), Event: string(e.Verb), Session: cut(e.Session, maxName), Proto: cut(e.Protocol, maxName),
		Host: cut(redact(e.Host), maxName), Exec: cut(e.Exec, maxName), Detail: cut(redact(cut(e.Detail, 4*maxDetail)), maxDetail), State: e.State,
		Consent: cut(redact(e.Consent), maxDetail),
		Bytes:   e.Size, Secret: e.Sensitive, Took: e.Duration.Microseconds(),
	}
	if a := (Actor{cut(e.Actor.Transport, maxName), cut(e.Actor.Client, maxName), cut(e.Actor.Version, maxName), cut(e.Actor.Token, maxName), cut(e.Actor.Task, maxName)}); a != (Actor{}) {
		n.Actor = &a
	}
	if e.Command != "" {
		n.Length = len(e.Command)
		switch commands {
		case CommandsNone:
		case CommandsHash:
			n.Digest = digest([]byte(e.Command))
		default:
			n.Command = cut(redact(cut(e.Command, 2*maxCommand)), maxCommand)
		}
	}
	if x := e.Exit; x != nil && x.Known {
		if n.Signal = x.Signal; x.Signal == "" {
			n.Exit = &x.Code
		}
	}
	n.Outcome, n.Refused = "ok", e.Refused != nil
	if err := e.Outcome(); err != nil {
		n.Outcome = string(term.KindOf(err))
	}
	return n
}

// encode returns the line, with its line end.
func (n Entry) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(n)
	return b.Bytes(), err
}

// cut shortens s to n bytes and says by how much.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "[... " + strconv.Itoa(len(s)-n) + " bytes more]"
}

// origin is what the first line of all has for a line before it.
var origin = strings.Repeat("0", 2*sha256.Size)

// digest is the SHA-256 of p, in hex.
func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
