package files

import (
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// Tool is ptyctl_fs.
var Tool = toolset.Bind(schema.Tool{
	Name:    "ptyctl_fs",
	Title:   "Files",
	About:   "Read, write and copy files: with session_id on its SSH host, else on ptyctl's own machine.",
	Reading: "Read files: with session_id on its SSH host, else on ptyctl's own machine.",
	Actions: []schema.Action{
		{Name: "read", About: "go on at next_offset while truncated.", Example: `{"action":"read","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`, Reads: true, Verb: term.VerbFileRead},
		{Name: "write", About: "replace a file as a whole, or append.", Example: `{"action":"write","session_id":"web1-k3f9q2zd","path":"/srv/app/config.toml","data":"debug = true\n"}`, Verb: term.VerbFileWrite},
		{Name: "copy", About: "a file or folder, between any two machines; while done_reason is running, wait with " +
			"ptyctl_session_exec and its exec_id.",
			Example: `{"action":"copy","from":{"session_id":"web1-k3f9q2zd","path":"/var/log/app.log"},"to":{"path":"/srv/app/app.log"}}`, Verb: term.VerbFileWrite},
		{Name: "collect", About: "path of many SSH hosts, a file of each, into to.path/HOST/.",
			Example: `{"action":"collect","hosts":["web[01-20].example.net"],"path":"/etc/nginx/nginx.conf","to":{"path":"/srv/collected"}}`, Verb: term.VerbFileWrite, Mark: ofMany},
		{Name: "list", About: "a folder.", Example: `{"action":"list","session_id":"web1-k3f9q2zd","path":"/etc"}`, Reads: true, Verb: term.VerbFileRead},
		{Name: "stat", About: "type, mode, size.", Example: `{"action":"stat","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`, Reads: true, Verb: term.VerbFileRead},
	},
	Hints:    schema.Hints{Destructive: true, OpenWorld: true},
	FarFiles: true,
}, doFS, fsReadOut{}, fsWriteOut{}, fsListOut{}, fsStatOut{}, fsCopyOut{})

// ofMany is the mark of arguments for many hosts at once. It is offered together with the tool for them.
const ofMany = "fleet"

// fsArgs are the arguments of ptyctl_fs. Sizes and offsets are in bytes, mode is octal.
type fsArgs struct {
	SessionID machine `json:"session_id" on:"read write list stat" is:"filled given" doc:"its SSH host; default: here" eg:"'session_id':'web1-k3f9q2zd'"`
	Path      string  `json:"path" need:"read write list stat collect" is:"filled" doc:"absolute, or from the home directory"`
	From      place   `json:"from" need:"copy" doc:"[copy] source" eg:"'from':{'session_id':'web1-k3f9q2zd','path':'/var/log/app.log'}"`
	To        target  `json:"to" need:"copy collect" doc:"[copy]; path ending in /: into that folder" eg:"'to':{'path':'/srv/app/app.log'}"`
	Recursive bool    `json:"recursive" on:"copy" doc:"[copy] from is a folder" eg:"'recursive':true"`
	Resume    bool    `json:"resume" on:"copy" doc:"[copy] go on after one that failed and had it" eg:"'resume':true"`
	Verify    *bool   `json:"verify" on:"copy collect" doc:"[copy] read back before replacing, else verified is false; default below 64 MiB" eg:"'verify':true"`
	Via       string  `json:"via" on:"copy" enum:"xmodem xmodem-1k ymodem" doc:"[copy] over session_id's terminal" eg:"'via':'ymodem','from':{'path':'/srv/app/fw.bin'},'to':{'session_id':'web1-k3f9q2zd'}"`
	Offset    int64   `json:"offset" on:"read" max:"1<<62" doc:"[read] bytes" eg:"'offset':65536"`
	MaxBytes  int64   `json:"max_bytes" on:"read" min:"1" max:"1<<40" doc:"default {65536 fs.max_read_bytes}" eg:"'max_bytes':65536"`
	Data      string  `json:"data" need:"write" is:"passing" doc:"[write] content"`
	Encoding  string  `json:"encoding" on:"read write" enum:"utf-8 base64" doc:"of data" eg:"'encoding':'base64','data':'aGVsbG8K'"`
	Mode      string  `json:"mode" on:"write" is:"filled text" doc:"[write] octal" eg:"'mode':'0644'"`
	Append    bool    `json:"append" on:"write" doc:"[write] at the end" eg:"'append':true"`
	NonAtomic bool    `json:"non_atomic" on:"write" doc:"[write] in place" eg:"'non_atomic':true"`
	Cursor    string  `json:"cursor" on:"list" is:"filled" doc:"[list] next_cursor" eg:"'cursor':'200'"`
	Limit     int     `json:"limit" on:"list" min:"1" doc:"[list] default 200" eg:"'limit':50"`
	TaskID    string  `json:"task_id" on:"write copy" is:"filled" doc:"[write, copy] your lock name" eg:"'task_id':'task-1'"`
	TimeoutMS int64   `json:"timeout_ms" min:"1" max:"1<<40" doc:"milliseconds; default {limits.max_wait_ms}, of a copy {limits.max_exec_timeout_ms}" eg:"'timeout_ms':20000"`
	RequestID string  `json:"request_id" on:"write copy collect" is:"filled" doc:"[write, copy] makes a retry safe" eg:"'request_id':'r-1'"`

	manyArgs
}

// manyArgs are the arguments of a copy to or from many hosts. They mean the same as in ptyctl_fleet.
type manyArgs struct {
	Hosts          []string `json:"hosts" need:"collect" is:"fleet" doc:"[collect] as in ptyctl_fleet" eg:"'hosts':['@web','!web03']"`
	Overwrite      bool     `json:"overwrite" on:"collect" is:"fleet" doc:"[collect] replace files here that differ" eg:"'overwrite':true"`
	Canary         int      `json:"canary" on:"copy collect" is:"fleet many" doc:"[to.hosts, collect] as in ptyctl_fleet" eg:"'canary':1,'copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	Batch          string   `json:"batch" on:"copy collect" is:"fleet many filled" doc:"likewise" eg:"'batch':'25%','copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	StopOnFailures string   `json:"stop_on_failures" on:"copy collect" is:"fleet many filled" doc:"likewise" eg:"'stop_on_failures':'1','copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	MaxParallel    int      `json:"max_parallel" on:"copy collect" is:"fleet many" min:"1" max:"10000" doc:"likewise" eg:"'max_parallel':50,'copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	OnRefused      string   `json:"on_refused" on:"copy collect" is:"fleet many" enum:"stop skip" doc:"likewise" eg:"'on_refused':'skip','copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	DeadlineMS     int64    `json:"deadline_ms" on:"copy collect" is:"fleet many" min:"1" max:"1<<40" doc:"likewise; timeout_ms is of one host, default 600000" eg:"'deadline_ms':600000,'copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	WaitMS         *int64   `json:"wait_ms" on:"copy collect" is:"fleet many" max:"1<<40" doc:"likewise; then ptyctl_fleet status with fleet_id" eg:"'wait_ms':5000,'copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
	MaxOutput      int      `json:"max_output_bytes" on:"copy collect" is:"fleet many" min:"200" max:"1<<30" doc:"likewise" eg:"'max_output_bytes':8192,'copy/from':{'path':'/srv/app/app.log'},'copy/to':{'hosts':['web[01-20]'],'path':'/srv/app/app.log'}"`
}

// A machine is named by the id of a session on it. An empty id does not count as an absent one: if a script has lost
// the id, the files of another machine would be written.
type machine string

// Hint returns advice for an empty id.
func (machine) Hint(text string) string {
	if text != "" {
		return ""
	}
	return "leave it out for ptyctl's own machine, or give the id of a session"
}

// A hostName names a machine in place of a session on it.
type hostName string

// Hint returns advice for an empty name, which does not count as an absent one.
func (hostName) Hint(text string) string {
	if text != "" {
		return ""
	}
	return "leave it out for ptyctl's own machine, or name the host"
}

// A place is one end of a copy.
type place struct {
	SessionID machine  `json:"session_id" is:"filled given" doc:"or host; default: here" eg:"'session_id':'web1-k3f9q2zd'"`
	Host      hostName `json:"host" is:"filled given" doc:"SSH host, no session_id" eg:"'host':'admin@web1','session_id':null"`
	Path      string   `json:"path" is:"filled" doc:"needed" eg:"'path':'/srv/app/app.log'"`
}

// A target is the end of a copy where its bytes go: one machine, or many hosts. An empty list of hosts does not count
// as an absent one: if a script has lost its hosts, a file of this machine would be written.
type target struct {
	place
	Hosts []string `json:"hosts" is:"fleet given" doc:"or many SSH hosts, as in ptyctl_fleet" eg:"'hosts':['web[01-20]'],'session_id':null"`
}

// The results of ptyctl_fs.
type (
	fsReadOut struct {
		Action       string          `json:"action"`
		Data         jsonrpc.Content `json:"data" is:"listed"`
		DataEncoding string          `json:"data_encoding"`
		Size         int64           `json:"size"`
		NextOffset   int64           `json:"next_offset"`
		Truncated    bool            `json:"truncated" is:"listed"`
		Mode         string          `json:"mode"`
		ModifiedAt   int64           `json:"modified_at,omitempty"`
		Warnings     []string        `json:"warnings,omitempty"`
	}
	fsWriteOut struct {
		Action       string   `json:"action"`
		BytesWritten int64    `json:"bytes_written"`
		Size         int64    `json:"size"`
		Mode         string   `json:"mode"`
		Created      bool     `json:"created,omitempty"`
		Atomic       bool     `json:"atomic"`
		Warnings     []string `json:"warnings,omitempty"`
	}
	fsListOut struct {
		Action     string    `json:"action"`
		Entries    []fsEntry `json:"entries" is:"listed"`
		Truncated  bool      `json:"truncated"`
		NextCursor string    `json:"next_cursor,omitempty"`
		Warnings   []string  `json:"warnings,omitempty"`
	}
	fsStatOut struct {
		Action string `json:"action"`
		fsEntry
		Target   string   `json:"target,omitempty"` // of a link
		Warnings []string `json:"warnings,omitempty"`
	}
	fsEntry struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		Mode       string `json:"mode"`
		Size       int64  `json:"size"`
		ModifiedAt int64  `json:"modified_at,omitempty"` // Unix milliseconds
	}
)

