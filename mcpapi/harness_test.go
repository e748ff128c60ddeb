package mcpapi

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
	"ptyctl/mcpapi/stdio"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

var update = flag.Bool("update", false, "write what the tests see into testdata, instead of comparing")

// A lab is a real SSH server, ptyctl's sessions over it, and one MCP client of ptyctl, all in this process.
type lab struct {
	*agent
	srv     *sshserver.Server
	manager *session.Manager
}

// A labConfig holds the settings of a lab; its zero value lets the user demo in without a password.
type labConfig struct {
	ssh      sshserver.Config
	options  Options
	sessions session.Config
	revision string // of the protocol; empty: 2025-06-18
	stranger bool   // the server's host key is not on record
}

// The names of the tools.
const (
	sessionName = "ptyctl_session"
	execName    = "ptyctl_session_exec"
	ioName      = "ptyctl_session_io"
	configName  = "ptyctl_session_config"
	runName     = "ptyctl_run"
	fsName      = "ptyctl_fs"
	healthName  = "ptyctl_health"
)

func newLab(t *testing.T, c labConfig) *lab {
	t.Helper()
	l, srv := newLabServer(t, c)
	l.agent = newAgent(t, srv, c.revision)
	return l
}

// newLabServer makes a lab without a client, and the MCP server for one.
func newLabServer(t *testing.T, c labConfig) (*lab, *Server) {
	t.Helper()
	for _, password := range c.ssh.Passwords {
		leaktest.Secret(t, password)
	}
	if c.ssh.KeyboardInteractive != nil {
		leaktest.Typed(t, twoAnswers[0]+"\r"+twoAnswers[1])
	}
	if c.ssh.Passwords == nil && c.ssh.KeyboardInteractive == nil {
		c.ssh.NoAuth = true
	}
	home := t.TempDir()
	c.ssh.Shell, c.ssh.Dir = "/bin/sh", home
	c.ssh.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "PS1=$ "}
	srv, err := sshserver.Listen(c.ssh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	l := &lab{srv: srv}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	known := srv.KnownHostsLine() + "\n"
	if c.stranger {
		known = ""
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.sessions.Dialers == nil {
		c.sessions.Dialers = map[string]term.Dialer{
			"ssh": sshx.Dialer(sshx.Options{NoConfig: true, HomeDir: home, IdentityAgent: "none", Logger: leaktest.Log(t)}),
		}
	}
	if c.sessions.Logger == nil {
		c.sessions.Logger = leaktest.Log(t)
	}
	if c.options.Logger == nil {
		c.options.Logger = c.sessions.Logger
	}
	l.manager = session.NewManager(c.sessions)
	t.Cleanup(func() { l.manager.Close(context.Background()) })
	c.options.Sessions = l.manager
	return l, NewServer(c.options)
}

// openArgs are the arguments of an open; more is a list of members that begins with a comma, or nothing.
func (l *lab) openArgs(more string) string {
	return fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":"demo"%s}`,
		l.srv.Port(),
		more,
	)
}

// open opens a session and keeps its id, for $S in later calls.
func (l *lab) open(more string) reply {
	l.t.Helper()
	r := l.ok("ptyctl_session", l.openArgs(more))
	l.session = r.SessionID
	if s, err := l.manager.Get(r.SessionID); err == nil &&
		r.State == "connecting" { // where a call may wait for moments only
		s.Settle(l.t.Context(), 20*time.Second)
	}
	return r
}

