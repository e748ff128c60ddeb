package wire

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ptyctl/session"
	"ptyctl/session/forward"
	"ptyctl/term"
)

// ListEntry is a session in the result of list: enough to choose one.
type ListEntry struct {
	SessionID    string          `json:"session_id"`
	SessionType  string          `json:"session_type"`
	DeviceID     string          `json:"device_id,omitempty"`
	Protocol     string          `json:"protocol"`
	Host         string          `json:"host"`
	State        session.State   `json:"state"`
	EndCode      session.EndCode `json:"end_code,omitempty"`
	EndReason    string          `json:"end_reason,omitempty"`
	ExitCode     *int            `json:"exit_code,omitempty"`
	ExitSignal   string          `json:"exit_signal,omitempty"`
	Usage        *Usage          `json:"usage,omitempty"`
	PID          int             `json:"pid,omitempty"` // of a local session, like the next two
	Title        string          `json:"title,omitempty"`
	Argv         []string        `json:"argv,omitempty"`
	CreatedAt    int64           `json:"created_at"`              // Unix milliseconds, like all times here
	LastActivity int64           `json:"last_activity,omitempty"` // in either direction
	LockHolder   string          `json:"lock_holder,omitempty"`
	Waiting      bool            `json:"waiting_for_input,omitempty"`
	Auto         bool            `json:"auto,omitempty"` // opened for a command, and closes when it is not used
	Capabilities *Capabilities   `json:"capabilities,omitempty"`

	Resumable bool   `json:"resumable,omitempty"`      // left by a client before the caller, which may adopt it
	Orphaned  int64  `json:"orphaned_since,omitempty"` // when its client went, and no other has come
	Owner     string `json:"owner,omitempty"`          // for a person: the client that has it
	Daemon    string `json:"daemon,omitempty"`         // "older" or "newer": another version's, which this one cannot use
}

// Brief is the compact form of an entry: the members that identify it, and those with an unusual value.
func (e ListEntry) Brief() ListEntry {
	b := ListEntry{
		SessionID: e.SessionID, DeviceID: e.DeviceID, Host: e.Host, EndCode: e.EndCode, ExitCode: e.ExitCode,
		ExitSignal: e.ExitSignal, Title: e.Title, LockHolder: e.LockHolder, Waiting: e.Waiting, Auto: e.Auto,
		Resumable: e.Resumable, Orphaned: e.Orphaned, Owner: e.Owner, Daemon: e.Daemon,
	}
	if e.SessionType == "exec" && !e.Auto {
		b.SessionType = e.SessionType
	}
	if e.Protocol != "ssh" {
		b.Protocol = e.Protocol
	}
	// The id has the host in front of its random end.
	if i := strings.LastIndexByte(e.SessionID, '-'); e.Protocol == "local" || i > 0 && e.SessionID[:i] == e.Host {
		b.Host = ""
	}
	if e.State != session.Open {
		b.State = e.State
	}
	// A session with an exit code has exited, and any other was closed by a caller, unless another end is named.
	usual := session.EndClosed
	if e.ExitCode != nil || e.ExitSignal != "" {
		usual = session.EndExited
	}
	if e.State == session.Closed && e.EndCode == usual {
		b.EndCode = ""
	}
	return b
}

// NewListEntry is the wire form of a session in a list, for a caller with these words.
func NewListEntry(i session.Info, w Words) ListEntry {
	e := ListEntry{
		SessionID: i.ID, SessionType: sessionType(i), DeviceID: i.Device, Protocol: i.Protocol, Host: i.Host,
		State: i.State, EndCode: i.End.Code, EndReason: w.EndReason(i.End),
		CreatedAt: i.Created.UnixMilli(), LastActivity: max(Millis(i.LastIn), Millis(i.LastOut)), Waiting: i.Prompt != nil,
		Auto: i.Auto, Orphaned: Millis(i.Owner.Orphaned),
	}
	if i.Lease != nil {
		e.LockHolder = i.Lease.Holder.String()
	}
	if p := i.About.Process; p != nil {
		e.PID, e.Title, e.Argv = p.PID, p.Title, p.Argv
	}
	e.ExitCode, e.ExitSignal, e.Usage = Exit(i.End.ProgramExit())
	if i.TerminalExit.Known && !i.State.Ended() { // the session goes on, for commands
		e.ExitCode, _, _ = Exit(i.TerminalExit)
	}
	// Unknown until the session is open; all-empty capabilities would say that nothing is supported.
	if i.About.Capabilities != (term.Capabilities{}) {
		e.Capabilities = (*Capabilities)(&i.About.Capabilities)
	}
	return e
}

// sessionType returns the wire name of a session's type.
func sessionType(i session.Info) string {
	// A console is known by its device: there is no other mark of it.
	if i.Device != "" {
		return "console"
	}
	if i.About.NoTerminal != "" || i.Auto { // also while it connects
		return "exec"
	}
	return "normal"
}

