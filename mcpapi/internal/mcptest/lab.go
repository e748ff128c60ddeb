package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// Update is the flag -update of the tests that compare with testdata.
var Update = flag.Bool("update", false, "write what the tests see into testdata, instead of comparing")

// A Lab is a real SSH server, ptyctl's sessions over it, and one MCP client of ptyctl, all in this process.
type Lab struct {
	*Agent
	SSH     *sshserver.Server
	Manager *session.Manager
}

// A Config holds the settings of a lab; its zero value lets the user demo in without a password.
type Config struct {
	SSH      sshserver.Config
	Options  mcpapi.Options
	Sessions session.Config
	revision string // of the protocol; empty: 2025-06-18
	Stranger bool   // the server's host key is not on record
}

// The names of the tools.
const (
	SessionTool = "ptyctl_session"
	ExecTool    = "ptyctl_session_exec"
	IOTool      = "ptyctl_session_io"
	ConfigTool  = "ptyctl_session_config"
	RunTool     = "ptyctl_run"
	FilesTool   = "ptyctl_fs"
	HealthTool  = "ptyctl_health"
)

// NewLab starts a server, the sessions over it and a client. All of it ends with the test.
func NewLab(t *testing.T, c Config) *Lab {
	t.Helper()
	l, srv := NewServer(t, c)
	l.Agent = NewAgent(t, srv, c.revision)
	return l
}

// NewServer makes a lab without a client, and the MCP server for one.
func NewServer(t *testing.T, c Config) (*Lab, *mcpapi.Server) {
	t.Helper()
	// Registered before the server starts, so that its very first log line is searched for them.
	for _, password := range c.SSH.Passwords {
		leaktest.Secret(t, password)
	}
	if c.SSH.KeyboardInteractive != nil {
		leaktest.Typed(t, twoAnswers[0]+"\r"+twoAnswers[1])
	}
	if c.SSH.Passwords == nil && c.SSH.KeyboardInteractive == nil {
		c.SSH.NoAuth = true
	}
	// A home of its own: the files and the environment of the machine that runs the test must not matter.
	home := t.TempDir()
	c.SSH.Shell, c.SSH.Dir = "/bin/sh", home
	c.SSH.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "PS1=$ "}
	srv, err := sshserver.Listen(c.SSH)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	l := &Lab{SSH: srv}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	// On record by default: few tests are about host keys, and a question would hold up each of them.
	known := srv.KnownHostsLine() + "\n"
	if c.Stranger {
		known = ""
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Sessions.Dialers == nil {
		c.Sessions.Dialers = map[string]term.Dialer{
			"ssh": sshx.Dialer(sshx.Options{NoConfig: true, HomeDir: home, IdentityAgent: "none", Logger: leaktest.Log(t)}),
		}
	}
	if c.Sessions.Logger == nil {
		c.Sessions.Logger = leaktest.Log(t)
	}
	if c.Options.Logger == nil {
		c.Options.Logger = c.Sessions.Logger
	}
	// Ended before the server, because cleanups run in reverse: an orderly close has a far side to speak to.
	l.Manager = session.NewManager(c.Sessions)
	t.Cleanup(func() { l.Manager.Close(context.Background()) })
	c.Options.Sessions = l.Manager
	return l, mcpapi.NewServer(c.Options)
}

// OpenArgs are the arguments of an open; more is a list of members that begins with a comma, or nothing.
func (l *Lab) OpenArgs(more string) string {
	return fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":"demo"%s}`,
		l.SSH.Port(),
		more,
	)
}

// Open opens a session and keeps its id, for $S in later calls.
func (l *Lab) Open(more string) Reply {
	l.T.Helper()
	r := l.OK("ptyctl_session", l.OpenArgs(more))
	l.Session = r.SessionID
	if s, err := l.Manager.Get(r.SessionID); err == nil &&
		r.State == "connecting" { // where a call may wait for moments only
		s.Settle(l.T.Context(), 20*time.Second)
	}
	return r
}

