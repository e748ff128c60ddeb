package tools

import (
	"strings"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/paste"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/shell"
	"ptyctl/term"
)

var execTool = toolset.Bind(schema.Tool{
	Name:  "ptyctl_session_exec",
	Title: "Run a command",
	About: "Run a command; get its output and true exit code. It runs beside the terminal, streams split, in parallel, " +
		"until something is typed there; then, and on devices, it is typed there, and shares its directory, environment " +
		"and sudo. done_reason running: answer waiting_for with ptyctl_session_io write, then call with exec_id for what " +
		"is new; kind prompt: a shell has started, run the next command there. Absent: stderr empty or in stdout, " +
		"ordinary end, nothing cut.",
	Actions: []schema.Action{
		{Example: `{"session_id":"web1-k3f9q2zd","cmd":"uname -a"}`, Verb: term.VerbExec},
	},
	Hints: schema.Hints{Destructive: true, OpenWorld: true},
}, execute, execOut{})

// execArgs are the arguments of ptyctl_session_exec: cmd starts a command, exec_id waits for one that runs. Fields
// marked start are only for the start of a command, fields marked wait for all but a cancel. Times are in milliseconds,
// sizes in bytes.
type execArgs struct {
	SessionID string   `json:"session_id" is:"filled" doc:"from open; or host"`
	Host      string   `json:"host" is:"filled" doc:"user@name:port" eg:"'host':'admin@web1','session_id':null"`
	Cmd       string   `json:"cmd" words:"argv" doc:"shell line"`
	Argv      []string `json:"argv" is:"start" doc:"or words" eg:"'argv':['ls','-l','/srv'],'cmd':null"`
	TimeoutMS int64    `json:"timeout_ms" is:"wait" min:"1" max:"1<<40" doc:"milliseconds, then stopped; default {session.default_exec_timeout_ms}" eg:"'timeout_ms':600000"`
	WaitMS    *int64   `json:"wait_ms" is:"wait" max:"1<<40" doc:"longest wait; default {limits.max_wait_ms}" eg:"'wait_ms':5000"`
	Cwd       string   `json:"cwd" is:"filled start" doc:"default: login directory" eg:"'cwd':'/srv/app'"`
	Env       []string `json:"env" is:"start pairs" doc:"NAME=value; servers take few" eg:"'env':['LANG=C']"`
	Stdin     string   `json:"stdin" is:"start" doc:"input" eg:"'stdin':'yes\\n'"`
	secretArgs
	StdinEncoding string `json:"stdin_encoding" is:"start" enum:"utf-8 base64" doc:"of stdin" eg:"'stdin_encoding':'base64','stdin':'eWVzCg=='"`
	Format        string `json:"format" is:"firm" enum:"clean raw" doc:"raw: exact; default {session.format}" eg:"'format':'raw'"`
	matchArgs
	MaxOutput    int64        `json:"max_output_bytes" min:"1" max:"1<<40" doc:"per stream; default 16384" eg:"'max_output_bytes':4096"`
	Lane         session.Lane `json:"lane" is:"start" enum:"auto channel terminal" doc:"channel: fresh; cd and export do not last; terminal: typed; default auto" eg:"'lane':'channel'"`
	Queue        bool         `json:"queue" is:"start" doc:"wait for a turn" eg:"'queue':true"`
	ExecID       string       `json:"exec_id" is:"filled" doc:"go on with it" eg:"'exec_id':'exec-5t2k9w3m','cmd':null"`
	Cancel       bool         `json:"cancel" doc:"stop exec_id" eg:"'cancel':true,'exec_id':'exec-5t2k9w3m','cmd':null"`
	StopOnCancel bool         `json:"stop_on_cancel" is:"start" doc:"with this call" eg:"'stop_on_cancel':true"`
	TaskID       string       `json:"task_id" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
	Expect       expectArgs   `json:"expect" is:"start" doc:"for this call" eg:"'expect':{'prompt_regex':'[>#] $'}"`
	UntilIdleMS  int64        `json:"until_idle_ms" is:"start" min:"1" max:"1<<40" doc:"devices: quiet ends it" eg:"'until_idle_ms':2000"`
	Class        execClass    `json:"class" is:"start" doc:"of the shell" eg:"'class':'device'"`
	RCMode       execMarker   `json:"rc_mode" is:"start" doc:"end marker" eg:"'rc_mode':{'enabled':false}"`
	RequestID    string       `json:"request_id" is:"filled" doc:"for retries" eg:"'request_id':'r-1'"`
}

// secretArgs name secrets of the operator's.
type secretArgs struct {
	SudoSecret  string `json:"sudo_secret" is:"filled start secrets" doc:"sudo runs it, with this secret for its password" eg:"'sudo_secret':'web-sudo'"`
	StdinSecret string `json:"stdin_secret" is:"filled start secrets" doc:"it reads this secret as a line before stdin" eg:"'stdin_secret':'db-admin'"`
	LoginSecret string `json:"login_secret" is:"filled start secrets" doc:"with host: for its login" eg:"'login_secret':'web-login','host':'admin@web1','session_id':null"`
}

// execClass is a session.Class, as a caller may name it.
type execClass session.Class

// Enum returns all that there are.
func (execClass) Enum() []string { return shell.Classes() }

// Canonical returns the class of a shell that is named in its place, such as bash.
func (execClass) Canonical(text string) string {
	if class := shell.Named(strings.ToLower(text)).Class; class != shell.Unknown {
		return string(class)
	}
	return text
}

// execMarker is how the end of a command is recognised that is typed.
type execMarker struct {
	Enabled *bool  `json:"enabled" doc:"default true" eg:"'enabled':false"`
	Prefix  string `json:"marker_prefix" doc:"before code" eg:"'marker_prefix':'<<','marker_suffix':'>>','enabled':null"`
	Suffix  string `json:"marker_suffix" doc:"after it" eg:"'marker_suffix':'>>','marker_prefix':'<<','enabled':null"`
}

// execOut is the result of ptyctl_session_exec. ExitCode is nil while the command runs and where the code cannot be
// known; ExitCodeReason then says why.
type execOut struct {
	Stdout         string             `json:"stdout" is:"listed" compact:"keep"`
	Stderr         string             `json:"stderr" is:"listed"`
	ExitCode       *int               `json:"exit_code" is:"listed nullable"`
	ExitCodeReason *string            `json:"exit_code_reason"`
	DoneReason     session.DoneReason `json:"done_reason" is:"listed"`
	PromptDetected *bool              `json:"prompt_detected"`
	TimedOut       bool               `json:"timed_out"`
	DurationMS     int64              `json:"duration_ms"`
	ExecLane       session.Lane       `json:"exec_lane"`

	ranIn
	ExecID           string        `json:"exec_id,omitempty" is:"listed"`
	RemainingMS      *int64        `json:"remaining_ms,omitempty" is:"listed"` // until it is stopped, while it runs
	WaitingFor       *wire.Waiting `json:"waiting_for,omitempty" is:"listed"`
	StderrMerged     bool          `json:"stderr_merged,omitempty"` // into stdout: a terminal has one stream
	LostBytes        int64         `json:"lost_bytes,omitempty"`
	Pages            int           `json:"pages,omitempty"` // turned by auto_page
	ExitSignal       string        `json:"exit_signal,omitempty"`
	Killed           string        `json:"killed,omitempty"`
	BackgroundOutput bool          `json:"background_output,omitempty"`
	StdoutCursor     string        `json:"stdout_cursor,omitempty"` // where stdout starts; empty: at the beginning
	StderrCursor     string        `json:"stderr_cursor,omitempty"`
	shownOut
	verdictOut
	Warnings []string `json:"warnings,omitempty"`

	laneChosen bool // auto took the terminal of an SSH session, where a command otherwise has its own channel
}

// verdictOut has the signs of success or failure in a result without an exit code.
type verdictOut struct {
	Pasted     *paste.Out `json:"pasted,omitempty"` // of several lines for a device
	ErrorHints []string   `json:"error_hints,omitempty"`
}

// ranIn is the session that a command ran in.
type ranIn struct {
	SessionID string `json:"session_id,omitempty" is:"listed"` // if the call named its host

	session string // always
}

// SessionName is for the text form.
func (out *execOut) SessionName() string { return out.session }

// reported is the shortest duration of a command that a compact result includes, in milliseconds.
const reported = 1000

// execCompact is the compact form of execOut. It is a separate type without a Compact method.
type execCompact execOut

// Compact leaves out the ordinary end of a command, and the members that only a cut or a continuation needs.
func (out *execOut) Compact() any {
	c := execCompact(*out)
	switch out.DoneReason {
	case session.DoneExitStatus, session.DoneMarker, session.DonePrompt:
		c.DoneReason = ""
	}
	if c.ExitCode != nil {
		c.ExitCodeReason = nil
	}
	if c.PromptDetected != nil && *c.PromptDetected {
		c.PromptDetected = nil
	}
	if !out.laneChosen {
		c.ExecLane = ""
	}
	// The exec_id is for a command that goes on, or may do so, and for output that was cut.
	if c.DoneReason == "" && !c.Truncated && !c.BackgroundOutput && !c.filtered() {
		c.ExecID = ""
	}
	if !c.Truncated {
		c.StdoutCursor, c.StderrCursor = "", ""
	}
	c.shownOut = c.compact(c.Stdout)
	c.WaitingFor = c.WaitingFor.Behind(c.Stdout)
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	c.StderrMerged = false
	return c
}
