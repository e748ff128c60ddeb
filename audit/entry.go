package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"ptyctl/internal/scrub"
	"ptyctl/term"
)

// An Entry is one line of the log. Empty fields are omitted.
type Entry struct {
	Prev string    `json:"prev"` // SHA-256 of the line before in hex; zeros in the first line of the first file
	Time time.Time `json:"time"`
	PID  int       `json:"pid"`
	Node string    `json:"node,omitempty"` // of a cluster, that has written the line

	// Event is a term.Verb, or an event of the log itself: "file", "start", "stop", "lost",
	// "torn".
	Event   string  `json:"event"`
	Intent  bool    `json:"intent,omitempty"`  // written before the action; another line has the outcome
	Outcome string  `json:"outcome,omitempty"` // "ok", or an error code
	Refused bool    `json:"refused,omitempty"` // nothing was done
	Would   *Denial `json:"would_deny,omitempty"`
	Session string  `json:"session,omitempty"`
	Proto   string  `json:"protocol,omitempty"`
	Host    string  `json:"host,omitempty"` // as the caller wrote it
	Actor   *Actor  `json:"actor,omitempty"`
	Exec    string  `json:"exec_id,omitempty"`
	Copy    string  `json:"copy_id,omitempty"`  // [file_read, file_write, write] the copy that this is a part of
	Fleet   string  `json:"fleet_id,omitempty"` // the run over many hosts that this is a part of
	Path    string  `json:"path,omitempty"`     // of a file or folder
	Command string  `json:"command,omitempty"`  // see Commands
	Digest  string  `json:"command_sha256,omitempty"`
	Length  int     `json:"command_bytes,omitempty"`
	Detail  string  `json:"detail,omitempty"`  // for example user@host:port, key, signal, size, lane, reason
	Plan    string  `json:"plan,omitempty"`    // [plan] hops with addresses, host key policies and credentials
	Consent string  `json:"consent,omitempty"` // the rule to which a person has consented
	State   string  `json:"state,omitempty"`
	Bytes   int     `json:"bytes,omitempty"` // sent to the far side; exec_end: output; files: transferred
	Secret  bool    `json:"sensitive,omitempty"`
	Step    *int    `json:"step,omitempty"` // of a list of steps: its index, from 0
	Exit    *int    `json:"exit_code,omitempty"`
	Signal  string  `json:"exit_signal,omitempty"`
	// Took is the duration of the action in microseconds.
	Took      int64      `json:"duration_us,omitempty"`
	Self      *SelfNote  `json:"log,omitempty"`
	Recording *Recording `json:"recording,omitempty"` // [recording]
}

// A Recording describes the recording of a session at one moment, so that a later change of its file is
// found.
type Recording struct {
	Path   string `json:"path"`
	Seal   int    `json:"seal,omitempty"` // the number of its newest seal
	SHA256 string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"` // up to the end of the seal
	End    bool   `json:"end,omitempty"`   // nothing follows the seal

	// Of an encrypted recording: the size and the hash of its file.
	FileBytes  int64  `json:"file_bytes,omitempty"`
	FileSHA256 string `json:"file_sha256,omitempty"`

	Removed string `json:"removed,omitempty"` // the limit for which ptyctl has removed it
}

// An Actor is the caller of an action, as in term.Actor. The texts are those of the
// client and not verified, apart from the transport and the token's name.
type Actor struct {
	Transport string `json:"transport,omitempty"`
	Client    string `json:"client,omitempty"`
	Version   string `json:"version,omitempty"`
	Token     string `json:"token,omitempty"`  // name of the token, or "oauth:" and the subject of an access token
	Issuer    string `json:"issuer,omitempty"` // of that access token
	Shim      string `json:"shim,omitempty"`   // id of the client of the daemon
	Task      string `json:"task_id,omitempty"`
	Agent     string `json:"agent_id,omitempty"`
	Evidence  string `json:"evidence_id,omitempty"`
	Call      string `json:"correlation_id,omitempty"`
	PID       int    `json:"pid,omitempty"`        // of the process at the control socket
	Node      string `json:"entry_node,omitempty"` // of a cluster, that the caller is connected to, if that is another one
}

// A Denial says why a rule in trial mode would have refused an action that was allowed.
type Denial struct {
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"` // only where the caller's text may be kept, because it may contain that
}

// NewDenial returns the parts of a Gate's error that the log may keep for an action of
// the given verb.
func NewDenial(verb term.Verb, err error, commands Commands) Denial {
	kept := func(s string) string { return cut(scrub.Text(cut(s, 4*maxDetail)), maxDetail) }
	var d Denial
	reason := err.Error()
	if e, ok := errors.AsType[*term.Error](err); ok {
		reason = e.Message()
		d.Rule = kept(term.FactOf[term.Denial](e).Rule)
	}
	if verb != term.VerbWrite && verb != term.VerbAnswer && (commands == CommandsRedacted || commands == "") {
		d.Reason = kept(reason)
	}
	return d
}