// openShell opens a session and waits for the shell's prompt.
func (l *lab) openShell() {
	l.t.Helper()
	l.open("")
	if r := l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"\\$ $","timeout_ms":10000}`); !r.Matched {
		l.t.Fatalf("no prompt came: %s", r.text)
	}
}

// echo is a shell, and a command, that gives back the very bytes it gets.
func echo(_ context.Context, r *sshserver.Request) sshserver.Exit {
	buf := make([]byte, 4096)
	for {
		n, err := r.Stdin.Read(buf)
		if _, werr := r.Stdout.Write(buf[:n]); err != nil || werr != nil {
			return sshserver.Exit{}
		}
	}
}

// signalled is a shell that only reports the signals it gets.
func signalled(to chan<- string) sshserver.Handler {
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

// An agent is an MCP client on the other end of a stdio.Serve. Its calls may be made by several goroutines.
type agent struct {
	t        *testing.T
	session  string
	revision string
	told     leaktest.Client

	mu      sync.Mutex
	in      io.Writer
	lastID  int
	waiting map[string]chan agentAnswer
}

type agentAnswer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    json.RawMessage
	} `json:"error"`
}

func newAgent(t *testing.T, srv *Server, revision string) *agent {
	t.Helper()
	if revision == "" {
		revision = "2025-06-18"
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &agent{t: t, in: inW, revision: revision, waiting: make(map[string]chan agentAnswer)}
	var running sync.WaitGroup
	running.Go(func() {
		if err := stdio.Serve(context.Background(), srv, inR, outW, stdio.Options{DrainTimeout: time.Millisecond}); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	running.Go(func() {
		lines := bufio.NewScanner(io.TeeReader(outR, leaktest.Writer(t, "stdout")))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			a.deliver(lines.Bytes())
		}
	})
	t.Cleanup(func() {
		inW.Close()
		running.Wait()
	})
	got := a.request(
		"initialize",
		fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}`, revision),
	)
	if got.Error != nil {
		t.Fatalf("initialize: %+v", got.Error)
	}
	a.write(initializedLine)
	return a
}