// OpenShell opens a session and waits for the shell's prompt.
func (l *Lab) OpenShell() {
	l.T.Helper()
	l.Open("")
	if r := l.OK(IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"\\$ $","timeout_ms":10000}`); !r.Matched {
		l.T.Fatalf("no prompt came: %s", r.Text)
	}
}

// Echo is a shell, and a command, that gives back the very bytes it gets.
func Echo(_ context.Context, r *sshserver.Request) sshserver.Exit {
	buf := make([]byte, 4096)
	for {
		n, err := r.Stdin.Read(buf)
		if _, werr := r.Stdout.Write(buf[:n]); err != nil || werr != nil {
			return sshserver.Exit{}
		}
	}
}

// Signalled is a shell that only reports the signals it gets.
func Signalled(to chan<- string) sshserver.Handler {
	return func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
		for {
			select {
			case s := <-r.Signals:
				to <- string(s)
			case <-ctx.Done():
				return sshserver.Exit{}
			}
		}
	}
}

// An Agent is an MCP client on the other end of a stdio.Serve. Its calls may be made by several goroutines.
type Agent struct {
	T        *testing.T
	Session  string
	revision string
	sent     leaktest.Client

	mu      sync.Mutex
	in      io.Writer
	lastID  int
	waiting map[string]chan Answer
}

// An Answer is a JSON-RPC response as the client reads it.
type Answer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    json.RawMessage
	} `json:"error"`
}

// NewAgent connects a client to srv and initializes it; an empty revision is 2025-06-18.
func NewAgent(t *testing.T, srv *mcpapi.Server, revision string) *Agent {
	t.Helper()
	if revision == "" {
		revision = "2025-06-18"
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &Agent{T: t, in: inW, revision: revision, waiting: make(map[string]chan Answer)}
	var running sync.WaitGroup
	running.Go(func() {
		o := stdio.Options{DrainTimeout: time.Millisecond}
		if err := stdio.Serve(context.Background(), srv, inR, outW, o); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	running.Go(func() {
		lines := bufio.NewScanner(io.TeeReader(outR, leaktest.Writer(t, "stdout")))
		// Larger than any answer: a line that is too long would end the reader without a word.
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			a.deliver(lines.Bytes())
		}
	})
	t.Cleanup(func() {
		inW.Close()
		running.Wait()
	})
	got := a.Request(
		"initialize",
		fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}`, revision),
	)
	if got.Error != nil {
		t.Fatalf("initialize: %+v", got.Error)
	}
	a.Write(InitializedLine)
	return a
}

