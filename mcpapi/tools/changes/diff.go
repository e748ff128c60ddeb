package changes

import (
	"context"
	"strings"

	"ptyctl/fleet/linediff"
	"ptyctl/mcpapi/toolset"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/session/snapshot"
	"ptyctl/term"
)

// Now is the name of the configuration at the time of the call.
const Now = "now"

// mostDiff is the most bytes of a difference in a result.
const mostDiff = 16 << 10

// A Compared is the result of action diff: the lines in which two configurations differ, or a command that goes on.
type Compared struct {
	Action       string   `json:"action"`
	Success      bool     `json:"success"`
	From         string   `json:"from,omitempty"`
	To           string   `json:"to,omitempty"`
	Equal        bool     `json:"equal,omitempty"`
	Diff         string   `json:"diff,omitempty"`
	Added        int      `json:"added,omitempty"`
	Removed      int      `json:"removed,omitempty"`
	More         int      `json:"more_lines,omitempty"`    // added and removed ones that are not in Diff
	Volatile     int      `json:"volatile,omitempty"`      // places of To that were not compared
	TooDifferent bool     `json:"too_different,omitempty"` // so that no lines are known
	Warnings     []string `json:"warnings,omitempty"`
	Going
}

// comparedCompact is the compact form of Compared. It is a separate type without a Compact method.
type comparedCompact Compared

// Compact leaves out the values of the call.
func (out *Compared) Compact() any {
	c := comparedCompact(*out)
	c.Action, c.Success, c.From, c.To = "", false, "", ""
	return c
}

// Diff compares two snapshots of the session, or one with the configuration of its device now.
func Diff(ctx context.Context, c *toolset.Call, s *session.Session, from, to, exec string) (*Compared, error) {
	p, err := of(c, s)
	if err != nil {
		return nil, err
	}
	shots := s.ServerView().Snapshots()
	before, err := shots.Get(from)
	if err != nil {
		return nil, err
	}
	out := &Compared{Action: c.Action(), Success: true, From: from, To: to}
	after := snapshot.Snapshot{Command: p.ShowConfig}
	switch {
	case to != Now:
		if exec != "" {
			return nil, c.Invalid("exec_id", "exec_id is for a diff with the configuration now; leave it out, or to")
		}
		after, err = shots.Get(to)
	case c.OnlyReads(ctx):
		err = &term.Error{
			Op: "exec", Session: s.ID(), Kind: term.PolicyDenied,
			Msg: "the configuration now cannot be read: this caller may only read; give the name of a second snapshot in to",
		}
	case before.Command == after.Command:
		after.Text, out.Going, err = show(ctx, c, s, p, exec)
	}
	switch {
	case err != nil:
		return nil, err
	case before.Command != after.Command:
		return nil, c.Invalid("from", "the two are no versions of one text: "+from+" was printed by "+before.Command+
			", and the other by "+after.Command+"; take "+from+" again")
	case out.ExecID == "":
		out.compare(before.Text, after.Text, p.Volatile)
	}
	out.Warnings = c.Warnings()
	return out, nil
}

// compare adds the difference to the result.
func (out *Compared) compare(before, after string, volatile []profile.Pattern) {
	before, _ = profile.Steady(before, volatile)
	after, out.Volatile = profile.Steady(after, volatile)
	a, b := linediff.Lines(before), linediff.Lines(after)
	d := linediff.Compare(a, b, linediff.Options{})
	if len(d.Text) > mostDiff {
		// A bound of lines leaves out whole ones, and says how many.
		most := 0
		for line := range strings.Lines(d.Text[:mostDiff]) {
			if strings.HasSuffix(line, "\n") && !strings.HasPrefix(line, "@@") {
				most++
			}
		}
		d = linediff.Compare(a, b, linediff.Options{Lines: max(most, 1)})
		if len(d.Text) > 2*mostDiff { // its first line is as long as a certificate
			d.Text, d.More = "", d.Added+d.Removed
		}
	}
	out.Diff, out.Added, out.Removed, out.More = d.Text, d.Added, d.Removed, d.More
	out.TooDifferent = d.TooDifferent
	out.Equal = d.Added == 0 && d.Removed == 0 && !d.TooDifferent
}
