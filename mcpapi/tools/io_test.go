package tools_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/keys"
	"ptyctl/term"
)

func TestWriteAndRead(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()

	// In one call: type, and wait for a match.
	r := l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"echo $((6*7)) sheep\r","until_regex":"\\n42 sheep\\s","timeout_ms":10000}`,
	)
	if !r.Matched || r.BytesWritten == nil || *r.BytesWritten != 20 || !strings.HasSuffix(r.Chunk, "42 sheep\n") ||
		r.TimedOut ||
		r.State != "" ||
		r.Action != "write" {
		t.Errorf("write with a condition: %s", r.Text)
	}
	// In two: the cursor of the write misses nothing, however late the read comes.
	w := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo a$((1+1))b"}`)
	if w.Members["chunk"] != nil || w.Members["next_cursor"] != nil || w.Cursor == "" {
		t.Errorf("a write without conditions reads: %s", w.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","key":"enter"}`)
	for range 2 { // a read does not remove output
		r = l.OK(
			mcptest.IOTool,
			`{"action":"read","session_id":"$S","cursor":"`+w.Cursor+`","until_regex":"a2b","timeout_ms":10000}`,
		)
		if !r.Matched || !strings.Contains(r.Chunk, "a2b") {
			t.Errorf("read: %s", r.Text)
		}
	}
	r = l.OK(
		mcptest.IOTool,
		`{"action":"read","session_id":"$S","cursor":"`+w.Cursor+`","until_regex":"a2b","include_match":false,"timeout_ms":10000}`,
	)
	if !r.Matched || strings.Contains(r.Chunk, "a2b") {
		t.Errorf("include_match false: %s", r.Text)
	}
	for _, m := range []string{
		"truncated", "dropped_bytes", "next_cursor", "eof", "timed_out", "chunk", "encoding",
		"buffer_start_cursor", "buffer_end_cursor", "buffered_bytes", "buffer_limit_bytes",
	} {
		if r.Members[m] == nil {
			t.Errorf("%s is missing in %s", m, r.Text)
		}
	}
	r = l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"echo quiet\r","until_idle_ms":200,"timeout_ms":10000}`,
	)
	if !r.IdleReached || r.Matched || !strings.Contains(r.Chunk, "quiet\n$ ") {
		t.Errorf("until idle: %s", r.Text)
	}
	r = l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"read -p 'Sure? (y/n) ' x\r","input_hints":{"wait_for_regexes":["nothing","\\(y/n\\) $"]},"timeout_ms":10000}`,
	)
	if !r.WaitingForInput || r.Matched || r.Prompt != nil {
		t.Errorf("input hints: %s", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"y\r","until_regex":"\\$ $","timeout_ms":10000}`)
	// A short read of new output is intended. The result warns only if the time is too short for any caller to want.
	for ms, warned := range map[int]bool{30: true, 150: false} {
		r = l.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"read","session_id":"$S","timeout_ms":%d}`, ms))
		if got := r.Members["warnings"] != nil; got != warned {
			t.Errorf("a read of %d ms that got nothing: %s; want warnings %v", ms, r.Text, warned)
		}
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":20}`)
	if !r.TimedOut || r.Matched || r.Chunk != "" || r.NextCursor != r.BufferEnd {
		t.Errorf("a deadline: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","mode":"tail","max_lines":1}`)
	if r.Chunk != "$ " {
		t.Errorf("tail: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","mode":"tail","max_bytes":4}`)
	if len(r.Chunk) > 4 {
		t.Errorf("tail of 4 bytes: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","max_bytes":1}`)
	if r.Chunk != "$" || r.NextCursor != "1" {
		t.Errorf("one byte: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"9000000000000000000","timeout_ms":0}`)
	if r.Chunk != "" || r.NextCursor != r.BufferEnd {
		t.Errorf("a cursor beyond the end: %s", r.Text)
	}
}

func TestIORefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	long := strings.Repeat("a", schema.MaxRegexp+1)
	tests := []struct {
		args            string
		field, position string
		parts           []string
	}{
		{`"action":"write"`, "data", "", []string{"nothing to write"}},
		{`"action":"write","data":"x","key":"enter"`, "key", "", []string{"exclude each other"}},
		{`"action":"read","cursor":"x"`, "cursor", "", []string{`cursor "x" is none`, "next_cursor"}},
		{`"action":"read","cursor":"-1"`, "cursor", "", []string{"is none"}},
		{`"action":"read","cursor":"1.5"`, "cursor", "", nil},
		{`"action":"read","cursor":"99999999999999999999"`, "cursor", "", nil},
		{`"action":"read","cursor":0.5`, "cursor", "", []string{"must be a string, not a number"}},
		{`"action":"read","mode":"tail","cursor":"0"`, "cursor", "", []string{"mode tail takes no cursor"}},
		{`"action":"read","cursor":"0","max_lines":5`, "max_lines", "", []string{"belongs to mode tail"}},
		{`"action":"read","mode":"cursor","max_lines":5`, "max_lines", "", []string{"belongs to mode tail"}},
		{`"action":"read","until_idle_ms":3000`, "until_idle_ms", "", []string{"longer than timeout_ms (2000)"}},
		{`"action":"write","data":"x","until_idle_ms":30,"timeout_ms":20`, "until_idle_ms", "", []string{"longer than timeout_ms (20)"}},
		{`"action":"write","data":"x","until_regex":"ab(c"`, "until_regex", "character 0: ab(c", []string{"missing closing )", "RE2"}},
		{`"action":"read","until_regex":"ab[z-a]"`, "until_regex", "character 3: z-a", []string{"invalid character class range"}},
		{`"action":"read","until_regex":"a(?=b)"`, "until_regex", "character 1: (?=", []string{"no look-around"}},
		{`"action":"read","until_regex":"a{9999}"`, "until_regex", "character 1: {9999}", nil},
		{`"action":"read","until_regex":"` + long + `"`, "until_regex", "", []string{"4097 bytes; 4096 are allowed"}},
		{`"action":"read","input_hints":{"wait_for_regexes":["ok","*"]}`, "input_hints.wait_for_regexes[1]", "character 0: *", nil},
	}
	for _, tt := range tests {
		r := l.Fails(mcptest.IOTool, `{"session_id":"$S",`+tt.args+`}`, term.InvalidArgument, tt.parts...)
		if r.Details.Field != tt.field || r.Details.Position != tt.position {
			t.Errorf(
				"%.100s: field %q, position %q; want %q, %q",
				tt.args,
				r.Details.Field,
				r.Details.Position,
				tt.field,
				tt.position,
			)
		}
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.BytesOut != 0 {
		t.Errorf("a call that was refused has typed something: %s", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","format":"clean","timeout_ms":0}`)
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","format":"raw","timeout_ms":0}`)
}

// A value beyond the operator's limits is lowered, and the result has a warning.
func TestClamping(t *testing.T) {
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			Options: mcpapi.Options{Limits: toolset.Limits{
				MaxWait: 60 * time.Millisecond, MaxReadBytes: 5, ReadTimeout: time.Millisecond,
			}},
			SSH: sshserver.Config{Handler: mcptest.Echo},
		},
	)
	l.Open("")
	r := l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"0123456789","until_regex":"never","timeout_ms":3600000,"mode":"cursor","max_bytes":1000,"until_idle_ms":1800000}`,
	)
	if r.Chunk != "01234" || len(r.Warnings) != 3 {
		t.Errorf("got %s", r.Text)
	}
	for i, want := range []string{
		"max_bytes was lowered to 5 (limits.max_read_bytes)",
		"timeout_ms was lowered to 60ms (limits.max_wait_ms)", "until_idle_ms was lowered to 60ms (limits.max_wait_ms)",
	} {
		if i < len(r.Warnings) && r.Warnings[i] != want {
			t.Errorf("warning %q, want %q", r.Warnings[i], want)
		}
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":3600000}`)
	if !r.TimedOut {
		t.Errorf("got %s", r.Text)
	}
	if len(r.Warnings) != 0 {
		t.Errorf("the caller has had these warnings: %q", r.Warnings)
	}
	// The largest numbers there are must not wrap around to small ones.
	l.Open("")
	r = l.OK(
		mcptest.IOTool,
		`{"action":"read","session_id":"$S","cursor":"0","timeout_ms":1099511627776,"max_bytes":1099511627776,"until_idle_ms":1099511627776}`,
	)
	if len(r.Warnings) != 3 {
		t.Errorf("got %s", r.Text)
	}
}

