package wire

import (
	"cmp"
	"strings"

	"ptyctl/session"
	"ptyctl/term"
)

// Details are the facts behind an error, as they are on the wire. Which members there are depends on its kind.
type Details struct {
	// INVALID_ARGUMENT
	Field    string   `json:"field,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`  // fields, or values of Field
	Example  string   `json:"example,omitempty"`  // arguments of a correct call, as JSON
	Position string   `json:"position,omitempty"` // where in the value, for patterns

	// LOCKED, LOCK_REQUIRED
	LockHolder    string `json:"lock_holder,omitempty"`     // the task, or the person's name
	LockExpiresAt int64  `json:"lock_expires_at,omitempty"` // Unix milliseconds
	TakenOverBy   string `json:"taken_over_by,omitempty"`   // task that took the caller's lock over
	TypedSince    *int64 `json:"typed_since,omitempty"`     // bytes that others have typed since then

	BytesWritten *int `json:"bytes_written,omitempty"` // by a write that failed afterwards

	DeviceOwner *DeviceOwner `json:"device_owner,omitempty"` // LOCKED: the process that has the console

	Node string `json:"node,omitempty"` // NODE_UNREACHABLE, NODE_SILENT: the node of the cluster that has not answered

	// CONNECT_*, AUTH_FAILED, HOSTKEY_*
	Ladder         []Hop    `json:"ladder,omitempty"`
	Hop            string   `json:"hop,omitempty"` // user@host:port where it happened
	MethodsTried   []string `json:"methods_tried,omitempty"`
	MethodsAllowed []string `json:"methods_allowed,omitempty"`
	KeysOffered    []string `json:"keys_offered,omitempty"` // fingerprints
	KeysUntried    []string `json:"keys_untried,omitempty"` // the keys that the server did not wait for
	ServerMessage  string   `json:"server_message,omitempty"`

	// HOSTKEY_*
	HostKeyType  string     `json:"host_key_type,omitempty"`
	Fingerprint  string     `json:"fingerprint,omitempty"` // offered by the server
	Recorded     []KnownKey `json:"recorded,omitempty"`
	KnownHosts   []string   `json:"known_hosts,omitempty"` // files that were read
	ServerOffers []string   `json:"server_offers,omitempty"`

	Warnings []string `json:"warnings,omitempty"` // about the configuration that led there

	// LIMIT_EXCEEDED, POLICY_DENIED
	Limit string `json:"limit,omitempty"` // configuration key
	Value int64  `json:"value,omitempty"`
	Rule  string `json:"rule,omitempty"`

	// BUSY
	Prompt     *Prompt  `json:"prompt,omitempty"`      // of a login that waits for its answer
	WaitingFor *Waiting `json:"waiting_for,omitempty"` // of a terminal

	SessionIDs []string `json:"session_ids,omitempty"` // of logins that wait for an answer

	PromptRegex string `json:"prompt_regex,omitempty"` // for expect.prompt_regex, if the last line is a prompt

	// ALREADY_CLOSED, REMOTE_CLOSED
	EndReason string `json:"end_reason,omitempty"`
	EndCode   string `json:"end_code,omitempty"`
}

// DetailsOf returns the facts behind an error, with their wire names, or nil if the error has no facts.
func DetailsOf(e *term.Error) *Details {
	if len(e.Facts) == 0 {
		return nil
	}
	// Each type of fact fills its own members. A fact that this version does not know is left out.
	d := new(Details)
	for _, f := range e.Facts {
		switch f := f.(type) {
		case term.ArgumentFault:
			d.Field, d.Allowed, d.Example, d.Position = argumentName(f.Field), f.Allowed, f.Example, f.Position
		case term.LockConflict:
			d.LockHolder, d.LockExpiresAt = f.Holder, Millis(f.Expires)
		case term.TakenOver:
			d.TakenOverBy, d.TypedSince = f.By, &f.Typed
		case term.PartialWrite:
			d.BytesWritten = &f.Written
		case term.DeviceOwner:
			d.DeviceOwner = &DeviceOwner{Node: f.Node, PID: f.PID, Socket: f.Socket, SessionID: f.SessionID, Since: Millis(f.Since)}
		case term.UnreachedNode:
			d.Node = f.Node
		case term.ConnectFailure:
			d.Ladder, d.Hop = ladder(f.Ladder), f.Hop
			if !strings.Contains(e.Msg, f.ServerMessage) { // once is enough
				d.ServerMessage = f.ServerMessage
			}
			d.MethodsTried, d.MethodsAllowed, d.KeysOffered = f.MethodsTried, f.MethodsAllowed, f.KeysOffered
			d.KeysUntried = f.KeysUntried
			d.ServerOffers, d.Warnings = f.ServerOffers, f.Warnings
		case term.HostKeyFailure:
			d.HostKeyType, d.Fingerprint, d.KnownHosts = f.Type, f.Fingerprint, f.KnownHosts
			for _, k := range f.Recorded {
				d.Recorded = append(d.Recorded, KnownKey(k))
			}
		case term.LimitReached:
			d.Limit, d.Value = LimitName(f.Limit), f.Value
		// The rule comes with its origin where there is one; a feature that is off has only the key of its
		// setting.
		case term.Denial:
			d.Rule = cmp.Or(f.Rule, settingKeys[f.Setting])
			// An argument's allowed values are closer to the error than the entries of a rule.
			if d.Allowed == nil {
				d.Allowed = f.Allowed
			}
		case term.Prompt:
			d.Prompt = (*Prompt)(&f)
		case term.Occupied:
			d.WaitingFor, d.PromptRegex = (*Waiting)(f.Waiting), f.Pattern
		case term.Unanswered:
			d.SessionIDs = f.Sessions
		case term.Ended:
			if d.EndCode = f.Code; !strings.Contains(e.Msg, f.Reason) {
				d.EndReason = f.Reason
			}
		}
	}
	return d
}