// deliver hands an answer to the call that waits for it.
func (a *Agent) deliver(line []byte) {
	var got Answer
	if err := json.Unmarshal(line, &got); err != nil {
		a.T.Errorf("the server wrote %q: %v", line, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// A notification has no id, and belongs to no call.
	if wait := a.waiting[string(got.ID)]; wait != nil {
		wait <- got
	}
}

// Write sends one line as it is, which need not be a valid message.
func (a *Agent) Write(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.T.Error(err)
	}
}

// Start sends a request; its answer comes on the channel.
func (a *Agent) Start(method, params string) (id string, answer <-chan Answer) {
	// Buffered: the reader must not wait for a test that has stopped to look.
	c := make(chan Answer, 1)
	a.mu.Lock()
	a.lastID++
	id = strconv.Itoa(a.lastID)
	a.waiting[id] = c
	a.mu.Unlock()
	a.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, c
}

// Request sends a request and waits for its answer. The limit only tells a hang from all else.
func (a *Agent) Request(method, params string) Answer {
	a.T.Helper()
	_, answer := a.Start(method, params)
	select {
	case got := <-answer:
		return got
	case <-time.After(30 * time.Second):
		a.T.Fatalf("no answer to %s %.200s", method, params)
		return Answer{}
	}
}

// Params returns those of a tools/call; $S in args is replaced by the session's id.
func (a *Agent) Params(tool, args string) string {
	args = strings.ReplaceAll(args, "$S", a.Session)
	// Registers the secrets in the arguments, so that it is searched for in all output.
	a.sent.Call(a.T, args)
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

// Call makes a tool call, which may fail.
func (a *Agent) Call(tool, args string) Reply {
	a.T.Helper()
	got := a.Request("tools/call", a.Params(tool, args))
	if got.Error != nil {
		a.T.Fatalf("%s %s: JSON-RPC error %+v", tool, args, got.Error)
	}
	r := a.Read(got.Result)
	a.sent.Result(a.Session, r.Text)
	return r
}

// OK makes a tool call that must succeed.
func (a *Agent) OK(tool, args string) Reply {
	a.T.Helper()
	r := a.Call(tool, args)
	if r.IsError {
		a.T.Fatalf("%s %s failed: %s", tool, args, r.Text)
	}
	return r
}

// Fails makes a tool call that must fail in the way given, with a message that has all the parts.
func (a *Agent) Fails(tool, args string, kind term.Kind, parts ...string) Reply {
	a.T.Helper()
	r := a.Call(tool, args)
	if !r.IsError || r.ErrorCode != kind {
		a.T.Fatalf("%s %s: got %.600s, want %s", tool, args, r.Text, kind)
	}
	for _, p := range parts {
		if !strings.Contains(r.Message, p) {
			a.T.Errorf("%s %s: the message lacks %q: %s", tool, args, p, r.Message)
		}
	}
	if r.Retryable != kind.Retryable() {
		a.T.Errorf("%s: retryable is %v", kind, r.Retryable)
	}
	return r
}

// A Reply is the result of a tool call, with the members that tests look at.
type Reply struct {
	IsError    bool                       `json:"-"`
	Text       string                     `json:"-"`
	Structured json.RawMessage            `json:"-"`
	Members    map[string]json.RawMessage `json:"-"`

	ErrorCode term.Kind `json:"error_code"`
	Message   string
	Retryable bool
	Details   struct {
		SessionID string `json:"session_id"`
		wire.Details
	}
	Warnings []string

	Action, State, Protocol, Cursor string
	Success                         bool
	SessionID                       string `json:"session_id"`
	PTYEnabled                      *bool  `json:"pty_enabled"`
	ServerBanner                    string `json:"server_banner"`
	WaitingForInput                 bool   `json:"waiting_for_input"`
	Prompt                          *wire.Prompt
	Capabilities                    *wire.Capabilities
	Sessions                        []wire.SessionStatus
	Session                         *wire.SessionStatus
	AlreadyClosed                   bool   `json:"already_closed"`
	Existing                        string `json:"existing_session_id"`
	LockAcquired                    *bool  `json:"lock_acquired"`
	LockHolder                      string `json:"lock_holder"`
	LockExpiresAt                   int64  `json:"lock_expires_at"`

	Stdout, Stderr   string
	ExitCode         *int    `json:"exit_code"`
	ExitCodeReason   *string `json:"exit_code_reason"`
	DoneReason       string  `json:"done_reason"`
	TimedOut         bool    `json:"timed_out"`
	ExecLane         string  `json:"exec_lane"`
	ExecID           string  `json:"exec_id"`
	Truncated        bool
	StdoutBytes      int64     `json:"stdout_bytes"`
	StdoutCursor     string    `json:"stdout_cursor"`
	RemainingMS      *int64    `json:"remaining_ms"`
	StdoutEncoding   string    `json:"stdout_encoding"`
	StdoutOmitted    *omission `json:"stdout_omitted"`
	ErrorHints       []string  `json:"error_hints"`
	Cols, Rows       int       //
	Expect           Patterns  //
	BytesWritten     *int      `json:"bytes_written"`
	Chunk, Encoding  string
	NextCursor       string `json:"next_cursor"`
	BufferEnd        string `json:"buffer_end_cursor"`
	Matched          bool
	IdleReached      bool `json:"idle_reached"`
	EOF              bool
	DroppedBytes     int64 `json:"dropped_bytes"`
	BufferLimitBytes int   `json:"buffer_limit_bytes"`
}

// An omission is the part that was left out of a stream.
type omission struct {
	At     int    `json:"at"`
	Bytes  int64  `json:"bytes"`
	Cursor string `json:"cursor"`
}

// Patterns are those in force, as a result shows them.
type Patterns struct {
	Profile   string
	Class     session.Class
	Prompt    string     `json:"prompt_regex"`
	Pagers    []string   `json:"pager_regexes"`
	Errors    []string   `json:"error_regexes"`
	AutoPage  *AutoPager `json:"auto_page"`
	PagingOff []string   `json:"paging_off"`
	Note      string
}

// An AutoPager is how pages are turned.
type AutoPager struct {
	Key string
	Max int `json:"max_pages"`
}

// Read takes a tools/call result apart, and checks what holds for all of them.
func (a *Agent) Read(result json.RawMessage) Reply {
	a.T.Helper()
	var raw struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(result, &raw); err != nil {
		a.T.Fatal(err)
	}
	if len(raw.Content) != 1 || raw.Content[0].Type != "text" {
		a.T.Fatalf("want one text block, got %.300s", result)
	}
	r := Reply{IsError: raw.IsError, Text: raw.Content[0].Text, Structured: raw.StructuredContent}
	if err := json.Unmarshal([]byte(r.Text), &r); err != nil {
		a.T.Fatalf("the text is not the object expected: %v: %.600s", err, r.Text)
	}
	if err := json.Unmarshal([]byte(r.Text), &r.Members); err != nil {
		a.T.Fatal(err)
	}
	if (r.ErrorCode != "") != r.IsError {
		a.T.Fatalf("isError is %v and error_code %q", r.IsError, r.ErrorCode)
	}
	return r
}

// CompareGolden compares got with a file of testdata, or writes it there.
func CompareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; if that is meant, run go test -update. Got:\n%s", path, got)
	}
}