// A key sends the bytes of its name, and an unknown name is answered with the nearest known one.
func TestKeys(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	for name, want := range map[string]string{
		"Enter": "\r", "Ctrl-C": "\x03", "^D": "\x04", "C-z": "\x1a", `\x05`: "\x05", "y": "y", "Q": "Q",
		"ArrowDown": "\x1b[B", "PageUp": "\x1b[5~", "<F5>": "\x1b[15~", "M-x": "\x1bx", "Return": "\r",
		"enter": "\r", "ctrl_c": "\x03", "ctrl_b": "\x02", "alt_f": "\x1bf", "esc": "\x1b", "arrow_up": "\x1b[A", "ctrl_backslash": "\x1c", "backspace": "\x7f", "f10": "\x1b[21~",
	} {
		pattern, err := json.Marshal(regexp.QuoteMeta(want) + "$")
		if err != nil {
			t.Fatal(err)
		}
		r := l.OK(
			mcptest.IOTool,
			fmt.Sprintf(`{"action":"write","session_id":"$S","key":%q,"encoding":"base64","until_regex":%s,"include_echo":true}`,
				name, pattern),
		)
		got, err := base64.StdEncoding.DecodeString(r.Chunk)
		if err != nil || string(got) != want || *r.BytesWritten != len(want) {
			t.Errorf("key %s sent %q, want %q (%v)", name, got, want, err)
		}
	}
	for args, want := range map[string]string{
		`"key":"turbo"`:                      keys.List,
		`"key":"enter","paste":true`:         "paste is for data",
		`"data":"a\u001b[201~","paste":true`: "end the paste",
	} {
		l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S",`+args+`}`, term.InvalidArgument, want)
	}
}

// Input that is probably a mistake is typed as given, with a warning.
func TestWriteWarnings(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"\\x03","until_regex":"x03","include_echo":true}`)
	if r.Chunk != `\x03` || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "ctrl_c") {
		t.Errorf("write of data \\x03: %s; want it typed as given, one warning that names ctrl_c", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"one\ntwo","paste":true,"until_regex":"two","include_echo":true,"format":"raw"}`)
	if r.Chunk != "one\rtwo" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "bracketed paste") {
		t.Errorf("paste of two lines: %s; want it typed, one warning about bracketed paste", r.Text)
	}
}

// Output beyond the buffer is lost, and every read that missed some says how much.
func TestDropped(t *testing.T) {
	l := mcptest.NewLab(t,
		mcptest.Config{SSH: sshserver.Config{Handler: flood}, Sessions: session.Config{BufferBytes: 8192}})
	l.Open("")
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"end\\.$","timeout_ms":10000}`)
	r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0,"max_bytes":100}`)
	if !r.Truncated || r.DroppedBytes == 0 || r.BufferLimitBytes != 8192 || len(r.Chunk) != 100 {
		t.Errorf("got %s", r.Text)
	}
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); s.Session.DroppedBytes == 0 {
		t.Errorf("status: %s", s.Text)
	}
	r = l.OK(mcptest.IOTool,
		`{"action":"read","session_id":"$S","cursor":"`+r.NextCursor+`","timeout_ms":0,"max_bytes":100}`)
	if r.Truncated || string(r.Members["truncated"]) != "false" || string(r.Members["dropped_bytes"]) != "0" {
		t.Errorf("got %s", r.Text)
	}
}

