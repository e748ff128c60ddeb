package aiterm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/fsx"
	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMain(m *testing.M) {
	ptyx.EnableLimits()
	os.Exit(leaktest.Main(m))
}

// path is the only variable that most programs of the tests get.
const path = `"env":{"PATH":"/usr/bin:/bin"}`

// A lab is a server with these tools over real programs of this machine, and the official
// Go MCP client.
type lab struct {
	t       *testing.T
	client  *sdk.ClientSession
	server  *mcpapi.Server
	manager *session.Manager
	schemas map[string]*jsonschema.Resolved // schemas of results, by tool
	seen    *events
}

// events is an observer that keeps all events.
type events struct {
	mu  sync.Mutex
	all []term.Event
}

func (e *events) Observe(ev term.Event) {
	ev.Data = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) list() []term.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]term.Event(nil), e.all...)
}

func newLab(t *testing.T, o mcpapi.Options, c session.Config) *lab {
	t.Helper()
	set := aiterm.New()
	l := &lab{t: t, schemas: make(map[string]*jsonschema.Resolved), seen: new(events)}
	if c.Dialers == nil {
		c.Dialers = map[string]term.Dialer{"local": ptyx.Host{}.Open}
	}
	c.Observers = append(c.Observers, set, l.seen)
	c.Logger = leaktest.Log(t)
	l.manager = session.NewManager(c)
	t.Cleanup(func() { l.manager.Close(context.Background()) })
	o.Sessions, o.Logger, o.Local = l.manager, c.Logger, []string{"stdio"}
	o.Version, o.More, o.Toolsets = "1.2.3", []toolset.Set{set.Toolset()}, []string{set.Name()}
	l.server = mcpapi.NewServer(o)
	l.client = l.connect()
	list, err := l.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		l.schemas[tool.Name] = compile(t, tool.Name, tool.OutputSchema)
	}
	return l
}

// newFileLab returns a lab that offers the files below a new folder, and the folder with
// its links resolved.
func newFileLab(t *testing.T, o mcpapi.Options, limits fsx.Limits) (*lab, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := fsx.NewLocal([]string{dir}, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return newLab(t, o, session.Config{Files: files}), dir
}

func (l *lab) connect() *sdk.ClientSession {
	l.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if err := stdio.Serve(context.Background(), l.server, inR, outW,
			stdio.Options{DrainTimeout: time.Millisecond}); err != nil {
			l.t.Error(err)
		}
		outW.Close()
	})
	l.t.Cleanup(running.Wait)
	l.t.Cleanup(func() { inW.Close() })
	client, err := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "7"}, nil).
		Connect(l.t.Context(), &sdk.IOTransport{
			Reader: io.NopCloser(io.TeeReader(outR, leaktest.Writer(l.t, "stdout"))),
			Writer: inW,
		}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return client
}

func compile(tb testing.TB, name string, schema any) *jsonschema.Resolved {
	tb.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		tb.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		tb.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		tb.Fatalf("the schema of %s: %v", name, err)
	}
	return resolved
}

// A reply is an answer, with the fields that the tests look at.
type reply struct {
	text    string
	isError bool

	CorrelationID string `json:"correlation_id"`
	DurationMS    int64  `json:"duration_ms"`
	Warnings      []string

	Code    aiterm.Code
	Message string
	Details struct {
		Retryable bool
		ID        string
		Field     string
		Limit     string
		Rule      string
		Result    *reply
	}

	RC              *int
	Signal          string
	Stdout, Stderr  []byte
	StdoutTruncated bool `json:"stdout_truncated"`
	StderrTruncated bool `json:"stderr_truncated"`
	StdoutOmitted   *struct {
		At    int
		Bytes int64
	} `json:"stdout_omitted"`
	Cwd   string
	Usage *struct {
		CPUMS    int64 `json:"cpu_ms"`
		MaxRSSKB int64 `json:"max_rss_kb"`
	}

	ID           string
	StartedAt    string `json:"started_at"`
	BytesWritten int    `json:"bytes_written"`
	Chunks       []struct {
		Seq    uint64
		Stream string
		Data   []byte
		TS     string
	}
	Closed, Truncated bool

	Entries []struct {
		Name, Type, Mode string
		Size             int64
	}
	Data  []byte
	Size  int64
	Bytes int64
}

// data returns the bytes of all chunks.
func (r reply) data() string {
	var b strings.Builder
	for _, c := range r.Chunks {
		b.Write(c.Data)
	}
	return b.String()
}

// last returns the number of the last chunk, or otherwise.
func (r reply) last(otherwise uint64) uint64 {
	if n := len(r.Chunks); n > 0 {
		return r.Chunks[n-1].Seq
	}
	return otherwise
}