// WaitRunning waits until a sleep runs and returns its exec_id.
func (l *Lab) WaitRunning(lane string) string {
	l.T.Helper()
	if lane == "terminal" { // until it is typed, a call that is cancelled does nothing
		l.OK(IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"sleep \\d","timeout_ms":10000}`)
	}
	for range 2000 {
		if r := l.OK(SessionTool, `{"action":"status","session_id":"$S"}`); len(r.Session.Running) == 1 {
			return r.Session.Running[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.T.Fatal("no command runs")
	return ""
}

// A Diary is an observer that keeps the events of actions, and apart those of what merely happens.
type Diary struct {
	mu       sync.Mutex
	actions  []term.Event
	happened []term.Event
}

func (d *Diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = nil
	switch e.Verb {
	case term.VerbOutput, term.VerbState, term.VerbExecEnd, term.VerbRead, term.VerbQuestion, term.VerbGone, term.VerbPlan:
		d.happened = append(d.happened, e)
	default:
		d.actions = append(d.actions, e)
	}
}

// Last returns the latest event that take would return.
func (d *Diary) Last() term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.happened[len(d.happened)-1]
}

// All returns what take would return, and keeps it.
func (d *Diary) All() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.happened)
}

// Take returns the actions since the last call.
func (d *Diary) Take() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.actions
	d.actions = nil
	return taken
}

func (a *Agent) ToolNames() (names []string) {
	var list struct{ Tools []struct{ Name string } }
	a.Decode(a.Request("tools/list", `{}`).Result, &list)
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (a *Agent) Decode(raw json.RawMessage, into any) {
	a.T.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		a.T.Fatalf("%v in %s", err, raw)
	}
}

// WithFiles offers the files of far sides.
var WithFiles = session.Config{
	FarFiles: func(context.Context, io.ReadWriteCloser) (term.Files, error) { return nil, io.EOF },
}

// twoAnswers are right for twoQuestions.
var twoAnswers = [2]string{"p w-1138\r", "code-1138 "}

// TwoQuestions is a server that asks for a password and a code in one round (RFC 4256).
var TwoQuestions = sshserver.Config{
	KeyboardInteractive: func(user string, challenge ssh.KeyboardInteractiveChallenge) error {
		answers, err := challenge("", "Two factors.", []string{"Password: ", "Code (shown): "}, []bool{false, true})
		if err != nil {
			return err
		}
		if len(answers) != 2 || answers[0] != twoAnswers[0] || answers[1] != twoAnswers[1] {
			return term.AuthFailed
		}
		return nil
	},
}