// flood is a shell that says much and then waits.
func flood(ctx context.Context, r *sshserver.Request) sshserver.Exit {
	for range 1000 {
		if _, err := io.WriteString(r.Stdout, strings.Repeat("x", 99)+"\n"); err != nil {
			return sshserver.Exit{}
		}
	}
	_, _ = io.WriteString(r.Stdout, "the end.")
	<-ctx.Done()
	return sshserver.Exit{}
}

// A read that its client cancels ends at once, gets no answer, and loses nothing.
func TestReadCancelledByClient(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	id, unanswered := l.Start(
		"tools/call",
		l.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":40000}`),
	)
	waiting := func(n int64) bool {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.Readers == n {
				return true
			}
		}
		return false
	}
	if !waiting(1) {
		t.Fatal("no read waits")
	}
	l.Write(mcptest.CancelCall(id))
	if !waiting(0) {
		t.Fatal("the read still waits")
	}
	r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"x","until_regex":"x","include_echo":true}`)
	if !r.Matched {
		t.Errorf("got %s", r.Text)
	}
	select {
	case a := <-unanswered:
		t.Errorf("the cancelled call was answered: %s", a.Result)
	default:
	}
}

// A terminal that takes no input: the write ends, reports how much was sent, and no call waits behind it.
func TestWriteStuck(t *testing.T) {
	stuck := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		return &deaf{closed: make(chan struct{})}, nil
	}
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			Sessions: session.Config{WriteTimeout: 50 * time.Millisecond, Dialers: map[string]term.Dialer{"ssh": stuck}},
		},
	)
	l.Open("")
	r := l.OK(mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"ls\r","until_regex":"never","timeout_ms":30000}`)
	if string(r.Members["write_timed_out"]) != "true" || string(r.Members["bytes_written"]) != "0" ||
		r.Members["bytes_pending"] == nil ||
		len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "3 bytes (bytes_pending) may still go out") ||
		r.Members["chunk"] != nil {
		t.Errorf("got %s", r.Text)
	}
	if r = l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S","force":true}`); r.State != "closed" {
		t.Errorf("close: %s", r.Text)
	}
}

// deaf is a terminal without output that accepts no input.
type deaf struct {
	once   sync.Once
	closed chan struct{}
}

func (d *deaf) Read([]byte) (int, error)  { <-d.closed; return 0, io.EOF }
func (d *deaf) Write([]byte) (int, error) { <-d.closed; return 0, io.ErrClosedPipe }
func (d *deaf) Resize(int, int) error     { return nil }
func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Sensitive input reaches no observer.
func TestSensitive(t *testing.T) {
	seen := make(actors, 100)
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			SSH:      sshserver.Config{Handler: mcptest.Echo},
			Sessions: session.Config{Observers: []term.Observer{seen}},
		},
	)
	l.Open("")
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"hunter2-1138","sensitive":true}`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"plain"}`)
	for writes := 0; writes < 2; {
		e := <-seen
		if e.Verb != term.VerbWrite {
			continue
		}
		writes++
		if want := map[int]string{1: "", 2: "plain"}[writes]; string(e.Data) != want || e.Sensitive != (want == "") {
			t.Errorf("write %d is on record as %+v", writes, e)
		}
	}
}

// answering is a terminal that echoes each line, and then answers it with three lines of ten letters and a prompt.
func answering(_ context.Context, r *sshserver.Request) sshserver.Exit {
	line := make([]byte, 0, 100)
	for p := make([]byte, 1); ; {
		if _, err := io.ReadFull(r.Stdin, p); err != nil {
			return sshserver.Exit{}
		}
		if p[0] != '\r' {
			line = append(line, p[0])
			continue
		}
		_, _ = fmt.Fprintf(r.Stdout, "%s\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r\n$ ", line)
		line = line[:0]
	}
}

