package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	Would   *Denial   `json:"would_deny,omitempty"`
	Session string    `json:"session,omitempty"`
	Proto   string    `json:"protocol,omitempty"`
	Host    string    `json:"host,omitempty"` // as the caller named it
	Actor   *Actor    `json:"actor,omitempty"`
	Exec    string    `json:"exec_id,omitempty"`
	Path    string    `json:"path,omitempty"`    // of a file or a folder
	Command string    `json:"command,omitempty"` // see Commands
	Digest  string    `json:"command_sha256,omitempty"`
	Length  int       `json:"command_bytes,omitempty"`
	Detail  string    `json:"detail,omitempty"`  // user@host:port, key, signal, size, lane, kind of question, reason, warnings
	Plan    string    `json:"plan,omitempty"`    // [plan] each hop as user@host:port with its addresses, host key policy and credentials; names of variables
	Consent string    `json:"consent,omitempty"` // the rule for which the person at the actor's client has agreed
	State   string    `json:"state,omitempty"`
	Bytes   int       `json:"bytes,omitempty"` // sent to the far side; of exec_end: its output; of a file: moved
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
	Agent     string `json:"agent_id,omitempty"`
	Evidence  string `json:"evidence_id,omitempty"`
	Call      string `json:"correlation_id,omitempty"`
}

// A Denial is why rules that are tried out would have refused an action that was allowed.
type Denial struct {
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"` // where the caller's own text may be kept, since it may be in it
}

// NewDenial returns what may be kept of the error of a Gate, for an action of that verb.
func NewDenial(verb term.Verb, err error, commands Commands) Denial {
	kept := func(s string) string { return cut(redact(cut(s, 4*maxDetail)), maxDetail) }
	var d Denial
	reason := err.Error()
	if e, ok := errors.AsType[*term.Error](err); ok {
		reason = e.Message()
		if e.Details != nil {
			d.Rule = kept(e.Details.Rule)
		}
	}
	if verb != term.VerbWrite && verb != term.VerbAnswer && (commands == CommandsRedacted || commands == "") {
		d.Reason = kept(reason)
	}
	return d
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
	maxPath    = 1 << 10
	maxCommand = 4 << 10
	maxPlan    = 4 << 10
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

// recorded reports whether e makes a line: not what is merely read.
func recorded(e term.Event) bool {
	switch e.Verb {
	case term.VerbOutput, term.VerbQuestion, term.VerbGone:
		return false
	case term.VerbRead: // unless the caller wants to be held to account for it
		return e.Actor.Agent != "" || e.Actor.Evidence != ""
	}
	return true
}

// newEntry makes a line of e, but for its place in the chain. It keeps nothing of what was typed.
func newEntry(e term.Event, commands Commands) Entry {
	n := Entry{
		Time: e.Time.UTC(), Event: string(e.Verb), Session: cut(e.Session, maxName), Proto: cut(e.Protocol, maxName),
		Host: cut(
			redact(e.Host),
			maxName,
		), Exec: cut(e.Exec, maxName), Path: cut(redact(cut(e.Path, 4*maxDetail)), maxPath), Detail: cut(redact(cut(e.Detail, 4*maxDetail)), maxDetail), State: e.State,
		Bytes: e.Size, Secret: e.Sensitive, Took: e.Duration.Microseconds(),
		Consent: cut(redact(e.Consent), maxDetail),
	}
	if e.Plan != nil {
		n.Plan = cut(redact(cut(e.Plan.String(), 2*maxPlan)), maxPlan)
	}
	if a := newActor(e.Actor); a != (Actor{}) {
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
	if e.Reported != nil {
		would := NewDenial(e.Verb, e.Reported, commands)
		n.Would = &would
	}
	n.Outcome, n.Refused = "ok", e.Refused != nil
	if err := e.Outcome(); err != nil {
		n.Outcome = string(term.KindOf(err))
	}
	return n
}

func newActor(a term.Actor) Actor {
	return Actor{
		Transport: cut(
			a.Transport,
			maxName,
		), Client: cut(a.Client, maxName), Version: cut(a.Version, maxName), Token: cut(a.Token, maxName),
		Task: cut(
			a.Task,
			maxName,
		), Agent: cut(redact(cut(a.Agent, 2*maxName)), maxName), Evidence: cut(redact(cut(a.Evidence, 2*maxName)), maxName),
		Call: cut(a.Call, maxName),
	}
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
