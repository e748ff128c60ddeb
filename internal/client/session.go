package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ptyctl/control"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

// A Session is a session as the action list shows it.
type Session struct {
	PID          int    `json:"pid,omitempty"` // of the process that has the session; 0: not known
	SessionID    string `json:"session_id"`
	SessionType  string `json:"session_type"`
	DeviceID     string `json:"device_id,omitempty"`
	Protocol     string `json:"protocol"`
	Host         string `json:"host"`
	State        string `json:"state"`
	EndCode      string `json:"end_code,omitempty"`
	EndReason    string `json:"end_reason,omitempty"`
	CreatedAt    int64  `json:"created_at"` // Unix milliseconds
	LastActivity int64  `json:"last_activity,omitempty"`
	LockHolder   string `json:"lock_holder,omitempty"`
	Waiting      bool   `json:"waiting_for_input,omitempty"`
	Owner        string `json:"owner,omitempty"`          // the client of the daemon that has the session
	Orphaned     int64  `json:"orphaned_since,omitempty"` // when that client left; no other client has the session

	Process *Process `json:"-"` // that has it
}

// List returns the sessions of a process, the live ones first. more says that there are others.
func (p *Process) List(ctx context.Context) (entries []Session, more bool, err error) {
	var out struct {
		Sessions []Session
		More     bool
	}
	if err := p.Call(ctx, ToolSession, SessionCall{Action: "list"}, &out); err != nil {
		return nil, false, fmt.Errorf("%v: %w", p, err)
	}
	for i := range out.Sessions {
		out.Sessions[i].PID, out.Sessions[i].Process = p.PID, p
	}
	return out.Sessions, out.More, nil
}

// ListAll is List with the sessions of all nodes of the process's cluster. unanswered names the nodes that have not
// answered: their sessions are missing.
func (p *Process) ListAll(ctx context.Context) (entries []Session, more bool, unanswered []string, err error) {
	own, _, err := p.List(ctx)
	if err != nil {
		return nil, false, nil, err
	}
	here := make(map[string]bool, len(own))
	for _, s := range own {
		here[s.SessionID] = true
	}
	var out struct {
		Sessions   []Session
		More       bool
		Unanswered []string `json:"unanswered_nodes"`
	}
	if err := p.Call(ctx, ToolSession, SessionCall{Action: "list_all"}, &out); err != nil {
		return nil, false, nil, fmt.Errorf("%v: %w", p, err)
	}
	for i := range out.Sessions {
		if s := &out.Sessions[i]; here[s.SessionID] {
			s.PID, s.Process = p.PID, p
		}
	}
	return out.Sessions, out.More, out.Unanswered, nil
}

// Find returns the session with this id, or with an id that begins so.
func (all Processes) Find(ctx context.Context, id string) (Session, error) {
	var begins []Session
	for _, p := range all {
		var out StatusResult
		switch err := p.Call(ctx, ToolSession, SessionCall{Action: "status", SessionID: id}, &out); {
		case err == nil:
			out.Session.PID, out.Session.Process = p.PID, p
			return out.Session.Session, nil
		case !IsCode(err, "NOT_FOUND"):
			return Session{}, fmt.Errorf("%v: %w", p, err)
		}
		entries, _, err := p.List(ctx)
		if err != nil {
			return Session{}, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.SessionID, id) {
				begins = append(begins, e)
			}
		}
	}
	switch len(begins) {
	case 0:
		return Session{}, term.Errorf(
			term.NotFound, "there is no session %s; ptyctl sessions --all lists them", tty.Printable(id),
		)
	case 1:
		return begins[0], nil
	}
	names := make([]string, len(begins))
	for i, e := range begins {
		names[i] = tty.Printable(e.SessionID)
	}
	return Session{}, term.Errorf(
		term.InvalidArgument,
		"%s is the beginning of %s; give more of the one that is meant",
		tty.Printable(id),
		strings.Join(names, ", "),
	)
}

// Give hands the session over to a client of the daemon, or leaves it in a folder for any client there. It returns where
// the session is now, in words.
func (s Session) Give(ctx context.Context, to string) (now string, err error) {
	var out struct{ Owner string }
	err = s.Process.Call(ctx, ToolSession, giveCall{"give", s.SessionID, to}, &out)
	return out.Owner, err
}

// IsCode reports whether err is the failure of a tool with this code.
func IsCode(err error, code string) bool {
	e, ok := errors.AsType[*control.ToolError](err)
	return ok && e.Code == code
}
