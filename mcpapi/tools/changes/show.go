package changes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/session/snapshot"
	"ptyctl/term"
)

// A Going says that the command which shows the configuration goes on, and how to wait for it.
type Going struct {
	ExecID     string             `json:"exec_id,omitempty"`
	DoneReason session.DoneReason `json:"done_reason,omitempty"`
	WaitingFor *wire.Waiting      `json:"waiting_for,omitempty"`
}

const (
	// longest is how long the command may take: a console of 9600 baud needs a minute for 60 KB.
	longest = 15 * time.Minute

	// mostPages is how many pages are turned. A pager that the session's caller has settings for is left to those.
	mostPages = 2000

	// short is the most lines of an output that is only a refusal.
	short = 20
)

// of returns the session's profile, as far as it can show a configuration.
func of(c *toolset.Call, s *session.Session) (profile.Profile, error) {
	name := s.Expect().Profile
	p, ok := profile.Get(name)
	switch {
	case !ok:
		return p, c.Invalid("action", "the session has no profile, and only a profile has the command that shows the "+
			"configuration: set expect.profile first, by action expect")
	case p.ShowConfig == "":
		return p, c.Invalid("action", "the profile "+name+" has no command that shows a configuration; "+
			"use ptyctl_session_exec, and compare its results")
	}
	return p, nil
}

// show returns the configuration of the session's device, by the profile's command, or of an exec that runs it. Where
// it goes on longer than the call may wait, there is no text, and going says so.
func show(
	ctx context.Context, c *toolset.Call, s *session.Session, p profile.Profile, exec string,
) (text string, going Going, err error) {
	shots := s.ServerView().Snapshots()
	c.Waits("the configuration of "+s.ID(), s)
	var r session.ExecResult
	switch {
	case exec == "":
		r, err = s.Exec(ctx, request(c, s, p))
	case shots.Awaited(exec) != p.ShowConfig:
		return "", going, c.Invalid("exec_id", "exec_id is for an exec that snapshot or diff has begun; leave it out to begin one")
	default:
		r, err = s.ContinueExec(ctx, exec, session.ContinueRequest{Wait: c.Limits().MaxWait, MaxOutput: 2 * snapshot.MaxBytes})
	}
	if err != nil {
		return "", going, err
	}
	if r.Done == session.DoneRunning {
		shots.Await(r.ID, p.ShowConfig)
		return "", Going{r.ID, r.Done, (*wire.Waiting)(r.WaitingFor)}, nil
	}
	text, err = whole(s, p, r)
	return text, going, err
}

// request is for the profile's command. A device is typed to, since its commands beside a terminal have settings of
// their own.
func request(c *toolset.Call, s *session.Session, p profile.Profile) session.ExecRequest {
	r := session.ExecRequest{
		Command: p.ShowConfig, Timeout: min(longest, cmp.Or(c.Limits().MaxExecTimeout, longest)), Wait: c.Limits().MaxWait,
		MaxOutput: 2 * snapshot.MaxBytes,
	}
	if p.Class == profile.ClassDevice {
		r.Lane = session.LaneTerminal
	}
	if e := s.Expect(); e.AutoPage == nil && len(e.Pagers) > 0 {
		r.Expect.AutoPage = &session.AutoPage{Max: mostPages}
	}
	return r
}

// whole returns the text of a command that has ended, or why it is no configuration.
func whole(s *session.Session, p profile.Profile, r session.ExecResult) (string, error) {
	fail := func(kind term.Kind, format string, args ...any) (string, error) {
		return "", &term.Error{
			Op: "exec", Session: s.ID(), Kind: kind,
			Msg: "no configuration was taken: " + fmt.Sprintf(format, args...),
		}
	}
	switch r.Done {
	case session.DonePrompt, session.DoneMarker, session.DoneExitStatus:
	case session.DoneEOF:
		return fail(term.RemoteClosed, "the connection ended amid %s; reopen the session, and take it again", p.ShowConfig)
	default:
		return fail(term.ExecTimeout, "the end of %s was not seen (%s); look at the terminal, and take it again",
			p.ShowConfig, r.Done)
	}
	if r.Stdout.Omitted() > 0 || r.Stdout.Start > 0 || r.Lost > 0 {
		return fail(term.Unsupported, "%s printed at least %d bytes, of which not all were kept, and a snapshot has at most %d; "+
			"use ptyctl_session_exec with a command that prints a part of it, and compare its results",
			p.ShowConfig, r.Stdout.Total, snapshot.MaxBytes)
	}
	head, tail, _ := r.Clean(r.Stdout)
	text := tidy(string(head) + string(tail))
	switch lines := strings.Count(text, "\n"); {
	case r.Exit.Known && r.Exit.Code != 0:
		return fail(term.Unsupported, "%s ended with exit code %d", p.ShowConfig, r.Exit.Code)
	case len(r.ErrorHints) > 0 && lines <= short:
		return fail(term.Unsupported, "the device refused %s: %s; leave its configuration mode, or gain the rights, "+
			"and take it again", p.ShowConfig, r.ErrorHints[0])
	case lines == 0:
		return fail(term.Unsupported, "%s printed nothing", p.ShowConfig)
	}
	return text, nil
}

// tidy returns a text with lines that end in LF and have no blanks at their end, which no reader sees.
func tidy(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(text, "\ufffd")) {
		out.WriteString(strings.TrimRight(line, " \t\r\n"))
		out.WriteByte('\n')
	}
	return strings.TrimLeft(strings.TrimRight(out.String(), "\n")+"\n", "\n")
}
