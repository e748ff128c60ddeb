package tools

import (
	"context"
	"runtime"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

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
	case "local":
		n.Local++
	}
}
