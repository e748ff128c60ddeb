package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Ask is the reason for a connection to a daemon.
type Ask string

// The reasons.
const (
	AskServe  Ask = "serve"  // a conversation of a client follows
	AskStatus Ask = "status" // how the daemon is
	AskStop   Ask = "stop"   // end it, with all its sessions
	AskReload Ask = "reload" // read the configuration again
	AskNote   Ask = "note"   // only for the daemon's log
)

// A Hello is the first line of a connection.
type Hello struct {
	Protocol int    `json:"ptyctl_daemon"`
	Ask      Ask    `json:"ask"`
	Build    string `json:"build"`
	PID      int    `json:"pid"`
	Note     string `json:"note,omitempty"`
	Token    string `json:"token,omitempty"` // of people, where the daemon asks for one; not for AskServe

	// The following are for AskServe.
	Dir         Octets   `json:"dir,omitempty"` // the client's working folder
	Environment []Octets `json:"env,omitempty"` // the variables for its opens and programs
	Engine      string   `json:"engine,omitempty"`
	Presents    Presents `json:"presents,omitzero"`
}

// SetClient sets the folder and the variables of a client.
func (h *Hello) SetClient(dir string, variables []string) {
	h.Dir, h.Environment = Octets(dir), make([]Octets, len(variables))
	for i, v := range variables {
		h.Environment[i] = Octets(v)
	}
}

// Variables returns those of SetClient.
func (h Hello) Variables() []string {
	all := make([]string, len(h.Environment))
	for i, v := range h.Environment {
		all[i] = string(v)
	}
	return all
}

// Octets is text of the system, such as a path or a variable, that need not be UTF-8. Package encoding/json would
// replace the bytes that are not, so text with such bytes is an array of its bytes in base64.
type Octets string

// MarshalJSON implements json.Marshaler.
func (o Octets) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(o)) {
		return json.Marshal(string(o))
	}
	return json.Marshal([][]byte{[]byte(o)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Octets) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		var coded [1][]byte
		err := json.Unmarshal(text, &coded)
		*o = Octets(coded[0])
		return err
	}
	return json.Unmarshal(text, (*string)(o))
}

// Presents are the settings of one conversation: the form of results, and the tools. The engine works the same whatever
// they are.
type Presents struct {
	Toolsets      []string `json:"toolsets,omitempty"`
	Results       string   `json:"results,omitempty"`
	ReadOnly      bool     `json:"read_only,omitempty"`
	JSONRPCErrors bool     `json:"jsonrpc_errors,omitempty"`
}

// A Welcome is the daemon's answer.
type Welcome struct {
	Protocol int       `json:"ptyctl_daemon"`
	Build    string    `json:"build"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Refused  string    `json:"refused,omitempty"` // why there is no conversation; empty: there is one
	Client   string    `json:"client,omitempty"`  // the name under which this client's actions are recorded

	// The following answer AskStatus and AskReload.
	Clients  int      `json:"clients,omitempty"`
	Sessions int      `json:"sessions,omitempty"`
	Engine   Engine   `json:"engine,omitempty"`
	Shims    []Shim   `json:"shims,omitempty"`
	Reloaded Reloaded `json:"reloaded,omitzero"`
}

// Reloaded is the outcome of reading the configuration again.
type Reloaded struct {
	Applied []string `json:"applied,omitempty"` // keys that have new values
	Later   []string `json:"later,omitempty"`   // keys that take effect in a new daemon only
	Wrong   []string `json:"wrong,omitempty"`   // entries of [groups] that cannot be used: all of it stays as it was
	Failed  string   `json:"failed,omitempty"`  // why nothing has changed
}

// A RefusedError is a daemon's refusal, in its own words.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the daemon refuses: " + e.Why }

const (
	maxLine   = 1 << 20          // of a Hello or a Welcome, in bytes
	greetWait = 10 * time.Second // for either side: only a stopped process takes longer
)

// errLong means that a Hello or a Welcome is too long for the other side.
var errLong = fmt.Errorf("the first line has more than %d bytes", maxLine)

// errNoDaemon means that the daemon ended before it answered, for example because it was just about to end.
var errNoDaemon = errors.New("the daemon has ended")

// greet sends h and reads the answer. r has the bytes after it.
func greet(conn net.Conn, h Hello) (w Welcome, r *bufio.Reader, err error) {
	h.Protocol = Protocol
	r = bufio.NewReaderSize(conn, 64<<10)
	_ = conn.SetDeadline(time.Now().Add(greetWait))
	if err := writeLine(conn, h); errors.Is(err, errLong) {
		return w, nil, fmt.Errorf("the variables for this client's programs: %w; name fewer in local.inherit_env", err)
	} else if err != nil {
		return w, nil, fmt.Errorf("%w (%w)", errNoDaemon, err)
	}
	if err := readLine(r, &w); err != nil {
		if t := net.Error(nil); errors.As(err, &t) && t.Timeout() {
			return w, nil, fmt.Errorf("the daemon has not answered for %v: it seems to be stopped; continue or end it",
				greetWait)
		}
		return w, nil, fmt.Errorf("%w (%w)", errNoDaemon, err)
	}
	_ = conn.SetDeadline(time.Time{})
	if w.Refused != "" {
		return w, nil, &RefusedError{w.Refused}
	}
	return w, r, nil
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(line) >= maxLine {
		return fmt.Errorf("%w (%d)", errLong, len(line)+1)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// readLine reads one line of JSON, of at most maxLine bytes.
func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return errLong
		case err == nil:
			return json.Unmarshal(line, v)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// plainText returns text from another process for a log: without control characters, and not too long.
func plainText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), 1000)], "")
}
