package calls

import (
	"cmp"
	"slices"

	"ptyctl/internal/scrub"
	"ptyctl/term"
)

// An Entry is one call, or one change of a session.
type Entry struct {
	N       uint64   `json:"n"` // by which the entry is known
	Time    int64    `json:"t"` // of its end, in Unix milliseconds
	Verb    string   `json:"verb"`
	Who     string   `json:"who,omitempty"`
	Person  bool     `json:"person,omitempty"` // a person at the control socket did it
	Command string   `json:"command,omitempty"`
	Exec    string   `json:"exec,omitempty"`
	Running bool     `json:"running,omitempty"` // the command has not ended
	Typed   int      `json:"typed,omitempty"`   // bytes of text
	Keys    []string `json:"keys,omitempty"`
	Secret  bool     `json:"secret,omitempty"` // some of the text was a secret
	Path    string   `json:"path,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Took    int64    `json:"took,omitempty"` // milliseconds
	Exit    *int     `json:"exit,omitempty"`
	Signal  string   `json:"signal,omitempty"`
	Error   string   `json:"error,omitempty"` // code
	Refused bool     `json:"refused,omitempty"`
	Result  []Part   `json:"result,omitempty"` // as the caller got it
	Failed  bool     `json:"failed,omitempty"` // the result says that the call failed
	Dropped bool     `json:"dropped,omitempty"`

	changed uint64 // grows with each change of any entry
	serial  uint64 // of the call
}

const (
	mostKeys = 24  // of an entry
	mostText = 500 // bytes of a detail or a path
)

// add puts an event into the entry, which is new or has an earlier event of the same call.
func (x *Entry) add(e term.Event, command func(string) string) {
	x.Time = e.Time.UnixMilli()
	if x.Verb == "" || rank(e.Verb) > rank(term.Verb(x.Verb)) {
		x.Verb = string(e.Verb)
	}
	x.Person = e.Actor.Operator
	x.Who = cut(cmp.Or(e.Actor.Task, e.Actor.Agent, e.Actor.Client, e.Actor.Token, e.Actor.Transport), 80)
	if e.Command != "" {
		x.Command = command(cut(e.Command, 4<<10))
	}
	x.Took = max(x.Took, e.Duration.Milliseconds())
	switch e.Verb {
	case term.VerbWrite, term.VerbAnswer:
		x.input(e)
	case term.VerbExec:
		x.Exec, x.Running, x.Detail = e.Exec, e.Outcome() == nil, told(e.Detail)
	case term.VerbState:
		x.Detail = told(e.State + ": " + e.Detail)
		x.exit(e.Exit)
	case term.VerbRead:
		if x.Verb == string(term.VerbRead) {
			x.Detail = told(e.Detail)
		}
	case term.VerbFileRead, term.VerbFileWrite:
		x.Path = told(e.Path)
	default:
		x.Detail = told(e.Detail)
	}
	x.fail(e)
}

// input counts typed bytes, and notes the names of typed keys.
func (x *Entry) input(e term.Event) {
	x.Secret = x.Secret || e.Sensitive && !e.Actor.Operator // nothing that a person types is on record
	if e.Detail == "" || e.Sensitive {
		x.Typed += e.Size
		return
	}
	if len(x.Keys) < mostKeys {
		x.Keys = append(slices.Clip(x.Keys), cut(e.Detail, 40)) // watchers may hold the list before
	}
}

// ended notes the end of the command.
func (x *Entry) ended(e term.Event) {
	x.Time, x.Running = e.Time.UnixMilli(), false
	x.Took = max(x.Took, e.Duration.Milliseconds())
	if e.State != "ended" {
		x.Detail = cut(e.State, mostText)
	}
	x.exit(e.Exit)
	x.fail(e)
}

func (x *Entry) exit(exit *term.Exit) {
	if exit == nil || !exit.Known {
		return
	}
	if x.Signal = cut(exit.Signal, 40); x.Signal == "" {
		code := exit.Code
		x.Exit = &code
	}
}

func (x *Entry) fail(e term.Event) {
	if err := e.Outcome(); err != nil {
		x.Error, x.Refused = string(term.KindOf(err)), e.Refused != nil
	}
}

// rank orders the events of one call: the greatest one names its entry.
func rank(v term.Verb) int {
	switch v {
	case term.VerbRead:
		return 0
	case term.VerbState, term.VerbPlan, term.VerbQuestion:
		return 1
	case term.VerbSignal, term.VerbResize, term.VerbExpect:
		return 2
	case term.VerbWrite:
		return 3
	}
	return 4
}

// told returns a text of the session or its caller in the form that may be kept.
func told(s string) string { return cut(scrub.Text(cut(s, 4*mostText)), mostText) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 { // within a character
		n--
	}
	return s[:n]
}