// A SelfNote holds facts about the log itself.
type SelfNote struct {
	File    int64  `json:"file,omitempty"`    // [file] number of the file, from 1
	Program string `json:"program,omitempty"` // [start] version of ptyctl
	Lost    int64  `json:"lost,omitempty"`    // [lost, stop] lines lost since the last count
	// TornBytes and TornHash describe the line before this one, which was not finished: for
	// example ptyctl was killed while it wrote it.
	TornBytes int    `json:"torn_bytes,omitempty"`
	TornHash  string `json:"torn_sha256,omitempty"` // [torn]
}

// Events of the log itself.
const (
	eventFile  = "file"
	eventStart = "start"
	eventStop  = "stop"
	eventLost  = "lost"
	eventTorn  = "torn"

	eventRecording = "recording"
)

// Limits of the texts in a line, in bytes.
const (
	maxName    = 256
	maxToken   = maxName + len("oauth:") // two subjects must not be cut to one
	maxDetail  = 512
	maxPath    = 1 << 10
	maxCommand = 4 << 10
	maxPlan    = 4 << 10
	maxLine    = 64 << 10 // JSON encodes one byte as at most six
)

// A Commands selects the part of a command's text that the log keeps.
type Commands string

// Values of Commands.
const (
	CommandsRedacted Commands = "redacted" // text without secrets
	CommandsHash     Commands = "hash"     // SHA-256 and length, to compare with a known command
	CommandsNone     Commands = "none"     // length only
)

// recorded reports whether e is written to the log. Reads are not, unless the caller
// identifies itself with an agent or evidence id, because they would be most of the log.
func recorded(e term.Event) bool {
	switch e.Verb {
	case term.VerbOutput, term.VerbQuestion, term.VerbGone:
		return false
	case term.VerbRead: // unless the caller wants to be held to account for it
		return e.Actor.Agent != "" || e.Actor.Evidence != ""
	}
	return true
}

// newEntry converts e to an entry without its position in the chain. It must not keep any
// typed text.
func newEntry(e term.Event, commands Commands) Entry {
	n := Entry{
		Time: e.Time.UTC(), Event: string(e.Verb), State: e.State,
		Session: cut(e.Session, maxName), Proto: cut(e.Protocol, maxName), Host: cut(scrub.Text(e.Host), maxName),
		Exec:   cut(e.Exec, maxName),
		Copy:   cut(e.Copy, maxName),
		Fleet:  cut(e.Fleet, maxName),
		Path:   cut(scrub.Text(cut(e.Path, 4*maxDetail)), maxPath),
		Detail: cut(scrub.Text(cut(e.Detail, 4*maxDetail)), maxDetail),
		Bytes:  e.Size, Secret: e.Sensitive, Step: e.Step, Took: e.Duration.Microseconds(),
		Consent: cut(scrub.Text(e.Consent), maxDetail),
	}
	if e.Plan != nil {
		n.Plan = cut(scrub.Text(cut(e.Plan.String(), 2*maxPlan)), maxPlan)
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
			n.Command = cut(scrub.Text(cut(e.Command, 2*maxCommand)), maxCommand)
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

// newActor converts a caller. Texts that the caller chooses freely may hold secrets and
// are redacted.
func newActor(a term.Actor) Actor {
	return Actor{
		Transport: cut(cmp.Or(a.Via, a.Transport), maxName),
		Client:    cut(a.Client, maxName),
		Version:   cut(a.Version, maxName),
		Token:     cut(a.Token, maxToken),
		Issuer:    cut(a.Issuer, maxName),
		Shim:      cut(a.Shim, maxName),
		Task:      cut(a.Task, maxName),
		Agent:     cut(scrub.Text(cut(a.Agent, 2*maxName)), maxName),
		Evidence:  cut(scrub.Text(cut(a.Evidence, 2*maxName)), maxName),
		Call:      cut(a.Call, maxName),
		PID:       max(a.PID, 0),
		Node:      cut(a.Node, maxName),
	}
}

// encode returns the entry as a line, including its line end.
func (n Entry) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(n)
	return b.Bytes(), err
}

// cut shortens s to n bytes and appends the number of bytes removed.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "[... " + strconv.Itoa(len(s)-n) + " bytes more]"
}

// origin is the previous hash of the very first line.
var origin = strings.Repeat("0", 2*sha256.Size)

// digest returns the SHA-256 of p in hex.
func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
