package tools

import (
	"context"
	"runtime"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

var healthTool = toolset.Bind(schema.Tool{
	Name:    "ptyctl_health",
	Title:   "State of ptyctl",
	About:   "Version, uptime, counts.",
	Reading: "Version, uptime, counts of your sessions.",
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

// sessionCounts are by state; Ended ones are still listed. The last four are the living, by protocol.
type sessionCounts struct {
	Connecting int `json:"connecting"` // or authenticating
	Open       int `json:"open"`
	Ended      int `json:"ended"`
	SSH        int `json:"ssh"`
	Telnet     int `json:"telnet"`
	Serial     int `json:"serial"`
	Local      int `json:"local"`
}

// health counts the sessions that the caller may see: a restricted caller must not learn of others from a total.
func health(ctx context.Context, c *toolset.Call, _ *struct{}) (any, error) {
	out := &healthOut{Version: c.Version(), GoVersion: runtime.Version(), UptimeS: int64(c.Uptime().Seconds())}
	for _, i := range c.Sessions(ctx) {
		out.count(i)
	}
	return out, nil
}

// count adds one session. An ended one counts by state, but not by protocol.
func (out *healthOut) count(i session.Info) {
	out.RunningExecs += len(i.Running)
	out.WaitingReads += i.Readers
	out.BufferedBytes += i.Buffer.End - i.Buffer.Start
	n := &out.Counts
	switch {
	case i.State.Ended():
		n.Ended++
		return
	case i.State == session.Open:
		n.Open++
	default:
		n.Connecting++
	}
	switch i.Protocol {
	case "ssh":
		n.SSH++
	case "telnet":
		n.Telnet++
	case "serial":
		n.Serial++
	case "local":
		n.Local++
	}
}