// The compact forms are types of their own, so that they have no compact form in turn.
type (
	readCompact    fsReadOut
	writtenCompact fsWriteOut
	listedCompact  fsListOut
	statCompact    fsStatOut
)

// Excerpt implements wire.Excerpted.
func (out *fsReadOut) Excerpt() any {
	e := *out
	e.Data = e.Data.Excerpt()
	return &e
}

// Compact leaves out the members that only a cut needs.
func (out *fsReadOut) Compact() any {
	c := readCompact(*out)
	c.Action, c.Mode, c.ModifiedAt = "", "", 0
	if c.DataEncoding == "utf-8" {
		c.DataEncoding = ""
	}
	if !c.Truncated {
		c.Size, c.NextOffset = 0, 0
	}
	return c
}

// writtenNotAtomic is a file that was written in place, which a reader may have seen half.
type writtenNotAtomic struct {
	writtenCompact
	Atomic *bool `json:"atomic"`
}

// Compact leaves out the mode, and that the file was replaced as a whole.
func (out *fsWriteOut) Compact() any {
	c := writtenCompact(*out)
	c.Action, c.Mode, c.Atomic = "", "", false
	if c.Size == c.BytesWritten {
		c.Size = 0
	}
	if !out.Atomic {
		return writtenNotAtomic{c, &out.Atomic}
	}
	return c
}

// Compact leaves out the action.
func (out *fsListOut) Compact() any {
	c := listedCompact(*out)
	c.Action = ""
	return c
}

// Compact leaves out the action.
func (out *fsStatOut) Compact() any {
	c := statCompact(*out)
	c.Action = ""
	return c
}