// deliver hands an answer to the call that waits for it.
func (a *agent) deliver(line []byte) {
	var got agentAnswer
	if err := json.Unmarshal(line, &got); err != nil {
		a.t.Errorf("the server wrote %q: %v", line, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := a.waiting[string(got.ID)]; wait != nil {
		wait <- got
	}
}

func (a *agent) write(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Error(err)
	}
}

// start sends a request; its answer comes on the channel.
func (a *agent) start(method, params string) (id string, answer <-chan agentAnswer) {
	c := make(chan agentAnswer, 1)
	a.mu.Lock()
	a.lastID++
	id = strconv.Itoa(a.lastID)
	a.waiting[id] = c
	a.mu.Unlock()
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, c
}

func (a *agent) request(method, params string) agentAnswer {
	a.t.Helper()
	_, answer := a.start(method, params)
	select {
	case got := <-answer:
		return got
	case <-time.After(30 * time.Second):
		a.t.Fatalf("no answer to %s %.200s", method, params)
		return agentAnswer{}
	}
}

// params returns those of a tools/call; $S in args is replaced by the session's id.
func (a *agent) params(tool, args string) string {
	args = strings.ReplaceAll(args, "$S", a.session)
	a.told.Call(a.t, args)
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

// call makes a tool call, which may fail.
func (a *agent) call(tool, args string) reply {
	a.t.Helper()
	got := a.request("tools/call", a.params(tool, args))
	if got.Error != nil {
		a.t.Fatalf("%s %s: JSON-RPC error %+v", tool, args, got.Error)
	}
	r := a.read(got.Result)
	a.told.Result(a.session, r.text)
	return r
}

// ok makes a tool call that must succeed.
func (a *agent) ok(tool, args string) reply {
	a.t.Helper()
	r := a.call(tool, args)
	if r.isError {
		a.t.Fatalf("%s %s failed: %s", tool, args, r.text)
	}
	return r
}

// fails makes a tool call that must fail in the way given, with a message that has all the parts.
func (a *agent) fails(tool, args string, kind term.Kind, parts ...string) reply {
	a.t.Helper()
	r := a.call(tool, args)
	if !r.isError || r.ErrorCode != kind {
		a.t.Fatalf("%s %s: got %.600s, want %s", tool, args, r.text, kind)
	}
	for _, p := range parts {
		if !strings.Contains(r.Message, p) {
			a.t.Errorf("%s %s: the message lacks %q: %s", tool, args, p, r.Message)
		}
	}
	if r.Retryable != kind.Retryable() {
		a.t.Errorf("%s: retryable is %v", kind, r.Retryable)
	}
	return r
}

// A reply is the result of a tool call, with the members that tests look at.
type reply struct {
	isError    bool                       `json:"-"`
	text       string                     `json:"-"`
	structured json.RawMessage            `json:"-"`
	members    map[string]json.RawMessage `json:"-"`

	ErrorCode term.Kind `json:"error_code"`
	Message   string
	Retryable bool
	Details   struct {
		SessionID string `json:"session_id"`
		Details
	}
	Warnings []string

	Action, State, Protocol, Cursor string
	Success                         bool
	SessionID                       string `json:"session_id"`
	PTYEnabled                      *bool  `json:"pty_enabled"`
	ServerBanner                    string `json:"server_banner"`
	WaitingForInput                 bool   `json:"waiting_for_input"`
	Prompt                          *Prompt
	Capabilities                    *capabilities
	Sessions                        []sessionStatus
	Session                         *sessionStatus
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
	StdoutEncoding   string    `json:"stdout_encoding"`
	StdoutOmitted    *omission `json:"stdout_omitted"`
	ErrorHints       []string  `json:"error_hints"`
	Cols, Rows       int       //
	Expect           patterns  //
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

// An omission is what was left out of a stream.
type omission struct {
	At     int    `json:"at"`
	Bytes  int64  `json:"bytes"`
	Cursor string `json:"cursor"`
}

// patterns are those in force, as a result shows them.
type patterns struct {
	Profile   string
	Class     session.Class
	Prompt    string     `json:"prompt_regex"`
	Pagers    []string   `json:"pager_regexes"`
	Errors    []string   `json:"error_regexes"`
	AutoPage  *autoPager `json:"auto_page"`
	PagingOff []string   `json:"paging_off"`
	Note      string
}

// An autoPager is how pages are turned.
type autoPager struct {
	Key string
	Max int `json:"max_pages"`
}

// read takes a tools/call result apart, and checks what holds for all of them.
func (a *agent) read(result json.RawMessage) reply {
	a.t.Helper()
	var raw struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(result, &raw); err != nil {
		a.t.Fatal(err)
	}
	if len(raw.Content) != 1 || raw.Content[0].Type != "text" {
		a.t.Fatalf("want one text block, got %.300s", result)
	}
	r := reply{isError: raw.IsError, text: raw.Content[0].Text, structured: raw.StructuredContent}
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		a.t.Fatalf("the text is not the object expected: %v: %.600s", err, r.text)
	}
	if err := json.Unmarshal([]byte(r.text), &r.members); err != nil {
		a.t.Fatal(err)
	}
	if (r.ErrorCode != "") != r.isError {
		a.t.Fatalf("isError is %v and error_code %q", r.isError, r.ErrorCode)
	}
	return r
}

// compareGolden compares got with a file of testdata, or writes it there.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
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

// waitRunning waits until a sleep runs and returns its exec_id.
func (l *lab) waitRunning(lane string) string {
	l.t.Helper()
	if lane == "terminal" { // until it is typed, a call that is cancelled does nothing
		l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"sleep \\d","timeout_ms":10000}`)
	}
	for range 2000 {
		if r := l.ok(sessionName, `{"action":"status","session_id":"$S"}`); len(r.Session.Running) == 1 {
			return r.Session.Running[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.t.Fatal("no command runs")
	return ""
}

// A diary is an observer that keeps the events of actions, and apart those of what merely happens.
type diary struct {
	mu       sync.Mutex
	actions  []term.Event
	happened []term.Event
}

func (d *diary) Observe(e term.Event) {
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

// last returns the latest event that take would return.
func (d *diary) last() term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.happened[len(d.happened)-1]
}

// all returns what take would return, and keeps it.
func (d *diary) all() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.happened)
}

// take returns the actions since the last call.
func (d *diary) take() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.actions
	d.actions = nil
	return taken
}

func (a *agent) toolNames() (names []string) {
	var list struct{ Tools []struct{ Name string } }
	a.decode(a.request("tools/list", `{}`).Result, &list)
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (a *agent) decode(raw json.RawMessage, into any) {
	a.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		a.t.Fatalf("%v in %s", err, raw)
	}
}

// withFiles offers the files of far sides.
var withFiles = session.Config{
	FarFiles: func(context.Context, io.ReadWriteCloser) (term.Files, error) { return nil, io.EOF },
}

// twoAnswers are right for twoQuestions.
var twoAnswers = [2]string{"p w-1138\r", "code-1138 "}

// twoQuestions is a server that asks for a password and a code in one round (RFC 4256).
var twoQuestions = sshserver.Config{
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