// SessionStatus is everything known about one session. Times are in Unix milliseconds, sizes in bytes.
type SessionStatus struct {
	ListEntry
	EndedAt       int64       `json:"ended_at,omitempty"`
	Cwd           string      `json:"cwd,omitempty"`             // local, like the next three
	Limits        *limitsOut  `json:"limits,omitempty"`          // that hold for the program
	LimitMet      string      `json:"limit_exceeded,omitempty"`  // by the program
	Suspected     []string    `json:"limit_suspected,omitempty"` // that may have made it fail
	Profile       string      `json:"profile,omitempty"`         // of the patterns; ptyctl_session_config get shows them
	PTY           bool        `json:"pty_enabled"`
	Cols          int         `json:"cols,omitempty"`
	Rows          int         `json:"rows,omitempty"`
	ResizedAt     int64       `json:"resized_at,string,omitempty"` // the cursor from which on that is its size
	Term          string      `json:"term,omitempty"`
	BytesIn       int64       `json:"bytes_in"`
	BytesOut      int64       `json:"bytes_out"`
	LastIn        int64       `json:"last_in,omitempty"`
	LastOut       int64       `json:"last_out,omitempty"`
	DrainedAt     int64       `json:"drained_at,omitempty"`
	DroppedBytes  int64       `json:"dropped_bytes,omitempty"`
	BufferedBytes int64       `json:"buffered_bytes"`
	BufferLimit   int         `json:"buffer_limit_bytes"`
	Execs         int64       `json:"execs"`
	Running       []string    `json:"running_exec_ids,omitempty"`
	Unfetched     []string    `json:"unfetched_exec_ids,omitempty"`
	Readers       int64       `json:"waiting_readers,omitempty"`
	LockExpiresAt int64       `json:"lock_expires_at,omitempty"`
	LockEpoch     int64       `json:"lock_epoch,omitempty"`
	ServerVersion string      `json:"server_version,omitempty"`
	ServerBanner  string      `json:"server_banner,omitempty"`
	HostKey       string      `json:"host_key_fingerprint,omitempty"`
	AuthMethod    string      `json:"auth_method,omitempty"`
	Algorithms    *algorithms `json:"algorithms,omitempty"`
	Security      string      `json:"security_warning,omitempty"`
	TLS           *tlsView    `json:"tls,omitempty"`
	Telnet        *Telnet     `json:"telnet,omitempty"`
	Serial        *Serial     `json:"serial,omitempty"`
	Ladder        []Hop       `json:"ladder,omitempty"`
	Warnings      []string    `json:"warnings,omitempty"`
	TypingDenied  string      `json:"typing_denied_by,omitempty"` // the operator's rule that refuses this caller's input
	Opens         int64       `json:"opens,omitempty"`            // how often it was opened, if it was reopened
	Gaps          []string    `json:"gaps,omitempty"`             // the cursors between its connections
	Reopening     *Reopening  `json:"reopening,omitempty"`        // an attempt has failed, and more follow
	TxEvents      []TxEvent   `json:"tx_events,omitempty"`        // oldest first; only if the operator wants them
	Forwards      []Forward   `json:"forwards,omitempty"`         // oldest first
}

// Forward describes a forward of a session.
type Forward struct {
	To          string `json:"to"`
	Socket      string `json:"socket,omitempty"`
	Address     string `json:"address,omitempty"`     // 127.0.0.1:PORT, in place of a socket
	Connections int    `json:"connections,omitempty"` // at this moment
	Total       int64  `json:"total_connections,omitempty"`
	Refused     int64  `json:"refused_connections,omitempty"` // too many at a time
	Failed      int64  `json:"failed_connections,omitempty"`  // that the far side did not make
	Sent        int64  `json:"bytes_sent"`
	Received    int64  `json:"bytes_received"`
	LastError   string `json:"last_error,omitempty"`
}

// NewForwards is the wire form of forwards.
func NewForwards(list []forward.Info) []Forward {
	out := make([]Forward, len(list))
	for i, f := range list {
		out[i] = Forward{
			To: f.To, Socket: f.Socket, Address: f.Address, Connections: f.Connections, Total: f.Total, Refused: f.Refused,
			Failed: f.Failed, Sent: f.Sent, Received: f.Received, LastError: f.LastError,
		}
	}
	return out
}

// Brief returns the compact form of a status. It leaves out the steps of an established connection, unless one has
// failed.
func (st SessionStatus) Brief() SessionStatus {
	underWay := st.State == session.Connecting || st.State == session.Authenticating
	failed := func(h Hop) bool { return slices.ContainsFunc(h.Steps, func(s Step) bool { return !s.OK }) }
	if !underWay && !slices.ContainsFunc(st.Ladder, failed) {
		st.Ladder = nil
	}
	return st
}