// argumentName is the name of a field on the wire. A field of the tools themselves has it already.
func argumentName(f term.Field) string {
	list, index, _ := strings.Cut(string(f), "[")
	name, ok := arguments[term.Field(list)]
	switch {
	case !ok:
		return string(f)
	case index != "":
		name += "[" + index
	}
	return name
}

// The types below are types of package term with the wire names of their fields. A conversion between the two compiles
// only while their fields are the same.

// DeviceOwner is the process that has the session of a console device.
type DeviceOwner struct {
	Node      string `json:"node,omitempty"` // of a cluster; empty: it is on this machine
	PID       int    `json:"pid"`
	Socket    string `json:"socket,omitempty"` // where it can be reached; empty: nowhere
	SessionID string `json:"session_id,omitempty"`
	Since     int64  `json:"since,omitempty"` // Unix milliseconds
}

// KnownKey is a host key on record.
type KnownKey struct {
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	Type        string `json:"type,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// Hop is one host on the way to a terminal, with the steps that were reached.
type Hop struct {
	Host    string `json:"host"`
	Port    int    `json:"port,omitempty"`
	User    string `json:"user,omitempty"`
	Address string `json:"address,omitempty"` // numeric address and port, once connected
	Steps   []Step `json:"steps,omitempty"`
}

// Step is one step of a connection.
type Step struct {
	Name       string `json:"name"`
	OK         bool   `json:"ok" compact:"keep"`
	DurationMS int64  `json:"duration_ms"`
	Detail     string `json:"detail,omitempty"`
}

// hopCompact is the compact form of Hop. It is a separate type without a Compact method.
type hopCompact Hop

// told is the shortest duration of a step that a compact result includes, in milliseconds.
const told = 1000

// Compact leaves out the steps that went well and took no time.
func (h Hop) Compact() any {
	c := hopCompact(h)
	c.Steps = nil
	for _, s := range h.Steps {
		if s.DurationMS < told {
			s.DurationMS = 0
		}
		if !s.OK || s.DurationMS > 0 || s.Detail != "" {
			c.Steps = append(c.Steps, s)
		}
	}
	return c
}

func ladder(hops []term.Hop) (out []Hop) {
	for _, h := range hops {
		hop := Hop{Host: h.Host, Port: h.Port, User: h.User, Address: h.Address}
		for _, s := range h.Steps {
			hop.Steps = append(hop.Steps, Step(s))
		}
		out = append(out, hop)
	}
	return out
}

// Prompt is one question of a login.
type Prompt struct {
	Hop   int             `json:"hop"` // 0: the first host
	User  string          `json:"user,omitempty"`
	Host  string          `json:"host,omitempty"`
	Kind  term.PromptKind `json:"kind"`
	Text  string          `json:"text,omitempty"`  // empty: it is long, and in the output of this result
	Echo  bool            `json:"echo"`            // the answer is no secret and may be shown
	Index int             `json:"index,omitempty"` // number of the question in its round, from 1
	Of    int             `json:"of,omitempty"`    // questions in the round

	Secret string `json:"secret,omitempty"` // name of the secret for which a person is asked, and not the caller
}

// Person is the WaitingFor of a login that waits for a person and not for the caller; nil of any other.
func (p *Prompt) Person() *Waiting {
	if p == nil || p.Secret == "" {
		return nil
	}
	return &Waiting{Kind: term.ForPerson, Text: "secret " + p.Secret}
}

// PersonOf returns the WaitingFor of a session if its login waits for a person and not for the caller: for the answer
// to its question p, or for their consent. Otherwise it returns nil.
func PersonOf(s *session.Session, p *Prompt) *Waiting {
	if w := p.Person(); w != nil {
		return w
	}
	return (*Waiting)(s.ServerView().WaitsForPerson())
}

// Waiting is the kind of input for which a terminal seems to wait.
type Waiting struct {
	Kind string `json:"kind"` // password, yes_no, pager, login, host_key, editor, repl, prompt, unknown, person
	Text string `json:"text"` // the line, as a person sees it
}

// Behind is the compact form of w in a result with output: without the text, if the output ends with it.
func (w *Waiting) Behind(output string) *Waiting {
	if w == nil || !strings.HasSuffix(strings.TrimRight(output, " "), strings.TrimRight(w.Text, " ")) {
		return w
	}
	return &Waiting{Kind: w.Kind}
}

// Shown returns the compact form of w in a result with a screen: without the text if the screen shows it, and nil for
// an editor, because the screen shows more about it.
func (w *Waiting) Shown(screen string) *Waiting {
	switch {
	case w == nil || w.Kind == "editor":
		return nil
	case strings.Contains(screen, strings.TrimSpace(w.Text)):
		return &Waiting{Kind: w.Kind}
	}
	return w
}

// algorithms are the algorithms of an SSH connection.
type algorithms struct {
	Kex     string `json:"kex,omitempty"`
	HostKey string `json:"host_key,omitempty"`
	Cipher  string `json:"cipher,omitempty"`
	MAC     string `json:"mac,omitempty"` // empty with an AEAD cipher
}

// tlsView describes the TLS protection of a connection that is not SSH.
type tlsView struct {
	Version     string `json:"version"` // "TLS 1.3"
	CipherSuite string `json:"cipher_suite"`
	Certificate string `json:"certificate"` // fingerprint of the server's, "SHA256:..."
	Verified    string `json:"verified"`    // "chain": by authority and name; "pin": by fingerprint; "no"
}

// Telnet is the present state of a Telnet connection.
type Telnet struct {
	Raw        bool     `json:"raw"`                  // the far side has not spoken Telnet: bytes go as they are
	Local      []string `json:"local,omitempty"`      // options performed by us
	Remote     []string `json:"remote,omitempty"`     // options performed by the far side
	RemoteEcho bool     `json:"remote_echo"`          // it echoes typed input
	BinaryIn   bool     `json:"binary_in"`            // it sends eight bits
	BinaryOut  bool     `json:"binary_out"`           // it takes eight bits
	Terminal   string   `json:"terminal,omitempty"`   // the terminal name sent last
	Cols       int      `json:"cols,omitempty"`       // the window size sent last
	Rows       int      `json:"rows,omitempty"`       //
	Enter      string   `json:"enter"`                // bytes of the enter key: "cr", "crlf", "crnul", "lf"
	Charset    string   `json:"charset,omitempty"`    // agreed by RFC 2066
	Serial     bool     `json:"serial,omitempty"`     // speed, framing and break of a serial line can be set (RFC 2217)
	Suppressed int64    `json:"suppressed,omitempty"` // requests left unanswered because there were too many
	Malformed  int64    `json:"malformed,omitempty"`  // commands that made no sense
}

// Serial is a serial line as it was set when its session was opened.
type Serial struct {
	Path     string   `json:"path,omitempty"` // the device of this machine, without links
	Baud     int      `json:"baud,omitempty"`
	DataBits int      `json:"data_bits,omitempty"`
	Parity   string   `json:"parity,omitempty"`
	StopBits int      `json:"stop_bits,omitempty"`
	Flow     string   `json:"flow,omitempty"`
	Signals  []string `json:"signals,omitempty"` // of the far side that were on: "cts", "dsr", "ri", "dcd"
}

// Capabilities are the features that one session supports.
type Capabilities struct {
	SplitStdoutStderr term.Support `json:"supports_split_stdout_stderr"`
	ExitCode          term.Support `json:"supports_exit_code"`
	Resize            term.Support `json:"supports_resize"`
	Signal            term.Support `json:"supports_signal"`
	ParallelExec      term.Support `json:"supports_parallel_exec"`
}