// call makes a call and checks the rules for every answer.
func (l *lab) call(tool, arguments string) reply {
	l.t.Helper()
	r, err := l.try(l.t.Context(), tool, arguments)
	if err != nil {
		l.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return r
}

func (l *lab) try(ctx context.Context, tool, arguments string) (r reply, err error) {
	l.t.Helper()
	got, err := l.client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return r, err
	}
	r.text, r.isError = got.Content[0].(*sdk.TextContent).Text, got.IsError
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		l.t.Fatalf("text of %s %s = %s, want JSON: %v", tool, arguments, r.text, err)
	}
	structured, err := json.Marshal(got.StructuredContent)
	if err != nil {
		l.t.Fatal(err)
	}
	var text any
	if json.Unmarshal([]byte(r.text), &text) != nil {
		l.t.Fatalf("text of %s %s = %s, want JSON", tool, arguments, r.text)
	}
	if again, _ := json.Marshal(text); string(again) != string(structured) {
		l.t.Errorf("%s: text = %s, structured content = %s; want the same", tool, again, structured)
	}
	if err := l.schemas[tool].Validate(text); err != nil {
		l.t.Errorf("%s: result = %s, want it to match its schema: %v", tool, r.text, err)
	}
	if !strings.HasPrefix(r.CorrelationID, "call-") || !strings.Contains(r.text, `"duration_ms":`) {
		l.t.Errorf("%s: answer = %s, want a correlation id and a duration", tool, r.text)
	}
	if (r.Code != "") != r.isError {
		l.t.Errorf("%s: isError = %v with code %q, want a code exactly for errors", tool, r.isError, r.Code)
	}
	if strings.Contains(r.Message, "ptyctl_") {
		l.t.Errorf("%s: message = %q, want advice for these tools only", tool, r.Message)
	}
	return r, nil
}

func (l *lab) ok(tool, arguments string) reply {
	l.t.Helper()
	r := l.call(tool, arguments)
	if r.isError {
		l.t.Fatalf("%s %s failed: %s", tool, arguments, r.text)
	}
	return r
}

// fails makes a call. The call must fail with the code, and its message must contain all
// parts.
func (l *lab) fails(tool, arguments string, code aiterm.Code, parts ...string) reply {
	l.t.Helper()
	r := l.call(tool, arguments)
	if r.Code != code {
		l.t.Fatalf("%s %.300s: got %.600s, want %s", tool, arguments, r.text, code)
	}
	for _, p := range parts {
		if !strings.Contains(r.Message, p) {
			l.t.Errorf("%s %.300s: the message lacks %q: %s", tool, arguments, p, r.Message)
		}
	}
	return r
}

// open starts a program on a terminal. The text in more is empty or starts with a comma.
func (l *lab) open(argv, more string) string {
	l.t.Helper()
	return l.ok("pty_open", `{"argv":`+argv+`,`+path+more+`}`).ID
}

// until reads chunks after since until their data contains part. It returns the data and
// the last number.
func (l *lab) until(id string, since uint64, part string) (data string, last uint64) {
	l.t.Helper()
	for range 200 {
		r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(since)+`,"timeout_ms":10000}`)
		data += r.data()
		since = r.last(since)
		if strings.Contains(data, part) {
			return data, since
		}
		if r.Closed || len(r.Chunks) == 0 {
			break
		}
	}
	l.t.Fatalf("output = %q, want %q in it", data, part)
	return "", 0
}

// rest reads the chunks after since to the end of the output.
func (l *lab) rest(id string, since uint64) string {
	l.t.Helper()
	var data strings.Builder
	for range 10_000 {
		r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(since)+`,"timeout_ms":10000}`)
		data.WriteString(r.data())
		since = r.last(since)
		if r.Closed {
			return data.String()
		}
	}
	l.t.Fatalf("output of %s has no end, want closed", id)
	return ""
}

func (l *lab) send(id, text string) {
	l.t.Helper()
	if r := l.ok("pty_send", `{"id":"`+id+`","data":"`+b64(text)+`"}`); r.BytesWritten != len(text) {
		l.t.Errorf("pty_send of %q = %s, want bytes_written %d", text, r.text, len(text))
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func itoa(n uint64) string { text, _ := json.Marshal(n); return string(text) }

var update = flag.Bool("update", false, "write what the tests see into testdata, instead of comparing")

// golden compares got with a file of testdata. With -update it writes the file.
func golden(tb testing.TB, name, got string) {
	tb.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if string(want) != got {
		tb.Errorf("%s differs; if that is intended, run go test -update; got:\n%s", file, got)
	}
}
