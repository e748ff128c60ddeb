package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session/await"
	"ptyctl/term"
)

// unansweredOut is an entry of on at a node that gives no answer.
type unansweredOut struct {
	On int `json:"on" compact:"keep"` // its index
	firedOf
	ErrorCode term.Kind `json:"error_code"`
	Message   string    `json:"message"`
}

// A part has the entries that one node waits for.
type part struct {
	node string // empty: this node
	at   []int  // the indexes of its entries in the call
	on   []waitEntry
}

// partsOf divides the entries of a wait by the nodes that have their sessions.
func partsOf(ctx context.Context, c *toolset.Call, on []waitEntry) (parts []part) {
	for i, e := range on {
		node := toolset.Far(ctx, c, cmp.Or(e.SessionID, e.FleetID))
		at := slices.IndexFunc(parts, func(p part) bool { return p.node == node })
		if at < 0 {
			at, parts = len(parts), append(parts, part{node: node})
		}
		parts[at].at, parts[at].on = append(parts[at].at, i), append(parts[at].on, e)
	}
	return parts
}

// A parted is a wait at several nodes.
type parted struct {
	c   *toolset.Call
	in  *sessionArgs
	out *waitOut
	met int // entries with their condition met
	err error
}

// An answered is the answer of one node.
type answered struct {
	part part
	out  *waitOut
	err  error
}

