package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// states are those that a session may be in, as list takes them.
var states = []string{"connecting", "authenticating", "open", "closed", "error"}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "count the sessions of each running ptyctl and show its metrics, or all that is known about one session",
		ArgsUsage: "[ID]",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		),
		Action: runStatus,
	}
}

// A processStatus is what there is to say of a running ptyctl.
type processStatus struct {
	PID      int               `json:"pid,omitempty"`
	Socket   string            `json:"socket"`
	Sessions map[string]int    `json:"sessions"` // by state
	Asking   int               `json:"waiting_for_input"`
	Locked   int               `json:"locked"`
	Metrics  map[string]string `json:"metrics,omitempty"` // by name and labels, as Prometheus writes them
}

func runStatus(c *cli.Context) error {
	if c.NArg() > 0 {
		return withSession(sessionStatus)(c)
	}
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.close()
	out := make([]processStatus, len(all))
	for i, p := range all {
		if out[i], err = p.status(c.Context); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, out)
	}
	var b strings.Builder
	for _, s := range out {
		s.print(&b)
	}
	_, err = io.WriteString(c.App.Writer, b.String())
	return err
}

// sessionStatus prints the server's word about one session.
func sessionStatus(c *cli.Context, e sessionEntry) error {
	var out struct{ Session any }
	if err := e.on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: e.SessionID}, &out); err != nil {
		return err
	}
	return printJSON(c.App.Writer, out.Session)
}

func (p *peer) status(ctx context.Context) (processStatus, error) {
	s := processStatus{PID: p.PID, Socket: p.Path, Sessions: make(map[string]int)}
	for _, state := range states {
		var out struct {
			Count    int
			Sessions []sessionEntry
		}
		if err := p.Call(ctx, toolSession, sessionCall{Action: "list", State: state}, &out); err != nil {
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

func (s *processStatus) print(b *strings.Builder) {
	if s.PID != 0 {
		fmt.Fprintf(b, "process %d\n", s.PID)
	}
	fmt.Fprintf(b, "  socket    %s\n  sessions ", s.Socket)
	none := true
	for _, state := range states {
		if n := s.Sessions[state]; n > 0 {
			fmt.Fprintf(b, " %d %s", n, state)
			none = false
		}
	}
	if none {
		b.WriteString(" none")
	}
	fmt.Fprintf(b, "\n  asking    %d\n  locked    %d\n", s.Asking, s.Locked)
	for _, name := range sortedKeys(s.Metrics) {
		fmt.Fprintf(b, "  %s %s\n", printable(name), printable(s.Metrics[name]))
	}
}
