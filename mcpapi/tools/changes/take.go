package changes

import (
	"context"
	"strings"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/snapshot"
)

// A Taken is the result of action snapshot: of a configuration that is kept, or of a command that goes on.
type Taken struct {
	Action   string   `json:"action"`
	Success  bool     `json:"success"`
	Name     string   `json:"name"`
	Command  string   `json:"command"`
	Lines    int      `json:"lines,omitempty"`
	Bytes    int      `json:"bytes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Going
}

// takenCompact is the compact form of Taken. It is a separate type without a Compact method.
type takenCompact Taken

// Compact leaves out the values of the call.
func (out *Taken) Compact() any {
	c := takenCompact(*out)
	c.Action, c.Success, c.Name = "", false, ""
	return c
}

// Take keeps the configuration of the session's device under a name.
func Take(ctx context.Context, c *toolset.Call, s *session.Session, name, exec string) (*Taken, error) {
	p, err := of(c, s)
	if err != nil {
		return nil, err
	}
	if err := snapshot.CheckName(name); err != nil {
		return nil, c.Invalid("name", err.Error())
	}
	if name == Now {
		return nil, c.Invalid("name", "the name "+Now+" means the configuration at the time of a diff; choose another")
	}
	text, going, err := show(ctx, c, s, p, exec)
	if err != nil {
		return nil, err
	}
	out := &Taken{Action: c.Action(), Success: true, Name: name, Command: p.ShowConfig, Going: going}
	if going.ExecID == "" {
		err = s.ServerView().Snapshots().Keep(snapshot.Snapshot{
			Name: name, Command: p.ShowConfig, Text: text, Taken: time.Now(),
		})
		out.Lines, out.Bytes = strings.Count(text, "\n"), len(text)
	}
	out.Warnings = c.Warnings()
	return out, err
}
