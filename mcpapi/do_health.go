package mcpapi

import (
	"context"
	"runtime"
	"time"

	"ptyctl/session"
)

// healthOut is the result of ptyctl_health. What it counts are the sessions that the caller may know of.
type healthOut struct {
	Version       string        `json:"version"`
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

func (c *invocation) doHealth(ctx context.Context) (any, error) {
	if err := c.args(&struct{}{}); err != nil {
		return nil, err
	}
	out := &healthOut{Version: c.o.Version, GoVersion: runtime.Version(), UptimeS: int64(time.Since(c.started).Seconds())}
	for _, i := range c.visible(ctx) {
		out.count(i)
	}
	return out, nil
}

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
	case "local":
		n.Local++
	}
}
