package files

import (
	"context"

	"ptyctl/fleet"
	fleettool "ptyctl/mcpapi/tools/fleet"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// manyHosts copies a file to many hosts, or collects one of each.
func manyHosts(ctx context.Context, c *toolset.Call, in *fsArgs) (any, error) {
	switch {
	case in.Recursive:
		return nil, c.Invalid("recursive", "recursive is not for many hosts: only a file is copied there; "+
			"pack the folder into one file first")
	case in.Resume:
		return nil, c.Invalid("resume", "resume is not for many hosts: repeat the call, which leaves hosts alone that have the file")
	case in.Via != "":
		return nil, c.Invalid("via", "via is not for many hosts: it moves a file over the terminal of one session")
	case in.To.Path == "":
		return nil, c.Invalid("to.path", "to.path is missing; give the path of a file or a folder")
	}
	r := fleettool.Copy{
		Copy:  fleet.Copy{To: in.To.Path, Verify: in.Verify, Overwrite: in.Overwrite},
		Hosts: in.To.Hosts, Field: "to.hosts", WaitMS: in.WaitMS, MaxOutput: in.MaxOutput,
		Order: fleettool.Order{
			Canary: in.Canary, Batch: in.Batch, StopOnFailures: in.StopOnFailures, MaxParallel: in.MaxParallel,
			OnRefused: in.OnRefused, TimeoutMS: in.TimeoutMS, DeadlineMS: in.DeadlineMS,
		},
	}
	if c.Action() == "collect" {
		if in.To.SessionID != "" || in.To.Host != "" || len(in.To.Hosts) > 0 {
			return nil, c.Invalid("to", "to is a folder of ptyctl's own machine here: give to.path alone, and the hosts in hosts")
		}
		if r.Field = "hosts"; len(in.Hosts) == 0 {
			return nil, noHosts(c, r.Field)
		}
		r.Collect, r.From, r.Hosts = true, session.CopyPlace{Path: in.Path}, in.Hosts
		return r.Do(ctx, c)
	}
	switch {
	case len(in.To.Hosts) == 0:
		return nil, noHosts(c, r.Field)
	case in.To.SessionID != "" || in.To.Host != "":
		return nil, c.Invalid("to.hosts", "to.hosts goes without to.session_id and to.host: leave those out")
	}
	from, err := endOf(c, "from", in.From, "")
	if err != nil {
		return nil, err
	}
	asked, err := from.find(ctx, c, term.VerbFileRead)
	switch {
	case err != nil:
		return nil, err
	case asked != nil:
		return c.NotOpen(asked.OpenResult, toolset.Undone{
			What: "nothing was copied", Asks: !asked.Joined,
			Do: func(ctx context.Context, c *toolset.Call, _ session.OpenResult) (any, error) {
				return manyHosts(ctx, c, in)
			},
		}), nil
	}
	r.From = from.place
	return r.Do(ctx, c)
}

// noHosts is the error for an empty list.
func noHosts(c *toolset.Call, field string) error {
	return c.Invalid(field, field+" names no host: name the hosts, such as web[01-20] or @web")
}
