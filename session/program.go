package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"ptyctl/term"
)

// A RunRequest is a program to run on this machine without a terminal.
type RunRequest struct {
	Target term.Target // Protocol and Local
	Stdin  []byte
	// Input is the standard input in place of Stdin, as it comes. Data for it goes through [SessionView.Feed]. Run
	// closes it when the program has ended or was not started, which must end a Read. nil: Stdin.
	Input     io.ReadCloser
	Secret    string        // the name of a secret that the program reads as a line before Stdin; empty: none
	Timeout   time.Duration // after which it gets a request to end; 0: a minute
	Grace     time.Duration // that it then has before it is killed; 0: 2 s
	Wait      time.Duration // the longest this call waits; 0: as long as it takes
	MaxOutput int           // most bytes per stream in the result; 0: 16 KiB
	Match     *Filter       // as in ExecRequest

	Unattended time.Duration // as in ExecRequest

	// Once says that no call follows for more output. When Run returns, the program has ended, also if the call was
	// canceled or did not wait long enough; output that did not fit into the result is gone.
	Once bool
}

// A RunResult is the program's outcome so far. If the program goes on, or its output did not fit, Session and ID name
// the rest: ContinueExec, CancelExec and ReadExec take them, and Close ends the program.
type RunResult struct {
	ExecResult

	Session string // empty: nothing is left to get
	Process term.Process
}

const defaultRunGrace = 2 * time.Second

// Run runs a program. The program has a session of its own as long as a caller can fetch more of it: listed, counted
// and closed as any other.
//
// So a program without a terminal is under the same limits, rules and records as one with a terminal.
func (m *Manager) Run(ctx context.Context, r RunRequest) (RunResult, error) {
	r.Timeout = cmp.Or(r.Timeout, defaultExecTimeout)
	r.Grace = cmp.Or(r.Grace, defaultRunGrace)
	r.Wait = cmp.Or(r.Wait, r.Timeout+r.Grace+killTime)
	r.Target.PTY.Disabled = true
	r.Target.ConnectTimeout = cmp.Or(r.Target.ConnectTimeout, max(m.c.ConnectTimeout, 0))
	s, _, err := m.begin(ctx, OpenRequest{Target: r.Target})
	if err != nil {
		if r.Input != nil {
			_ = r.Input.Close()
		}
		return RunResult{}, err
	}
	res := RunResult{Session: s.id}
	if _, err = opened(ctx, ctx, s, true); err == nil {
		res.ExecResult, err = s.Exec(ctx, ExecRequest{
			Argv: r.Target.Local.Argv, Lane: LaneChannel, Stdin: r.Stdin, Secret: ExecSecret{Name: r.Secret},
			Timeout: r.Timeout, Grace: r.Grace, Wait: r.Wait, MaxOutput: r.MaxOutput, Match: r.Match,
			StopOnCancel: r.Once, Unattended: r.Unattended, input: r.Input,
		})
	}
	if err != nil && r.Input != nil {
		_ = r.Input.Close()
	}
	if p := s.link.Load().describe(s.o.Logger, s.id).Process; p != nil {
		res.Process = *p
	}
	called := ctx.Done()
	switch {
	case r.Once:
		called, res.ID = nil, ""
		// No caller has the ids, so a running program would run unseen.
		if err != nil || !res.Exit.Known {
			s.close(errClosedByCaller{by: "ptyctl, whose caller does not come back"}, false)
		}
	case err != nil && ctx.Err() != nil: // it goes on, and the error says where
		return RunResult{}, err
	case err != nil: // it never ran
		s.close(errClosedByCaller{by: "ptyctl, which could not start its program"}, true)
	case res.ID != "":
		return res, nil
	}
	select { // the program is over, and its session in a moment
	case <-s.life.over:
		if r.Secret == "" { // else its secret is hidden here for as long as the session is kept
			m.forget(s)
		}
		res.Session = ""
	case <-called:
	}
	return res, err
}

// Feed writes to the input of a program that has one of its own (RunRequest.Input): the lock, the Gate and the record are
// those of a write, and send does the writing. exec is the program's.
func (v SessionView) Feed(ctx context.Context, exec string, data []byte, send func(data []byte) error) error {
	s := v.s
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Size: len(data), Data: data, Exec: exec})
	err := s.life.alive("write")
	if err == nil {
		_, err = d.Permit(ctx, term.Action{Data: data})
	}
	if err == nil {
		err = send(data)
	}
	d.End(err)
	return err
}

// surroundings describes a program's environment for the record: of its variables only the names.
//
// The values of variables may be secrets.
func surroundings(o term.LocalOptions) string {
	var parts []string
	if o.Dir != "" {
		parts = append(parts, "cwd "+o.Dir)
	}
	if len(o.Env) > 0 {
		names := make([]string, len(o.Env))
		for i, e := range o.Env {
			names[i] = e.Name
		}
		parts = append(parts, "env "+strings.Join(names, ","))
	}
	if l := o.Limits; l != (term.Limits{}) {
		parts = append(
			parts,
			fmt.Sprintf(
				"limits cpu_s=%d memory_bytes=%d open_files=%d processes=%d",
				l.CPUSeconds,
				l.MemoryBytes,
				l.OpenFiles,
				l.Processes,
			),
		)
	}
	if o.Title != "" {
		parts = append(parts, fmt.Sprintf("title %q", o.Title))
	}
	return strings.Join(parts, "; ")
}
