package tools

import (
	"encoding/json"
	"fmt"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// localExample is a correct call to open a terminal on this machine.
const localExample = `{"action":"open","protocol":"local","argv":["bash"]}`

var sessionTool = toolset.Bind(schema.Tool{
	Name:  "ptyctl_session",
	Title: "Sessions",
	About: "Terminals on other hosts and here, for ptyctl_session_exec and ptyctl_session_io. Absent: state open, " +
		"protocol ssh.",
	Reading: "See the terminals, and everything known about one. ptyctl_session_io reads what they show.",
	Actions: []schema.Action{
		{Name: "open", About: "needs protocol, and host or (local) argv; answer a prompt with ptyctl_session_io write.", Example: `{"action":"open","protocol":"ssh","host":"web1","username":"admin"}`, Local: localExample},
		{Name: "close", Plain: true, About: "output stays readable.", Example: `{"action":"close","session_id":"web1-k3f9q2zd"}`},
		{Name: "list", About: "by state, protocol, host (*.net).", Example: `{"action":"list","state":"open"}`, Reads: true},
		{Name: "list_all", About: "list with those of all nodes of the cluster.", Example: `{"action":"list_all"}`, Reads: true, Only: schema.Operators},
		{Name: "status", Plain: true, About: "all about one.", Example: `{"action":"status","session_id":"web1-k3f9q2zd"}`, Reads: true},
		{Name: "wait", About: "until any or all of on fire; cursors: of the others.", Example: `{"action":"wait","on":[{"session_id":"web1-k3f9q2zd","until_regex":"\\$ $"},{"session_id":"db1-x7m2p4qa","exec_id":"exec-5t2k9w3m"}]}`, Reads: true, Verb: term.VerbRead},
		{Name: "lock", About: "only task_id may type.", Example: `{"action":"lock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "unlock", Plain: true, About: "release it.", Example: `{"action":"unlock","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "heartbeat", About: "keep the lock.", Example: `{"action":"heartbeat","session_id":"web1-k3f9q2zd","task_id":"task-1"}`},
		{Name: "adopt", About: "take one that list shows as resumable; cursor: of new output.", Example: `{"action":"adopt","session_id":"web1-k3f9q2zd"}`, Only: schema.Clients},
		{Name: "give", About: "to another client.", Example: `{"action":"give","session_id":"web1-k3f9q2zd","to":"shim-4t7k2mzd"}`, Only: schema.Operators},
		{Name: "signal", Plain: true, About: "send one.", Example: `{"action":"signal","session_id":"web1-k3f9q2zd","signal":"INT"}`},
		{Name: "secrets", About: "those that you may use by name, and where.", Example: `{"action":"secrets"}`, Mark: schema.OfSecrets},
		{Name: "forward", About: "a socket here that leads to an address there; stop ends it.", Example: `{"action":"forward","session_id":"web1-k3f9q2zd","to":"db1:5432"}`, Mark: schema.OfForward},
		{Name: "reopen", About: "a lost one.", Example: `{"action":"reopen","session_id":"web1-k3f9q2zd","wait_ms":300000}`},
	},
	Hints:  schema.Hints{Destructive: true, OpenWorld: true},
	Absent: map[string]string{"expect.auto_page": "ptyctl_session_config expect and ptyctl_session_exec take it"},
}, doSession, sessionOut{}, waitOut{})

// sessionArgs are the arguments of ptyctl_session. Those marked local are for programs on this machine alone, and those
// marked far for other machines.
type sessionArgs struct {
	SessionID   string        `json:"session_id" need:"close reopen lock unlock heartbeat status signal adopt give forward" is:"filled" doc:"from open"`
	TaskID      string        `json:"task_id" on:"open close reopen lock unlock heartbeat signal forward" need:"lock unlock heartbeat" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
	LockTTL     int64         `json:"lock_ttl_ms" on:"open lock heartbeat" min:"1" max:"1<<40" doc:"default {locks.default_ttl_ms}" eg:"'lock_ttl_ms':60000,'acquire_lock':true,'task_id':'task-1'"`
	TakeOver    bool          `json:"take_over" on:"lock" doc:"from its holder" eg:"'take_over':true"`
	Force       bool          `json:"force" on:"close" doc:"at once" eg:"'force':true"`
	To          string        `json:"to" need:"give forward" is:"filled" doc:"shim, or folder; [forward] HOST:PORT" eg:"'to':'shim-4t7k2mzd'"`
	Stop        bool          `json:"stop" on:"forward" is:"forward" doc:"[forward] end it" eg:"'stop':true"`
	TCPPort     *int          `json:"tcp_port" on:"forward" is:"forward_tcp" max:"65535" doc:"[forward] of 127.0.0.1, for a socket; 0: any" eg:"'tcp_port':0"`
	Signal      signalName    `json:"signal" need:"signal" enum:"INT TERM HUP KILL QUIT" doc:"or key ctrl_c"`
	Protocol    string        `json:"protocol" on:"open list" need:"open" is:"derived" enum:"ssh telnet serial local" doc:"local: here" eg:"'protocol':'ssh'"`
	Host        string        `json:"host" on:"open list" is:"filled far" doc:"user@name:port or ssh_config Host" eg:"'host':'*.example.net'"`
	Argv        []string      `json:"argv" on:"open" is:"local" doc:"[local] program, arguments" eg:"'argv':['bash']"`
	Cwd         string        `json:"cwd" on:"open" is:"filled local" doc:"[local] directory" eg:"'cwd':'/srv/app'"`
	Env         []string      `json:"env" on:"open" is:"local pairs" doc:"NAME=value" eg:"'env':['LANG=C']"`
	Title       string        `json:"title" on:"open" is:"filled local" doc:"label" eg:"'title':'build'"`
	Limits      limitsArgs    `json:"limits" on:"open" is:"local pairs" doc:"[local] cpu_s=N, memory_bytes=N, open_files=N, processes=N" eg:"'limits':['memory_bytes=1073741824']"`
	State       session.State `json:"state" on:"list" enum:"connecting authenticating open closed error" doc:"[list] filter"`
	Port        int           `json:"port" on:"open" is:"far" min:"1" max:"65535" doc:"default 22, 23" eg:"'port':2222"`
	Username    string        `json:"username" on:"open" is:"filled far" doc:"login" eg:"'username':'admin'"`
	Auth        openAuth      `json:"auth" on:"open reopen" is:"far" doc:"default: agent, keys, questions" eg:"'auth':{'password':'...'},'protocol':'ssh'"`
	PTY         openPTY       `json:"pty" on:"open" doc:"terminal" eg:"'pty':{'cols':100}"`
	Timeouts    openTimeouts  `json:"timeouts" on:"open" doc:"times" eg:"'timeouts':{'connect_timeout_ms':20000}"`
	SSH         openSSH       `json:"ssh_options" on:"open" is:"far" doc:"ssh" eg:"'ssh_options':{'proxy_jump':'bastion'},'protocol':'ssh'"`
	Telnet      openTelnet    `json:"telnet" on:"open" doc:"telnet" eg:"'telnet':{'enter':'crlf'},'protocol':'telnet'"`
	Serial      serialArgs    `json:"serial" on:"open" is:"pairs" doc:"path=/dev/..., baud=N, data_bits, parity, stop_bits, flow, dtr, rts" eg:"'serial':['path=/dev/ttyUSB0'],'protocol':'serial','host':null,'username':null"`
	Expect      patternArgs   `json:"expect" on:"open" doc:"patterns" eg:"'expect':{'prompt_regex':'[>#] $'}"`
	SessionType string        `json:"session_type" on:"open" enum:"normal console exec" doc:"console: one per device_id; exec: no terminal" eg:"'session_type':'normal'"`
	DeviceID    string        `json:"device_id" on:"open" is:"filled" doc:"[console] name" eg:"'device_id':'switch-001','session_type':'console'"`
	AcquireLock bool          `json:"acquire_lock" on:"open" doc:"needs task_id" eg:"'acquire_lock':true,'task_id':'task-1'"`
	UntilRegex  string        `json:"until_regex" on:"open" is:"filled" doc:"wait for this (RE2)" eg:"'until_regex':'\\\\$ $'"`
	UntilPrompt bool          `json:"until_prompt" on:"open" doc:"or a prompt" eg:"'until_prompt':true"`
	UntilScreen string        `json:"until_screen" on:"open" is:"filled" doc:"or on screen" eg:"'until_screen':'Login'"`
	Format      string        `json:"format" on:"open" enum:"clean raw screen" doc:"of output" eg:"'format':'screen'"`
	TimeoutMS   *int64        `json:"timeout_ms" on:"open wait" max:"1<<40" doc:"milliseconds; default {session.read_timeout_ms}, [wait] {limits.max_wait_ms}" eg:"'timeout_ms':20000,'until_prompt':true"`
	RequestID   string        `json:"request_id" on:"open" is:"filled" doc:"for retries" eg:"'request_id':'r-1'"`
	On          []waitEntry   `json:"on" need:"wait" max:"64" doc:"[wait] for" eg:"'on':[{'session_id':'web1-k3f9q2zd'}]"`
	WaitMS      int64         `json:"wait_ms" on:"reopen" max:"1<<40" doc:"[reopen] keep trying" eg:"'wait_ms':600000"`
	Mode        string        `json:"mode" on:"wait" enum:"any all" doc:"default any" eg:"'mode':'all'"`
}

// signalName is the name of a signal.
type signalName string

// Canonical returns the name of a signal that is written with SIG before it, or as its number.
func (signalName) Canonical(text string) string {
	return toolset.SignalNamed(text)
}

// Hint returns advice for a signal with the name of a key.
func (signalName) Hint(text string) string {
	return toolset.SignalHint(text, func(key string, _ []byte) string {
		return fmt.Sprintf(`ptyctl_session_io {"action":"write","key":%q}`, key)
	})
}

// openAuth has the credentials for a login. An empty method is derived from the credentials that are given. Their type
// keeps the secrets out of logs and messages.
type openAuth struct {
	Method        string      `json:"method" enum:"password private_key agent auto" doc:"default: as given" eg:"'method':'password','password':'...'"`
	Password      term.Secret `json:"password" doc:"or be asked" eg:"'password':'...'"`
	PrivateKeyPEM term.Secret `json:"private_key_pem" doc:"not a path" eg:"'private_key_pem':'-----BEGIN OPENSSH PRIVATE KEY-----\\n...','password':null"`
	Passphrase    term.Secret `json:"passphrase" doc:"of the key" eg:"'passphrase':'...','private_key_pem':'-----BEGIN OPENSSH PRIVATE KEY-----\\n...','password':null"`
	Secret        string      `json:"secret" is:"filled secrets" doc:"or this one of the operator's" eg:"'secret':'web-login','password':null"`
	Interactive   *bool       `json:"interactive" doc:"may ask; default {auth.interactive}" eg:"'interactive':false,'password':null"`
}

// openPTY describes the terminal to request; sizes are in characters.
type openPTY struct {
	Enabled *bool  `json:"enabled" doc:"default true" eg:"'enabled':true"`
	Cols    int    `json:"cols" min:"1" max:"10000" doc:"default 120" eg:"'cols':100"`
	Rows    int    `json:"rows" min:"1" max:"10000" doc:"default 40" eg:"'rows':30,'cols':100"`
	Term    string `json:"term" is:"filled" doc:"default xterm-256color" eg:"'term':'vt100','cols':null"`
	Answer  string `json:"answer" enum:"auto never" doc:"to queries" eg:"'answer':'never','cols':null"`
}

// openTimeouts has the times of a session, in milliseconds.
type openTimeouts struct {
	Connect int64 `json:"connect_timeout_ms" min:"1" max:"1<<40" doc:"default {session.connect_timeout_ms}" eg:"'connect_timeout_ms':20000"`
	Idle    int64 `json:"idle_timeout_ms" max:"1<<40" doc:"0: never; default {session.idle_timeout_ms}" eg:"'idle_timeout_ms':600000,'connect_timeout_ms':null"`
}

// openSSH has the options of SSH, and of its way to a host. Each of them is a wish: the operator's limits apply to the
// result of all configuration together, wherever a value came from.
type openSSH struct {
	HostKeyPolicy string   `json:"host_key_policy" is:"firm" enum:"strict accept_new ask disabled" doc:"default {ssh.host_key_policy} or ssh_config's" eg:"'host_key_policy':'strict','proxy_jump':null"`
	Fingerprint   string   `json:"host_key_fingerprint" is:"filled given" doc:"SHA256:..." eg:"'host_key_fingerprint':'SHA256:...','proxy_jump':null"`
	KnownHosts    string   `json:"known_hosts_path" is:"filled" doc:"file here" eg:"'known_hosts_path':'/srv/known_hosts','proxy_jump':null"`
	UseConfig     *bool    `json:"use_openssh_config" doc:"default {ssh.use_openssh_config}" eg:"'use_openssh_config':false,'proxy_jump':null"`
	ConfigPath    string   `json:"config_path" is:"filled" doc:"ssh -F" eg:"'config_path':'/srv/ssh_config','proxy_jump':null"`
	ExtraArgs     []string `json:"extra_args" doc:"ssh -o -J -i ..." eg:"'extra_args':['-o','Compression=yes'],'proxy_jump':null"`
	Legacy        bool     `json:"legacy" doc:"old algorithms" eg:"'legacy':true,'proxy_jump':null"`
	ProxyJump     string   `json:"proxy_jump" is:"filled" doc:"ssh -J" eg:"'proxy_jump':'bastion'"`
	ProxyURL      string   `json:"proxy_url" is:"filled" doc:"socks5://, http://" eg:"'proxy_url':'socks5://proxy:1080','proxy_jump':null"`
}

// openTelnet has the options of Telnet.
type openTelnet struct {
	Mode   string  `json:"mode" enum:"auto telnet raw" doc:"raw: no Telnet" eg:"'mode':'telnet','enter':null"`
	Enter  string  `json:"enter" enum:"auto cr crlf crnul lf" doc:"for \\r" eg:"'enter':'crlf'"`
	Binary string  `json:"binary" enum:"auto always never" doc:"for UTF-8" eg:"'binary':'always','enter':null"`
	TLS    openTLS `json:"tls" doc:"TLS" eg:"'tls':{'enabled':true},'enter':null"`
}

// openTLS has the TLS options of Telnet.
type openTLS struct {
	Enabled    bool   `json:"enabled" doc:"default false" eg:"'enabled':true"`
	ServerName string `json:"server_name" is:"filled" doc:"in certificate" eg:"'server_name':'sw1.example.net','enabled':true"`
	Pin        string `json:"pin" is:"filled given" doc:"SHA256:..." eg:"'pin':'SHA256:...','enabled':true"`
}

// serialArgs are the settings of a serial line.
type serialArgs struct {
	Path     string `json:"path" is:"filled" doc:"device or by-id name" eg:"'path':'/dev/ttyUSB0'"`
	Baud     int    `json:"baud" min:"1" max:"20000000" doc:"default 9600" eg:"'baud':115200"`
	DataBits int    `json:"data_bits" min:"5" max:"8" doc:"default 8" eg:"'data_bits':7"`
	Parity   string `json:"parity" enum:"none odd even mark space" doc:"default none" eg:"'parity':'even'"`
	StopBits int    `json:"stop_bits" min:"1" max:"2" doc:"default 1" eg:"'stop_bits':2"`
	Flow     string `json:"flow" enum:"none rtscts xonxoff" doc:"default none" eg:"'flow':'rtscts'"`
	DTR      string `json:"dtr" enum:"on off keep" doc:"default as the system opens it" eg:"'dtr':'keep'"`
	RTS      string `json:"rts" enum:"on off keep" doc:"the same" eg:"'rts':'off'"`
}

// sessionOut is the result of every action of ptyctl_session; an action leaves out the members of the others. Pointers
// distinguish a value such as false or 0 from a member that does not apply.
type sessionOut struct {
	Action          string              `json:"action"`
	Success         bool                `json:"success"`
	SessionID       string              `json:"session_id,omitempty" is:"listed"`
	Existing        string              `json:"existing_session_id,omitempty"` // the same, if the session was there before
	State           session.State       `json:"state,omitempty"`
	EndCode         session.EndCode     `json:"end_code,omitempty" is:"listed"`
	Protocol        string              `json:"protocol,omitempty"`
	PTYEnabled      *bool               `json:"pty_enabled,omitempty"`
	PID             int                 `json:"pid,omitempty"` // [open] local, like the next two
	Cwd             string              `json:"cwd,omitempty"`
	StartedAt       int64               `json:"started_at,omitempty"` // Unix milliseconds
	ExitCode        *int                `json:"exit_code,omitempty"`  // [close] of a program, like the next three
	ExitSignal      string              `json:"exit_signal,omitempty"`
	Usage           *wire.Usage         `json:"usage,omitempty"`
	DurationMS      int64               `json:"duration_ms,omitempty"`
	Cursor          string              `json:"cursor,omitempty"`
	ServerBanner    string              `json:"server_banner,omitempty"`
	SecurityWarning string              `json:"security_warning,omitempty"`
	Telnet          *wire.Telnet        `json:"telnet,omitempty"`
	Serial          *wire.Serial        `json:"serial,omitempty"`
	WaitingForInput bool                `json:"waiting_for_input,omitempty"`
	Prompt          *wire.Prompt        `json:"prompt,omitempty"`
	Capabilities    *wire.Capabilities  `json:"capabilities,omitempty"`
	Sessions        *[]wire.ListEntry   `json:"sessions,omitempty"`
	Secrets         *[]wire.SecretEntry `json:"secrets,omitempty"`
	Count           *int                `json:"count,omitempty"`            // [list] of all that match
	More            bool                `json:"more,omitempty"`             // [list] than are shown
	Unanswered      []string            `json:"unanswered_nodes,omitempty"` // [list] nodes with missing sessions
	Session         *wire.SessionStatus `json:"session,omitempty"`
	Opens           int64               `json:"opens,omitempty"`         // [reopen] like the next one
	Reopening       *wire.Reopening     `json:"reopening,omitempty"`     // an attempt has failed, and more follow
	ReopenedFrom    string              `json:"reopened_from,omitempty"` // [reopen] the session of a node that is gone; this one is new
	AlreadyClosed   bool                `json:"already_closed,omitempty"`
	Socket          string              `json:"socket,omitempty"`   // [forward] its path
	Address         string              `json:"address,omitempty"`  // [forward] 127.0.0.1:PORT, in its place
	Forwards        []wire.Forward      `json:"forwards,omitempty"` // [forward] the ones that stop has ended
	LockAcquired    *bool               `json:"lock_acquired,omitempty"`
	LockHolder      string              `json:"lock_holder,omitempty"`
	LockExpiresAt   int64               `json:"lock_expires_at,omitempty"` // Unix milliseconds
	LockEpoch       int64               `json:"lock_epoch,omitempty"`      // greater for each later grant
	PreviousHolder  string              `json:"previous_holder,omitempty"` // the task that lost the lock
	*readOut                            // [open] the first screenful, if a condition was given
	WaitingFor      *wire.Waiting       `json:"waiting_for,omitempty"`
	NewBytes        *int64              `json:"new_bytes,omitempty"` // [adopt] of output, from cursor on, like the next two
	Running         []string            `json:"running_exec_ids,omitempty"`
	Unfetched       []string            `json:"unfetched_exec_ids,omitempty"`
	Owner           string              `json:"owner,omitempty"` // [give] where the new owner works
	Warnings        []string            `json:"warnings,omitempty"`

	unusual bool // the capabilities differ from the usual ones of the protocol
	awaits  bool // the call has waited for something to appear
}

// SessionName is for the text form.
func (out *sessionOut) SessionName() string { return out.SessionID }

// Closes reports whether a call closes a terminal session. Such a call frees resources that others need, so no rate
// limit should refuse it.
func Closes(tool string, arguments json.RawMessage) bool {
	var call struct {
		Action string `json:"action"`
	}
	return tool == sessionTool.Name && json.Unmarshal(arguments, &call) == nil && call.Action == "close"
}

// sessionCompact is the compact form of sessionOut. It is a separate type without a Compact method.
type sessionCompact sessionOut

// Compact leaves out the values of the call, and the values that status has.
func (out *sessionOut) Compact() any {
	c := out.compact()
	if out.readOut == nil {
		return c
	}
	c.WaitingFor = out.waits(c.WaitingFor)
	return struct {
		sessionCompact
		chunkCompact
	}{c, out.readOut.compact(out.awaits)}
}

// compact is Compact without the first screenful.
func (out *sessionOut) compact() sessionCompact {
	c := sessionCompact(*out)
	c.readOut = nil
	if out.Action == "adopt" { // status has the rest
		c.Action, c.Success, c.SessionID, c.Session = "", false, "", nil
		if c.State == session.Open {
			c.State = ""
		}
		c.WaitingForInput = false
		return c
	}
	c.Action, c.Success, c.Protocol, c.Cursor, c.PID, c.Cwd, c.StartedAt, c.Usage = "", false, "", "", 0, "", 0, nil
	c.PTYEnabled, c.Telnet, c.Capabilities = nil, nil, nil
	if c.State == session.Open || out.Action == "close" {
		c.State = ""
	}
	if out.unusual {
		c.Capabilities = out.Capabilities
	}
	if c.Prompt != nil || c.WaitingFor != nil {
		c.WaitingForInput = false
	}
	if out.Action != "open" && out.Action != "status" {
		c.SessionID = ""
	}
	if out.Action == "reopen" {
		c.Cursor = out.Cursor
	}
	if out.ReopenedFrom != "" {
		c.SessionID = out.SessionID
	}
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	if c.LockAcquired != nil && *c.LockAcquired {
		c.LockAcquired = nil
	}
	if out.Action != "status" && c.LockAcquired == nil {
		c.LockHolder, c.LockEpoch = "", 0 // the caller's own
	}
	if out.Sessions != nil {
		brief := make([]wire.ListEntry, len(*out.Sessions))
		for i, e := range *out.Sessions {
			brief[i] = e.Brief()
		}
		c.Sessions = &brief
		if !c.More {
			c.Count = nil
		}
	}
	if out.Session != nil { // it repeats the members beside it
		brief := out.Session.Brief()
		c.Session = &brief
		c.SessionID, c.State, c.EndCode, c.LockHolder, c.LockEpoch, c.LockExpiresAt = "", "", "", "", 0, 0
	}
	switch out.Action {
	case "forward":
		c.Success = out.Socket == "" && out.Address == ""
	case "close", "unlock", "signal", "give": // these have nothing else to say, mostly
		c.Success = true
		if c.EndCode == session.EndClosed {
			c.EndCode = ""
		}
	}
	return c
}
