package kpty

import (
	"cmp"
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// defaultShell returns the program that spawn starts if the caller names none: the user's
// shell, or on Windows the newest PowerShell, then cmd.exe. The parameters replace
// the runtime, so that tests cover every system.
func defaultShell(goos string, getenv func(string) string, lookPath func(string) (string, error)) string {
	if goos != "windows" {
		return cmp.Or(getenv("SHELL"), "/bin/sh")
	}
	for _, name := range []string{"pwsh.exe", "powershell.exe"} {
		if path, err := lookPath(name); err == nil {
			return path
		}
	}
	return cmp.Or(getenv("ComSpec"), "cmd.exe")
}

// sessionOut is a session in the result of spawn and list.
type sessionOut struct {
	SessionID string `json:"session_id"`
	Shell     string `json:"shell"`
	Cwd       string `json:"cwd,omitempty"`  // the folder in which the shell was started
	Host      string `json:"host,omitempty"` // only for a session on another machine, opened by another tool
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
	PID       int    `json:"pid,omitempty"`
	CreatedAt string `json:"created_at"`
	Opener    string `json:"agent_id,omitempty"` // the agent that spawned the session
}

// newSessionOut describes a session. A session that runs no local program has the
// protocol in place of the shell, for example "ssh".
func newSessionOut(i session.Info) sessionOut {
	o := sessionOut{
		SessionID: i.ID,
		Shell:     i.Protocol,
		Cols:      i.PTY.Cols,
		Rows:      i.PTY.Rows,
		CreatedAt: i.Created.UTC().Format(time.RFC3339Nano),
		Opener:    i.Opener.Agent,
	}
	if p := i.About.Process; p != nil && len(p.Argv) > 0 {
		o.Shell, o.Cwd, o.PID = p.Argv[0], p.Dir, p.PID
	} else {
		o.Host = i.Host
	}
	return o
}

// spawnOut is the result of spawn.
type spawnOut struct {
	OK bool `json:"ok"`
	sessionOut
}

// spawn starts a shell on a local terminal. The operator's rules for local programs apply
// to it as to any other session.
func (c *call) spawn(ctx context.Context) (any, error) {
	shell := cmp.Or(c.in.Shell, defaultShell(runtime.GOOS, term.EnvironmentFrom(ctx).Get, exec.LookPath))
	c.Waits("starting "+shell, nil)
	res, err := c.Open(ctx, session.OpenRequest{
		Target: term.Target{
			Protocol: "local", Local: term.LocalOptions{Argv: []string{shell}, Dir: c.in.Cwd},
			PTY: term.PTY{Cols: cmp.Or(c.in.Cols, defaultCols), Rows: cmp.Or(c.in.Rows, defaultRows)},
		},
		BufferBytes: bufferBytes, Wait: c.Limits().MaxWait,
	})
	if err != nil {
		return nil, err
	}
	c.s = res.Session
	return spawnOut{OK: true, sessionOut: newSessionOut(res.Session.Info())}, nil
}

// resizeOut is the result of resize.
type resizeOut struct {
	OK        bool   `json:"ok"`
	SessionID string `json:"session_id"`
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
}

// resize sets the size of the terminal in characters.
func (c *call) resize(ctx context.Context) (any, error) {
	if err := c.s.Resize(ctx, c.in.Cols, c.in.Rows); err != nil {
		return nil, err
	}
	return resizeOut{OK: true, SessionID: c.s.ID(), Cols: c.in.Cols, Rows: c.in.Rows}, nil
}

// killOut is the result of kill.
type killOut struct {
	OK        bool   `json:"ok"`
	SessionID string `json:"session_id"`
	Ended     bool   `json:"already_ended,omitempty"` // the session had ended before
	ending
}

// kill ends the session's program and waits for its end. The ended session remains
// readable until the manager forgets it.
func (c *call) kill(ctx context.Context) (any, error) {
	if err := c.s.ServerView().MayClose(ctx, false); err != nil {
		return nil, err
	}
	already := c.s.Close(ctx, session.CloseOptions{})
	return killOut{OK: true, SessionID: c.s.ID(), Ended: already, ending: endingBy(c.s.Info().End.Exit)}, nil
}

// An ending is the exit code of a session's program, or the signal that ended it, if
// known.
type ending struct {
	ExitCode   *int   `json:"exit_code,omitempty"`
	ExitSignal string `json:"exit_signal,omitempty"`
}

// endingOf is the ending of a program that has ended by itself.
func endingOf(s *session.Session) ending {
	end := s.Info().End
	return endingBy(end.ProgramExit())
}

func endingBy(exit term.Exit) ending {
	e := ending{ExitSignal: exit.Signal}
	if exit.Known {
		e.ExitCode = &exit.Code
	}
	return e
}

// listOut is the result of list.
type listOut struct {
	OK       bool         `json:"ok"`
	Sessions []sessionOut `json:"sessions" is:"listed"`

	More       bool     `json:"more,omitempty"`             // other nodes have more sessions than there is room for
	Unanswered []string `json:"unanswered_nodes,omitempty"` // nodes with missing sessions
}

// list returns the sessions that are still open and visible to the caller, including
// those of other tools, on all nodes.
func (c *call) list(ctx context.Context) listOut {
	out := listOut{OK: true, Sessions: []sessionOut{}}
	for _, i := range c.Sessions(ctx) {
		if !i.State.Ended() {
			out.Sessions = append(out.Sessions, newSessionOut(i))
		}
	}
	for _, a := range toolset.Gather(ctx, c.Call, c.Arguments()) {
		out.add(a)
	}
	return out
}

// add adds the sessions of another node, or that it has not answered.
func (out *listOut) add(a toolset.Gathered) {
	var far listOut
	if a.Err == nil {
		a.Err = json.Unmarshal(a.Result, &far)
	}
	if a.Err != nil {
		out.Unanswered = append(out.Unanswered, a.Node)
		return
	}
	shown := min(len(far.Sessions), max(toolset.MaxGathered-len(out.Sessions), 0))
	out.Sessions, out.More = append(out.Sessions, far.Sessions[:shown]...), out.More || shown < len(far.Sessions)
}