// TxEvent says that something was typed, never what.
type TxEvent struct {
	At        int64     `json:"at"`
	Verb      term.Verb `json:"verb"` // write, answer or exec
	TaskID    string    `json:"task_id,omitempty"`
	Bytes     int       `json:"bytes,omitempty"` // left out for sensitive input
	Key       string    `json:"key,omitempty"`
	Sensitive bool      `json:"sensitive,omitempty"`
	Reason    string    `json:"reason,omitempty"` // of a key that ptyctl itself pressed
	Step      *int      `json:"step,omitempty"`   // of a list of steps: its index, from 0
}

// NewTxEvents is the wire form of a session's recent input.
func NewTxEvents(events []session.TxEvent) []TxEvent {
	out := make([]TxEvent, len(events))
	for i, e := range events {
		out[i] = TxEvent{
			At:        Millis(e.Time),
			Verb:      e.Verb,
			TaskID:    e.Task,
			Bytes:     e.Bytes,
			Key:       e.Key,
			Sensitive: e.Sensitive,
			Reason:    e.Reason,
			Step:      e.Step,
		}
	}
	return out
}

// NewSessionStatus is the wire form of everything known about a session, except its patterns and its recent input.
func NewSessionStatus(i session.Info, w Words) *SessionStatus {
	st := &SessionStatus{
		ListEntry: NewListEntry(i, w), EndedAt: Millis(i.End.Time),
		PTY: i.About.PTY, BytesIn: i.BytesIn, BytesOut: i.BytesOut, LastIn: Millis(i.LastIn), LastOut: Millis(i.LastOut),
		DrainedAt: Millis(
			i.Drained,
		), DroppedBytes: i.Dropped, BufferedBytes: i.Buffer.End - i.Buffer.Start, BufferLimit: i.Buffer.Limit,
		Execs: i.Execs, Running: i.Running, Unfetched: i.Unfetched, Readers: i.Readers,
		ServerVersion: i.About.ServerVersion, ServerBanner: i.About.ServerBanner, HostKey: i.About.HostKey,
		AuthMethod: i.About.AuthMethod,
		Ladder:     ladder(i.About.Ladder), Warnings: i.About.Warnings,
		Security: i.About.Security, TLS: (*tlsView)(i.About.TLS), Telnet: (*Telnet)(i.About.Telnet),
		Serial: (*Serial)(i.About.Serial),
	}
	st.Gaps, st.Reopening = Cursors(i.Gaps), NewReopening(i.Reopening, w)
	if i.Opens > 1 {
		st.Opens = i.Opens
	}
	if i.Lease != nil {
		st.LockExpiresAt, st.LockEpoch = i.Lease.Expires.UnixMilli(), int64(i.Lease.Epoch)
	}
	if i.Buffer.Capped {
		st.Warnings = append(
			// Clipped, because the slice belongs to the session and append may write behind its end.
			slices.Clip(st.Warnings),
			"less output is kept than buffer_limit_bytes, "+
				"because the sessions have reached limits.max_total_buffer_bytes together",
		)
	}
	if p := i.About.Process; p != nil {
		st.Cwd, st.Limits = p.Dir, newLimitsOut(p.Limits)
		exit := i.End.ProgramExit()
		st.LimitMet, st.Suspected = LimitName(exit.Limit), LimitNames(exit.Suspected)
	}
	// A session without a terminal has no size, not one of 0 by 0.
	if i.About.PTY {
		st.Cols, st.Rows, st.Term, st.ResizedAt = i.PTY.Cols, i.PTY.Rows, i.PTY.Term, i.Resized
	}
	if i.About.Algorithms != (term.Algorithms{}) {
		st.Algorithms = (*algorithms)(&i.About.Algorithms)
	}
	return st
}

// A Reopening says how far the attempts to reopen a session have come.
type Reopening struct {
	Attempts  int    `json:"attempts"`
	LastError string `json:"last_error"`
	NextAt    int64  `json:"next_attempt_at"` // Unix milliseconds, like the next one
	UntilAt   int64  `json:"until"`
}

// NewReopening returns the wire form of r, or nil.
func NewReopening(r session.Reopening, w Words) *Reopening {
	if r.Attempts == 0 {
		return nil
	}
	return &Reopening{Attempts: r.Attempts, LastError: w.Of(r.Err), NextAt: Millis(r.Next), UntilAt: Millis(r.Until)}
}

// Cursors is the wire form of cursors.
func Cursors(at []int64) (out []string) {
	for _, one := range at {
		out = append(out, strconv.FormatInt(one, 10))
	}
	return out
}

// Millis is t in Unix milliseconds; 0 for never.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
