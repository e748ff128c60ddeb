package tools

import (
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

var healthTool = toolset.Bind(schema.Tool{
	Name:    "ptyctl_health",
	Title:   "State of ptyctl",
	About:   "The version and uptime of ptyctl, and its counts of sessions and commands.",
	Reading: "The version and uptime of ptyctl, and its counts.",
	Actions: []schema.Action{{Example: `{}`, Reads: true, Verb: term.VerbRead}},
	Hints:   schema.Hints{ReadOnly: true, Idempotent: true},
}, health, healthOut{})

// healthOut is the result of ptyctl_health. It counts only the sessions that the caller may see.
type healthOut struct {
	Version       string        `json:"version" is:"listed"`
	GoVersion     string        `json:"go_version"`
	UptimeS       int64         `json:"uptime_s"`
	Counts        sessionCounts `json:"counts"` // of sessions
	RunningExecs  int           `json:"running_execs"`
	WaitingReads  int64         `json:"waiting_reads"`
	BufferedBytes int64         `json:"buffered_bytes"`
}

// sessionCounts are by state; Ended ones are still listed. The last three are the living, by protocol.
type sessionCounts struct {
	Connecting int `json:"connecting"` // or authenticating
	Open       int `json:"open"`
	Ended      int `json:"ended"`
	SSH        int `json:"ssh"`
	Telnet     int `json:"telnet"`
	Local      int `json:"local"`
}
