package client

import (
	"context"
	"fmt"
	"strings"
)

// States are the states of a session, as the action list takes them.
var States = []string{"connecting", "authenticating", "open", "closed", "error"}

// A ProcessStatus describes a running ptyctl.
type ProcessStatus struct {
	PID      int               `json:"pid,omitempty"`
	Socket   string            `json:"socket"`
	Sessions map[string]int    `json:"sessions"` // by state
	Asking   int               `json:"waiting_for_input"`
	Locked   int               `json:"locked"`
	Metrics  map[string]string `json:"metrics,omitempty"` // by name and labels, as Prometheus writes them
}

// Status counts the sessions of the process and reads its metrics.
func (p *Process) Status(ctx context.Context) (ProcessStatus, error) {
	s := ProcessStatus{PID: p.PID, Socket: p.Path, Sessions: make(map[string]int)}
	for _, state := range States {
		var out struct {
			Count    int
			Sessions []Session
		}
		if err := p.Call(ctx, ToolSession, SessionCall{Action: "list", State: state}, &out); err != nil {
			return s, fmt.Errorf("%v: %w", p, err)
		}
		if out.Count > 0 {
			s.Sessions[state] = out.Count
		}
		for _, e := range out.Sessions {
			if e.Waiting {
				s.Asking++
			}
			if e.LockHolder != "" {
				s.Locked++
			}
		}
	}
	text, err := p.Get(ctx, "/metrics")
	if err != nil {
		return s, fmt.Errorf("%v: %w", p, err)
	}
	s.Metrics = make(map[string]string)
	for line := range strings.Lines(string(text)) { // Prometheus text format: NAME{LABELS} VALUE
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "ptyctl_") {
			continue
		}
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.Contains(line[:i], "_bucket") {
			s.Metrics[line[:i]] = line[i+1:]
		}
	}
	return s, nil
}
