package r2_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/r2fake"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/r2"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

var update = flag.Bool("update", false, "write the files of testdata again")

// The program of these tests is their own binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == r2fake.Flag {
		os.Exit(r2fake.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(leaktest.Main(m))
}

// newAgent returns a client of a server with the set, and the sessions.
func newAgent(t *testing.T, o r2.Options, c session.Config) (*mcptest.Agent, *session.Manager) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if o.Program == "" {
		o.Program = self
	}
	c.Dialers = map[string]term.Dialer{"local": ptyx.Host{}.Open}
	c.Logger = leaktest.Log(t)
	m := session.NewManager(c)
	t.Cleanup(func() { m.Close(context.Background()) })
	srv := mcpapi.NewServer(mcpapi.Options{
		Sessions: m, Logger: c.Logger, Local: []string{"stdio"}, Version: "1.2.3",
		More: []toolset.Set{r2.New(o, r2.NewPrograms()).Toolset()}, Toolsets: []string{"core", r2.Name},
	})
	return mcptest.NewAgent(t, srv, ""), m
}

// open opens a file, and sets $S to its session.
func open(t *testing.T, a *mcptest.Agent, file string) {
	t.Helper()
	a.Session = a.OK("r2_open", fmt.Sprintf(`{"file":%q}`, file)).SessionID
}

// cmd runs a command, and returns a member of its result.
func cmd(t *testing.T, a *mcptest.Agent, member, command, more string) string {
	t.Helper()
	text, _ := json.Marshal(command)
	r := a.OK("r2_cmd", fmt.Sprintf(`{"session_id":"$S","cmd":%s%s}`, text, more))
	var value string
	if raw := r.Members[member]; raw != nil && json.Unmarshal(raw, &value) != nil {
		value = string(raw)
	}
	return value
}

// The set has exactly the tools in testdata/tools.json.
func TestList(t *testing.T) {
	a, _ := newAgent(t, r2.Options{Program: "radare2"}, session.Config{})
	var list struct{ Tools []json.RawMessage }
	a.Decode(a.Request("tools/list", `{}`).Result, &list)
	list.Tools = slices.DeleteFunc(list.Tools, func(tool json.RawMessage) bool { return !strings.Contains(string(tool), `"name":"r2_`) })
	got, err := json.MarshalIndent(list.Tools, "", " ")
	if err != nil || len(list.Tools) != 4 {
		t.Fatalf("%d tools of the set, %v; want 4", len(list.Tools), err)
	}
	file := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != string(got)+"\n" {
		t.Errorf("the tools are not those of %s (%v): run go test with -update, and look at its difference\n%s", file, err, got)
	}
}

// Commands are answered one by one, as text and as checked JSON, with the program's error output.
func TestCommands(t *testing.T) {
	a, m := newAgent(t, r2.Options{Args: []string{"-e", "bin.cache=true"}}, session.Config{})
	r := a.OK("r2_open", `{"file":"a b"}`)
	a.Session = r.SessionID
	for _, want := range []string{"one", "two words", `a "quoted" %s`} {
		if got := cmd(t, a, "output", "?e "+want, ""); got != want+"\n" {
			t.Errorf("?e %s = %q, want it", want, got)
		}
	}
	j := a.OK("r2_cmdj", `{"session_id":"$S","cmd":"ij"}`)
	const argv = `"json":{"argv":["-q0","-e","scr.color=false","-e","scr.prompt=false","-nn","-e","bin.cache=true","a b"]}`
	if !strings.Contains(j.Text, argv) {
		t.Errorf("r2_cmdj = %s, want %s", j.Text, argv)
	}
	// Its errors have a pipe of their own, and may come with the result of the next command.
	said := r.Text + cmd(t, a, "stderr", "warn careful", "")
	for i := 0; i < 1000 && !strings.Contains(said, "careful"); i++ {
		said += cmd(t, a, "stderr", "?e x", "")
	}
	if strings.Count(said, "WARN: careful") != 1 || strings.Count(said, "at the start") > 1 {
		t.Errorf("stderr = %q, want each line once", said)
	}
	if got := cmd(t, a, "output", "colour", ""); got != "red \ufffd\n" {
		t.Errorf("the output = %q, want it clean", got)
	}
	a.Fails("r2_cmdj", `{"session_id":"$S","cmd":"bad"}`, term.InvalidArgument, "no JSON at byte", `{\"open\": [1, 2`)
	a.Fails("r2_cmdj", `{"session_id":"$S","cmd":"warn only"}`, term.InvalidArgument, "printed nothing")
	a.Fails("r2_cmd", `{"session_id":"$S"}`, term.InvalidArgument, "no command runs")
	a.Fails("r2_cmd", `{"session_id":"$S","cmd":"!id"}`, term.InvalidArgument, "toolsets.r2.shell")
	a.Fails("r2_cmd", `{"session_id":"$S","cmd":"a\nb"}`, term.InvalidArgument, "line end at byte 1")
	if s, err := m.Get(a.Session); err != nil || s.Info().Protocol != "local" {
		t.Errorf("Get(%s) = %v, want a local session", a.Session, err)
	}
	a.OK("r2_close", `{"session_id":"$S"}`)
	if r := a.OK("r2_close", `{"session_id":"$S"}`); !strings.Contains(r.Text, `"already_closed":true`) {
		t.Errorf("r2_close again = %s, want that it is closed", r.Text)
	}
}

