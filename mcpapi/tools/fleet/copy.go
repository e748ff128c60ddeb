package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/fleet"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// A Copy is a file for many hosts, or of many, as the tool for files is asked for it.
type Copy struct {
	fleet.Copy
	Hosts []string // expressions
	Field string   // the argument that has them

	Order
	WaitMS    *int64
	MaxOutput int
}

// Do begins the copy, and waits for it as long as the call may. The result has the same form as for a command.
func (r Copy) Do(ctx context.Context, c *toolset.Call) (any, error) {
	s, err := choose(c, toolset.Nodes(ctx, c), r.Field, r.Hosts)
	if err != nil {
		return nil, err
	}
	request := fleet.Request{Hosts: targets(s.Hosts), Copy: &r.Copy}
	if err := r.Order.set(c, &request); err != nil {
		return nil, err
	}
	// The source is read within the call, as it is one end of all copies.
	left := max(c.Left(), 1)
	own := request.Timeout > 0 && request.Timeout < left // the time of one host applies to the source, too
	if own {
		left = request.Timeout
	}
	begins, stop := context.WithTimeout(ctx, left)
	defer stop()
	run, err := toolset.Runs(c).Run(begins, request)
	if e, ok := errors.AsType[*term.Error](err); ok && e.Reason == term.ReasonTransferSlow && !own {
		return nil, &term.Error{
			Op: e.Op, Kind: e.Kind, Session: e.Session, Err: err,
			Msg: "nothing was copied: the source was not read within the time of the call, " + left.Round(time.Second).String() +
				" (limits.max_wait_ms)",
			Advice: "copy it to ptyctl's machine first, where a copy may take longer than a call, and from there to the hosts",
		}
	}
	if err != nil {
		return nil, err
	}
	for _, h := range request.Hosts {
		if folder := fleet.FolderName(h.Label); r.Collect && folder != h.Label {
			c.Inform(fmt.Sprintf("the folder of %s is %s, and others are named likewise", h.Label, folder))
			break
		}
	}
	return wait(ctx, c, run, r.WaitMS, r.MaxOutput)
}
