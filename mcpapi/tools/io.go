package tools

import (
	"unicode"
	"unicode/utf8"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/fleet"
	"ptyctl/mcpapi/tools/paste"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/keys"
	"ptyctl/session/prompt"
)

var ioTool = toolset.Bind(schema.Tool{
	Name:  "ptyctl_session_io",
	Title: "Type and read",
	About: "Type into a terminal and read it. Do not poll: give write or read until_regex or until_idle_ms. Menus, " +
		"editors: write a key with format screen, then with since. Absent: empty chunk, matched true.",
	Reading: "Read what a terminal shows. Do not poll: give until_regex or until_idle_ms, and the next_cursor of the " +
		"last read.",
	Actions: []schema.Action{
		{Name: "write", About: "data, key, keys or steps.", Example: `{"action":"write","session_id":"web1-k3f9q2zd","data":"ls\r","until_idle_ms":300}`},
		{Name: "read", About: "output after cursor (default: now), or mode tail.", Example: `{"action":"read","session_id":"web1-k3f9q2zd","cursor":"0","until_regex":"\\$ $"}`, Reads: true},
		{Name: "search", About: "output still held.", Example: `{"action":"search","session_id":"web1-k3f9q2zd","pattern":"(?i)error"}`, Reads: true},
	},
	Hints: schema.Hints{Destructive: true, OpenWorld: true},
}, doIO, ioOut{}, searchOut{})