// Output with NULs is one answer, whether the program prints a text as radare2 does or as rizin does. One that does neither
// can be used, too.
func TestNuls(t *testing.T) {
	a, _ := newAgent(t, r2.Options{}, session.Config{})
	for _, file := range []string{"r2", "rz"} {
		open(t, a, file)
		for i := range 20 {
			if got := cmd(t, a, "output", "nul", ""); !strings.HasPrefix(got, "before") || !strings.Contains(got, "behind") {
				t.Errorf("%s: an answer with NULs = %q, want all of it", file, got)
			}
			if got, want := cmd(t, a, "output", fmt.Sprint("say ", i), ""), fmt.Sprintln(i); got != want {
				t.Fatalf("%s: the command behind it = %q, want %q", file, got, want)
			}
		}
	}
	open(t, a, "mute")
	if got := cmd(t, a, "output", "say x", ""); got != "x\n" {
		t.Errorf("without an echo: say = %q, want x", got)
	}
}

// A command that is not done in time goes on, no other is sent before it is answered, and its answer can be had.
func TestBusy(t *testing.T) {
	a, _ := newAgent(t, r2.Options{}, session.Config{})
	open(t, a, "file")
	file := filepath.Join(t.TempDir(), "go")
	wait := fmt.Sprintf(`{"session_id":"$S","cmd":%q,"timeout_ms":50}`, "wait "+file)
	a.Fails("r2_cmd", wait, term.Busy, "still runs", "wait "+file)
	a.Fails("r2_cmd", `{"session_id":"$S","cmd":"say second","timeout_ms":50}`, term.Busy, "still runs")
	a.Fails("r2_cmd", `{"session_id":"$S","timeout_ms":50}`, term.Busy, "still runs")
	start := func() <-chan mcptest.Answer {
		_, answer := a.Start("tools/call", a.Params("r2_cmd", `{"session_id":"$S"}`))
		return answer
	}
	first := start() // it waits, and has the turn
	for {
		select {
		case got := <-first: // a call of the last round was before it, and had the turn
			if !strings.Contains(string(got.Result), "another call waits") {
				t.Fatalf("the call that waits = %s", got.Result)
			}
			first = start()
		default:
		}
		r := a.Call("r2_cmdj", `{"session_id":"$S","cmd":"ij","timeout_ms":1}`)
		if r.ErrorCode != term.Busy {
			t.Fatalf("beside a call that waits: %s, want BUSY", r.Text)
		}
		if strings.Contains(r.Message, "another call waits") {
			break
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-first; !strings.Contains(string(got.Result), `waited\\n`) {
		t.Errorf("the call that waits = %s, want the answer", got.Result)
	}
	if got := cmd(t, a, "output", "say third", ""); got != "third\n" {
		t.Errorf("the next command = %q, want its own answer", got)
	}
	// An answer that no call has waited for is left out, and said to be.
	_ = os.Remove(file)
	a.Fails("r2_cmd", wait, term.Busy, "still runs")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		r := a.Call("r2_cmd", `{"session_id":"$S","cmd":"say fourth"}`)
		if r.ErrorCode == term.Busy {
			continue
		}
		if !strings.Contains(r.Text, `"output":"fourth\n"`) || !strings.Contains(r.Text, "left out: 7 bytes") {
			t.Errorf("behind an answer that came late: %s, want the own answer and a warning", r.Text)
		}
		break
	}
}

// Output has a bound, what is left out is counted and can be read, and a part of JSON is refused.
func TestBounds(t *testing.T) {
	a, _ := newAgent(t, r2.Options{}, session.Config{})
	open(t, a, "file")
	r := a.OK("r2_cmd", `{"session_id":"$S","cmd":"flood 1000","max_bytes":80}`)
	var out struct {
		Output     string
		Bytes      int64  `json:"output_bytes"`
		Omitted    int64  `json:"omitted_bytes"`
		ExecID     string `json:"exec_id"`
		NextCursor string `json:"next_cursor"`
	}
	a.Decode(json.RawMessage(r.Text), &out)
	if len(out.Output) != 80 || out.Bytes != 8000 || out.Omitted != 7920 {
		t.Errorf("flood = %s, want 80 bytes of 8000", r.Text)
	}
	rest := a.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"read","session_id":"$S","exec_id":%q,"stream":"stdout","cursor":%q}`, out.ExecID, out.NextCursor))
	if !strings.HasPrefix(rest.Chunk, "0000010\n") {
		t.Errorf("a read from next_cursor = %.100s, want the eleventh line", rest.Text)
	}
	a.Fails("r2_cmdj", `{"session_id":"$S","cmd":"jflood 100","max_bytes":80}`, term.LimitExceeded, "has 204 bytes", "max_bytes")
	if r := a.OK("r2_cmdj", `{"session_id":"$S","cmd":"jflood 100"}`); !strings.Contains(r.Text, `"json":[0,1,`) {
		t.Errorf("jflood = %.100s, want its JSON", r.Text)
	}
	// More than the session keeps: the end of the answer is still seen.
	if got := cmd(t, a, "omitted_bytes", "flood 250000", ""); got != fmt.Sprint(2_000_000-64<<10) {
		t.Errorf("flood of 2 MB leaves out %s bytes, want all but 64 KiB", got)
	}
	if got := cmd(t, a, "output", "?e after", ""); got != "after\n" {
		t.Errorf("the command behind the flood = %q, want its own answer", got)
	}
}

// A program that cannot begin, never is ready, or ends, is said to be one.
func TestEnds(t *testing.T) {
	a, m := newAgent(t, r2.Options{}, session.Config{})
	a.Fails("r2_open", `{"file":"missing"}`, term.RemoteClosed, "Cannot open 'missing'")
	a.Fails("r2_open", `{"file":"slow","timeout_ms":50}`, term.ExecTimeout, "not ready")
	a.Fails("r2_open", `{"file":"-x"}`, term.InvalidArgument, "./")
	for _, i := range m.List() {
		if !i.State.Ended() {
			t.Errorf("session %s is %s, want that none is left", i.ID, i.State)
		}
	}
	open(t, a, "file")
	a.Fails("r2_cmd", `{"session_id":"$S","cmd":"exit 3"}`, term.RemoteClosed, "it gives up")
	r := a.Call("r2_cmd", `{"session_id":"$S","cmd":"?e x"}`)
	if !r.IsError || r.ErrorCode != term.RemoteClosed && r.ErrorCode != term.AlreadyClosed {
		t.Errorf("a command to a program that has ended = %s, want that it has", r.Text)
	}
	none, _ := newAgent(t, r2.Options{Program: "no-such-radare2"}, session.Config{})
	for _, want := range []string{`"no-such-radare2" cannot be started`, "toolsets.r2.program"} {
		none.Fails("r2_open", `{"file":"x"}`, term.Unsupported, want)
	}
	if r := none.Call("r2_open", `{"file":"x"}`); strings.Contains(r.Text, "argv") {
		t.Errorf("r2_open without the program = %s, want no word of an argument that the tool lacks", r.Text)
	}
}