// waitAtNodes has each node wait for its own sessions, and returns when the first one has a result, or all have
// answered.
//
// It then cancels the other waits and loses their answers. So it first asks for the start cursor of each entry without
// one: from there the caller can wait again and misses nothing.
func waitAtNodes(ctx context.Context, c *toolset.Call, in *sessionArgs, parts []part) (any, error) {
	w := &parted{c: c, in: in, out: &waitOut{Fired: []firedOut{}, Cursors: make(map[string]string)}}
	parts = w.each(ctx, parts, false, w.begin, w.look)
	if w.err == nil && (in.Mode == "all" || len(w.out.Unanswered) == 0) {
		w.each(ctx, parts, in.Mode != "all", w.take, w.wait)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		w.err = &term.Error{
			Kind: term.Canceled, Err: ctx.Err(),
			Msg: term.CanceledMsg(ctx, "the call was canceled; nothing is lost: wait again from the same cursors"),
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	slices.SortFunc(w.out.Fired, func(a, b firedOut) int { return a.On - b.On })
	slices.SortFunc(w.out.Unanswered, func(a, b unansweredOut) int { return a.On - b.On })
	w.out.TimedOut = w.met == 0 && len(w.out.Unanswered) == 0 || in.Mode == "all" && w.met < len(in.On)
	slices.Sort(w.out.Warnings)
	w.out.Warnings = append(slices.Compact(w.out.Warnings), c.Warnings()...)
	return w.out, nil
}

// each calls do for all nodes at once, and returns the parts of the nodes that have answered. If first is set, it
// cancels the others when a condition is met or a node gives no answer; it still takes answers that have already come.
func (w *parted) each(
	ctx context.Context, parts []part, first bool, take func(part, *waitOut) part, do func(context.Context, part) (*waitOut, error),
) (remain []part) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	answers := make(chan answered, len(parts))
	for _, p := range parts {
		go func() {
			out, err := do(ctx, p)
			answers <- answered{p, out, err}
		}()
	}
	for range parts {
		switch a := <-answers; {
		case a.err == nil:
			remain = append(remain, take(a.part, a.out))
		case errors.Is(a.err, term.NodeUnreachable), errors.Is(a.err, term.NodeSilent):
			w.unanswered(a.part, a.err)
		case ctx.Err() == nil:
			w.err = cmp.Or(w.err, a.err)
			giveUp()
		}
		if first && (w.met > 0 || len(w.out.Unanswered) > 0) {
			giveUp()
		}
	}
	return remain
}

// look asks a node for the cursors of the entries that have none. It waits only for the end of their sessions, so that
// it takes no output.
func (w *parted) look(ctx context.Context, p part) (*waitOut, error) {
	looks := part{node: p.node}
	for i, e := range p.on {
		if begins(e) {
			looks.at, looks.on = append(looks.at, p.at[i]), append(looks.on, waitEntry{SessionID: e.SessionID, UntilExit: true})
		}
	}
	if looks.on == nil {
		return &waitOut{}, nil
	}
	return w.at(ctx, looks, "all", new(int64))
}

// begins reports whether an entry waits for output from now on.
func begins(e waitEntry) bool {
	return e.Cursor == "" && e.SessionID != "" && e.ExecID == "" && e.FleetID == "" && e.Host == ""
}

// begin gives each entry without a cursor the one that look has found.
func (w *parted) begin(p part, looked *waitOut) part {
	at := maps.Clone(looked.Cursors)
	for _, f := range looked.Fired {
		at = setCursor(at, f.On, f.NextCursor)
	}
	p.on = slices.Clone(p.on)
	for i, place := range p.at {
		if begins(p.on[i]) {
			p.on[i].Cursor = at[strconv.Itoa(place)]
		}
		if cursor := p.on[i].Cursor; cursor != "" {
			w.out.Cursors = setCursor(w.out.Cursors, place, cursor)
		}
	}
	return p
}

func setCursor(all map[string]string, on int, cursor string) map[string]string {
	if all == nil {
		all = make(map[string]string)
	}
	all[strconv.Itoa(on)] = cursor
	return all
}

// wait has a node wait for its part.
func (w *parted) wait(ctx context.Context, p part) (*waitOut, error) {
	return w.at(ctx, p, w.in.Mode, w.in.TimeoutMS)
}

// take adds a node's answer to the result.
func (w *parted) take(p part, got *waitOut) part {
	maps.Copy(w.out.Cursors, got.Cursors)
	for _, f := range got.Fired {
		delete(w.out.Cursors, strconv.Itoa(f.On))
	}
	w.out.Fired, w.met = append(w.out.Fired, got.Fired...), w.met+len(got.Fired)
	w.out.Warnings = append(w.out.Warnings, got.Warnings...)
	return p
}

// unanswered records that the node of a part gave no answer. The cursors of the part do not change.
func (w *parted) unanswered(p part, err error) {
	e, _ := errors.AsType[*term.Error](err)
	for i, on := range p.on {
		w.out.Unanswered = append(w.out.Unanswered, unansweredOut{
			On: p.at[i], firedOf: firedOf{SessionID: on.SessionID, ExecID: on.ExecID, FleetID: on.FleetID, Host: on.Host},
			ErrorCode: e.Kind, Message: e.Error(),
		})
	}
}

// A sentEntry is an entry for another node.
type sentEntry struct {
	SessionID   string `json:"session_id,omitempty"`
	Cursor      string `json:"cursor,omitempty"`
	UntilRegex  string `json:"until_regex,omitempty"`
	UntilIdleMS int64  `json:"until_idle_ms,omitempty"`
	UntilPrompt bool   `json:"until_prompt,omitempty"`
	UntilExit   bool   `json:"until_exit,omitempty"`
	UntilOutput bool   `json:"until_output,omitempty"`
	UntilState  string `json:"until_state,omitempty"`
	ExecID      string `json:"exec_id,omitempty"`
	FleetID     string `json:"fleet_id,omitempty"`
	Host        string `json:"host,omitempty"`
}

// at has a node wait, and returns its answer with the indexes of the call.
func (w *parted) at(ctx context.Context, p part, mode string, timeout *int64) (*waitOut, error) {
	out := new(waitOut)
	if p.node == "" {
		in := *w.in
		in.On, in.Mode, in.TimeoutMS = p.on, mode, timeout
		join := await.Any
		if mode == "all" {
			join = await.All
		}
		got, err := waitHere(ctx, w.c, &in, join, p.at)
		if err != nil {
			return nil, err
		}
		out = got
	} else {
		sent := struct {
			Action    string      `json:"action"`
			On        []sentEntry `json:"on"`
			Mode      string      `json:"mode,omitempty"`
			TimeoutMS *int64      `json:"timeout_ms,omitempty"`
		}{Action: "wait", Mode: mode, TimeoutMS: timeout}
		for _, e := range p.on {
			sent.On = append(sent.On, sentEntry(e))
		}
		arguments, err := json.Marshal(sent)
		if err != nil {
			return nil, err
		}
		a := toolset.Ask(ctx, w.c, p.node, arguments)
		if a.Err == nil {
			a.Err = json.Unmarshal(a.Result, out)
		}
		if a.Err != nil {
			return nil, p.named(a.Err)
		}
	}
	placed := make(map[string]string)
	for i, cursor := range out.Cursors {
		if n, err := strconv.Atoi(i); err == nil && n >= 0 && n < len(p.at) {
			placed[strconv.Itoa(p.at[n])] = cursor
		}
	}
	out.Cursors = placed
	for i := range out.Fired {
		if n := out.Fired[i].On; n >= 0 && n < len(p.at) {
			out.Fired[i].On = p.at[n]
		}
	}
	return out, nil
}

// named returns a node's error with the indexes of the call.
func (p part) named(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	named := *e
	for i, v := range slices.Backward(p.at) { // from the end, as the call's indexes are not smaller: none is replaced twice
		named.Msg = strings.ReplaceAll(named.Msg, fmt.Sprintf("on[%d]", i), fmt.Sprintf("on[%d]", v))
	}
	return &named
}