// ioArgs are the arguments of ptyctl_session_io. A cursor counts raw bytes from the start of the session's output; it
// is a string, because large JSON numbers lose digits in some clients. Data is a pointer: empty data differs from
// absent data.
type ioArgs struct {
	SessionID string   `json:"session_id" on:"write read search" need:"read search" is:"filled" doc:"from open; or host"`
	Host      string   `json:"host" on:"write" is:"filled" doc:"[write] new terminal there; types at its prompt" eg:"'host':'admin@web1','session_id':null,'read/fleet_id':'f-5t2k9w3m','read/until_regex':null"`
	FleetID   string   `json:"fleet_id" on:"read" is:"filled fleet" doc:"[read] with host: what that host of a ptyctl_fleet run has said" eg:"'fleet_id':'f-5t2k9w3m','host':'web1','session_id':null,'until_regex':null"`
	Data      *string  `json:"data" on:"write" doc:"text; end a line with \\r" eg:"'data':'ls\\r'"`
	Key       keyName  `json:"key" on:"write" is:"filled" doc:"" eg:"'key':'enter','data':null"`
	Keys      []string `json:"keys" on:"write" doc:"several" eg:"'keys':['down','enter'],'data':null"`
	Steps     []ioStep `json:"steps" on:"write" max:"50" doc:"until one fails: stopped, step (from 0)" eg:"'steps':[{'data':'ls\\r','until_prompt':true}],'data':null,'until_idle_ms':null"`
	paste.Args
	Paste        bool       `json:"paste" on:"write" doc:"as a paste" eg:"'paste':true"`
	Sensitive    bool       `json:"sensitive" on:"write" doc:"a secret; masked" eg:"'sensitive':true"`
	Secret       string     `json:"secret" on:"write" is:"filled secrets" doc:"types this secret of the operator's, and enter, at its question" eg:"'secret':'web-sudo','data':null"`
	TaskID       string     `json:"task_id" on:"write" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
	Encoding     string     `json:"encoding" on:"read write" enum:"utf-8 base64" doc:"of data and chunk" eg:"'encoding':'base64','data':'bHMN'"`
	Cursor       string     `json:"cursor" on:"read search" is:"filled number" doc:"a next_cursor, or \"0\" (a string)" eg:"'cursor':'1290'"`
	Mode         string     `json:"mode" on:"read write" enum:"cursor tail" doc:"tail: the end" eg:"'mode':'tail','cursor':null,'until_regex':null"`
	TimeoutMS    *int64     `json:"timeout_ms" on:"read write" max:"1<<40" doc:"milliseconds; default {session.read_timeout_ms}" eg:"'timeout_ms':20000"`
	MaxBytes     int64      `json:"max_bytes" on:"read write" min:"1" max:"1<<40" doc:"default 16384" eg:"'max_bytes':4096"`
	MaxLines     int        `json:"max_lines" on:"read write" min:"1" doc:"of mode tail" eg:"'max_lines':20,'mode':'tail','cursor':null,'until_regex':null"`
	UntilRegex   string     `json:"until_regex" on:"read write" is:"filled" doc:"wait for this (RE2)" eg:"'until_regex':'\\\\$ $','until_idle_ms':null"`
	UntilPrompt  bool       `json:"until_prompt" on:"read write" doc:"or a prompt" eg:"'until_prompt':true,'until_regex':null,'until_idle_ms':null"`
	IncludeMatch *bool      `json:"include_match" on:"read write" doc:"default true" eg:"'include_match':false,'until_regex':'\\\\$ $'"`
	IncludeEcho  bool       `json:"include_echo" on:"write" doc:"match own echo" eg:"'include_echo':true,'until_regex':'total','until_idle_ms':null"`
	UntilIdleMS  int64      `json:"until_idle_ms" on:"read write" min:"1" max:"1<<40" doc:"or quiet" eg:"'until_idle_ms':300,'until_regex':null"`
	InputHints   inputHints `json:"input_hints" on:"read write" doc:"or a question" eg:"'input_hints':{'wait_for_regexes':['password: $']}"`
	ExecID       string     `json:"exec_id" on:"read search" is:"filled" doc:"[read, search] a command" eg:"'exec_id':'exec-5t2k9w3m'"`
	Stream       string     `json:"stream" on:"read search" enum:"stdout stderr" doc:"of exec_id" eg:"'stream':'stderr','exec_id':'exec-5t2k9w3m'"`
	Format       string     `json:"format" on:"read write search" is:"firm" enum:"clean raw screen png" doc:"screen: what a person sees, <- marks the selected; png: picture, too; raw: exact; default {session.format}" eg:"'format':'raw'"`
	screenArgs
	lineArgs
	Pattern    string `json:"pattern" need:"search" is:"filled" doc:"[search] RE2"`
	IgnoreCase bool   `json:"ignore_case" on:"search" doc:"[search]" eg:"'ignore_case':true,'pattern':'error'"`
	MaxMatches int    `json:"max_matches" on:"search" min:"1" max:"1000" doc:"[search] default 50" eg:"'max_matches':20"`
	RequestID  string `json:"request_id" on:"write" is:"filled" doc:"for retries" eg:"'request_id':'r-1'"`
}

// lineArgs choose lines of the output.
type lineArgs struct {
	Match   string `json:"match" on:"read write" is:"filled" doc:"only such lines (RE2)" eg:"'match':'(?i)error'"`
	Context int    `json:"context" on:"read write search" max:"50" doc:"lines around" eg:"'context':2,'match':'(?i)error'"`
}

// ioStep is one step of a list.
type ioStep struct {
	Data        *string  `json:"data" doc:"\\r ends a line" eg:"'data':'ls\\r'"`
	Key         string   `json:"key" is:"filled" doc:"or this" eg:"'key':'enter','data':null"`
	Keys        []string `json:"keys" doc:"or these" eg:"'keys':['down','enter'],'data':null"`
	Sensitive   bool     `json:"sensitive" doc:"secret" eg:"'sensitive':true"`
	Secret      string   `json:"secret" is:"filled secrets" doc:"or this, and enter" eg:"'secret':'web-sudo','data':null"`
	Paste       bool     `json:"paste" doc:"as paste" eg:"'paste':true"`
	UntilRegex  string   `json:"until_regex" is:"filled" doc:"then wait (RE2)" eg:"'until_regex':'\\\\$ $','until_prompt':null"`
	UntilPrompt bool     `json:"until_prompt" doc:"or prompt" eg:"'until_prompt':true"`
	UntilIdleMS int64    `json:"until_idle_ms" min:"1" max:"1<<40" doc:"or quiet" eg:"'until_idle_ms':300,'until_prompt':null"`
	TimeoutMS   int64    `json:"timeout_ms" min:"1" max:"1<<40" doc:"default {session.read_timeout_ms}" eg:"'timeout_ms':20000"`

	UntilScreen   string      `json:"until_screen" is:"filled" doc:"or this on screen" eg:"'until_screen':'Save','until_prompt':null"`
	UntilStableMS int64       `json:"until_stable_ms" min:"1" max:"1<<40" doc:"or no change" eg:"'until_stable_ms':300,'until_prompt':null"`
	Click         screenPoint `json:"click" doc:"mouse" eg:"'click':{'row':5,'col':10},'data':null"`
}

// keyName is the name of a key.
type keyName string

// Doc shows how keys are named, for the argument's description. An unknown name is answered with all of them.
func (keyName) Doc() string {
	return "enter, esc, tab, arrow_up, page_up, f1, ctrl_c, ..."
}

// Canonical returns the key that is meant by a name of another program's, or by the bytes that it sends.
func (keyName) Canonical(text string) string {
	if key := keys.Meant(text); key != "" {
		return key
	}
	return text
}

// character reports whether the name is one character, which types itself.
func (k keyName) character() bool {
	r, n := utf8.DecodeRuneInString(string(k))
	return n == len(k) && unicode.IsPrint(r) && r != utf8.RuneError
}

// inputHints are patterns that recognise a question.
type inputHints struct {
	WaitFor *[]string `json:"wait_for_regexes" doc:"questions" eg:"'wait_for_regexes':['password: $']"`
}

// ioOut is the result of ptyctl_session_io.
type ioOut struct {
	Action       string `json:"action"`
	SessionID    string `json:"session_id,omitempty" is:"listed"` // if the call named its host
	Secret       string `json:"secret,omitempty"`                 // that was typed
	BytesWritten *int   `json:"bytes_written,omitempty"`
	BytesPending int    `json:"bytes_pending,omitempty" is:"listed"`
	Cursor       string `json:"cursor,omitempty" is:"listed"` // [write] end of the output before the write
	*readOut
	WriteTimedOut   bool            `json:"write_timed_out,omitempty"`
	WaitingFor      *wire.Waiting   `json:"waiting_for,omitempty" is:"listed"`
	WaitingForInput bool            `json:"waiting_for_input"`
	State           session.State   `json:"state,omitempty"`
	EndCode         session.EndCode `json:"end_code,omitempty" is:"listed"` // with eof
	Prompt          *wire.Prompt    `json:"prompt,omitempty"`
	Warnings        []string        `json:"warnings,omitempty"`
	*stepsOut
	*pasteOut

	session string
	alone   bool   // the input of a call that names its host and has no list
	from    int64  // where the output begins that the result shows, of a session that the call has opened
	picture []byte // of the screen
	asked   bool   // for something to appear: until_regex, until_prompt, until_screen or until_cursor
}

// Picture is for format png.
func (out *ioOut) Picture() []byte { return out.picture }

// SessionName is for the text form.
func (out *ioOut) SessionName() string { return out.session }

// stepsOut is the part of the result that says where a list of steps has stopped.
type stepsOut struct {
	Stopped session.Stop  `json:"stopped" is:"listed"`
	Step    int           `json:"step" is:"listed"` // the first one that was not done
	Typed   bool          `json:"typed,omitempty"`  // it was typed, and only its condition was not met
	Error   *wire.Failure `json:"error,omitempty"`  // refused, taken
	nothing bool          // nothing was typed
}

// Undone reports whether the call did nothing, so that a retry must run.
func (out *ioOut) Undone() bool { return out.stepsOut != nil && out.nothing }

// pasteOut is the part of the result that lines add. While they go on, ptyctl_session_exec with the exec_id waits for them.
type pasteOut struct {
	Pasted      *paste.Out         `json:"pasted"`
	DoneReason  session.DoneReason `json:"done_reason"`
	ExecID      string             `json:"exec_id,omitempty"`
	RemainingMS *int64             `json:"remaining_ms,omitempty"`
}

// pasteCompact is the compact form of pasteOut.
type pasteCompact pasteOut

// brief leaves out how the lines ended, which pasted says.
func (out *pasteOut) brief() *pasteCompact {
	if out == nil {
		return nil
	}
	c := pasteCompact(*out)
	if c.DoneReason != session.DoneRunning {
		c.DoneReason = ""
	}
	return &c
}

// readOut is the part of the result that a read adds.
type readOut struct {
	Chunk             string `json:"chunk" is:"listed"`
	Encoding          string `json:"encoding"`
	NextCursor        string `json:"next_cursor" is:"listed"`
	Version           string `json:"version,omitempty"` // of the screen in chunk
	BufferStartCursor string `json:"buffer_start_cursor"`
	BufferEndCursor   string `json:"buffer_end_cursor"`
	Matched           bool   `json:"matched"`
	IdleReached       bool   `json:"idle_reached"`
	Full              bool   `json:"full,omitempty"` // max_bytes came before the condition
	TimedOut          bool   `json:"timed_out"`
	EOF               bool   `json:"eof"`
	Truncated         bool   `json:"truncated"`
	DroppedBytes      int64  `json:"dropped_bytes"`
	UnsearchedBytes   int64  `json:"unsearched_bytes,omitempty"` // dropped before until_regex was looked for in them
	BufferedBytes     int64  `json:"buffered_bytes"`
	BufferLimitBytes  int    `json:"buffer_limit_bytes"`

	Gaps      []string   `json:"gaps,omitempty"` // cursors at which one connection ended and the next one begins
	Sanitized *sanitized `json:"sanitized,omitempty"`
	matchedOut
	Failure *fleet.Failure `json:"failure,omitempty"` // of a host of a run, without an exit code
}

// searchOut is the result of its action search.
type searchOut struct {
	Action     string      `json:"action"`
	Lines      []foundLine `json:"lines" is:"listed" after:"waiting_for"`
	Matches    int         `json:"matches"`
	More       bool        `json:"more"` // go on from next_cursor
	NextCursor string      `json:"next_cursor"`
	Dropped    int64       `json:"dropped_bytes"`
	Truncated  bool        `json:"truncated"`
}

// foundLine is one line of the output.
type foundLine struct {
	Line   int64  `json:"line"` // counted from the oldest line held, from 1
	Cursor string `json:"cursor"`
	Text   string `json:"text"`
	Match  bool   `json:"match,omitempty"`
}

// chunkCompact is the compact form of readOut. It says whether a condition of the call was not met.
type chunkCompact struct {
	NextCursor string `json:"next_cursor"`
	Version    string `json:"version"`
	Chunk      string `json:"chunk"`
	Encoding   string `json:"encoding"`
	Matched    *bool  `json:"matched"`
	matchedOut

	IdleReached       bool           `json:"idle_reached"`
	Full              bool           `json:"full"`
	TimedOut          bool           `json:"timed_out"`
	EOF               bool           `json:"eof"`
	Truncated         bool           `json:"truncated"`
	DroppedBytes      int64          `json:"dropped_bytes"`
	BufferStartCursor string         `json:"buffer_start_cursor"`
	UnsearchedBytes   int64          `json:"unsearched_bytes"`
	Gaps              []string       `json:"gaps"`
	Sanitized         *sanitized     `json:"sanitized"`
	Failure           *fleet.Failure `json:"failure"`
}

// compact leaves out the buffer's extent, and the end of a wait that is the one asked for. asked says that the call
// gave a pattern.
func (r *readOut) compact(asked bool) (c chunkCompact) {
	c.NextCursor, c.Version, c.Chunk, c.Full, c.TimedOut, c.EOF = r.NextCursor, r.Version, r.Chunk, r.Full, r.TimedOut, r.EOF
	c.Truncated, c.DroppedBytes, c.UnsearchedBytes, c.Sanitized = r.Truncated, r.DroppedBytes, r.UnsearchedBytes, r.Sanitized.hiding()
	c.matchedOut, c.Gaps, c.Failure = r.beside(r.Chunk), r.Gaps, r.Failure
	if r.Encoding != "utf-8" {
		c.Encoding = r.Encoding
	}
	if r.Truncated {
		c.BufferStartCursor = r.BufferStartCursor
	}
	if asked && !r.Matched {
		c.Matched, c.IdleReached = &r.Matched, r.IdleReached
	}
	return c
}

// waits is the compact form of w in a result with output.
func (r *readOut) waits(w *wire.Waiting) *wire.Waiting {
	if r.Version != "" {
		return w.Shown(r.Chunk)
	}
	return w.Behind(r.Chunk)
}

// ioCompact is the compact form of ioOut.
type ioCompact struct {
	SessionID    string `json:"session_id"`
	BytesWritten *int   `json:"bytes_written"`
	BytesPending int    `json:"bytes_pending"`
	Cursor       string `json:"cursor"`
	chunkCompact

	WriteTimedOut   bool            `json:"write_timed_out"`
	WaitingFor      *wire.Waiting   `json:"waiting_for"`
	WaitingForInput bool            `json:"waiting_for_input"`
	State           session.State   `json:"state"`
	EndCode         session.EndCode `json:"end_code"`
	Prompt          *wire.Prompt    `json:"prompt"`
	Warnings        []string        `json:"warnings"`

	*stoppedCompact
	*pasteCompact
}

// stoppedCompact is the compact form of stepsOut.
type stoppedCompact struct {
	Stopped session.Stop  `json:"stopped"`
	Step    *int          `json:"step"`
	Typed   bool          `json:"typed"`
	Error   *wire.Failure `json:"error"`
}

// Compact leaves out the values of the call.
func (out *ioOut) Compact() any {
	c := &ioCompact{
		SessionID: out.SessionID, BytesPending: out.BytesPending, WriteTimedOut: out.WriteTimedOut, WaitingFor: out.WaitingFor,
		WaitingForInput: out.WaitingForInput && out.Prompt == nil && out.WaitingFor == nil, EndCode: out.EndCode,
		Prompt: out.Prompt, Warnings: out.Warnings, pasteCompact: out.pasteOut.brief(),
	}
	if out.WriteTimedOut {
		c.BytesWritten = out.BytesWritten
	}
	if s := out.stepsOut; s != nil {
		c.stoppedCompact = &stoppedCompact{s.Stopped, &s.Step, s.Typed, s.Error}
	}
	if out.State != session.Open {
		c.State = out.State
	}
	if out.readOut == nil {
		c.Cursor = out.Cursor
		return c
	}
	c.chunkCompact = out.compact(out.asked)
	c.WaitingFor = out.waits(c.WaitingFor)
	// A caller that has waited for an interpreter's prompt, and got it, knows that it is there.
	if out.Matched && c.WaitingFor != nil && c.WaitingFor.Kind == prompt.REPL && c.WaitingFor.Text == "" {
		c.WaitingFor = nil
	}
	return c
}

// searchCompact is the compact form of searchOut. It is a separate type without a Compact method.
type searchCompact searchOut

// Compact leaves out the counts of a search that has shown all.
func (out *searchOut) Compact() any {
	c := searchCompact(*out)
	c.Action = ""
	if !c.More {
		c.NextCursor = ""
	}
	return c
}