// A write waits for the terminal's answer, not for the echo of its own data, and returns the requested part.
func TestWriteAndWait(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: answering}})
	l.Open("")
	for _, c := range []struct {
		name, args string
		want       string // the chunk
		matched    bool
		full       bool
		warning    string
	}{
		{"past the echo", `"data":"say READY\r","until_regex":"READY"`, "say READY\naaaaaaaaaa\nbbbbbbbbbb\nREADY", true, false, ""},
		{"the echo too", `"data":"say READY\r","until_regex":"READY","include_echo":true`, "say READY", true, false, ""},
		{"clean text", `"data":"say READY\r","until_regex":"^aaaaaaaaaa$"`, "say READY\naaaaaaaaaa", true, false, ""},
		{
			"nothing but the echo", `"data":"say NEVER\r","until_regex":"NEVER","timeout_ms":1000`,
			"say NEVER\naaaaaaaaaa\nbbbbbbbbbb\nREADY\n$ ", false, false, "include_echo",
		},
		{"the end of a line", `"data":"go\r","until_regex":"READY$"`, "go\naaaaaaaaaa\nbbbbbbbbbb\nREADY", true, false, ""},
		{
			"the bytes", `"data":"say READY\r","until_regex":"READY","format":"raw"`,
			"say READY\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY", true, false, "",
		},
		{
			"raw bytes that hide a line", `"data":"go\r","until_regex":"^aaaaaaaaaa$","timeout_ms":1000,"format":"raw"`,
			"go\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r\n$ ", false, false, "format clean",
		},
		{"the last bytes", `"data":"go\r","until_regex":"\\$ $","mode":"tail","max_bytes":9`, "READY\n$ ", true, false, ""},
		{"max_bytes alone", `"data":"go\r","until_regex":"\\$ $","max_bytes":9`, "READY\n$ ", true, false, ""},
		{"the last lines", `"data":"go\r","until_regex":"\\$ $","mode":"tail","max_lines":2`, "READY\n$ ", true, false, ""},
		{"the first bytes", `"data":"go\r","until_regex":"\\$ $","mode":"cursor","max_bytes":4`, "go\n", false, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S",`+c.args+`}`)
			if r.Chunk != c.want || r.Matched != c.matched || strings.Contains(r.Text, `"full":true`) != c.full {
				t.Errorf("write %s = %s; want chunk %q, matched %v, full %v", c.args, r.Text, c.want, c.matched, c.full)
			}
			if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
				t.Errorf("write %s warns %q, want %q", c.args, got, c.warning)
			}
			l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_idle_ms":200}`) // the rest
		})
	}
	found := l.OK(mcptest.IOTool,
		`{"action":"search","session_id":"$S","pattern":"^aaaaaaaaaa$","max_matches":1}`)
	if !strings.Contains(found.Text, `"text":"aaaaaaaaaa","match":true`) {
		t.Errorf("search in clean text = %s, want the line without its colour", found.Text)
	}
	if raw := l.OK(mcptest.IOTool,
		`{"action":"search","session_id":"$S","pattern":"^aaaaaaaaaa$","format":"raw"}`); !strings.Contains(raw.Text, `"matches":0`) {
		t.Errorf("search in raw text = %s, want no match: the line begins with an escape sequence", raw.Text)
	}
	for _, args := range []string{`"data":"x","mode":"tail"`, `"data":"x","until_regex":"x","max_lines":2`} {
		if r := l.Call(mcptest.IOTool, `{"action":"write","session_id":"$S",`+args+`}`); !strings.Contains(r.Text,
			"INVALID_ARGUMENT") {
			t.Errorf("write %s = %s, want INVALID_ARGUMENT", args, r.Text)
		}
	}
}

// A read in clean text goes on waiting if the terminal has shown nothing yet.
func TestReadOfNothingVisible(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"stty -echo; sleep 1; printf '\\033[?2004h'; sleep 30\r","until_regex":"sleep 30\\n"}`)
	quiet := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","timeout_ms":2500}`)
	if quiet.Chunk != "" || !quiet.TimedOut {
		t.Errorf("a read of a change of modes alone: %s, want timed_out and no chunk", quiet.Text)
	}
	raw := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"`+quiet.NextCursor+`","timeout_ms":1,"format":"raw"}`)
	if raw.Chunk != "" {
		t.Errorf("the read went past %q, and its next_cursor not", raw.Chunk)
	}
}
