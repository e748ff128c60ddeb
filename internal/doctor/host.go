package doctor

import (
	"context"
	"net"
	"strconv"
	"strings"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/sshx"
	"ptyctl/term"
)

// Host checks the way to a target: first the plan, then a connection as a session makes it.
func (r *Report) Host(ctx context.Context, cfg config.Config, t term.Target) {
	o := app.QuietSSHOptions(cfg)
	in, err := sshx.Inspect(ctx, t, o)
	r.inspect(in, err, t.Host)
	if err != nil {
		return
	}
	rules, err := app.NewPolicy(cfg)
	if err != nil {
		r.add(Finding{Status: failing, Check: "policy", Text: err.Error()})
		return
	}
	ids := r.identities(ctx, &in.Hosts[0])

	who := (*tty.Prompter)(nil)
	if !t.Auth.NoInteractive {
		who = tty.NewPrompter()
		defer who.Close()
	}
	asked := &inquiry{gate: rules.Gate(), target: t}
	shell, err := sshx.NewNetwork(o).OpenShell(ctx, t, who.Interface(), asked.approve())
	for _, f := range asked.findings() {
		r.add(f)
	}
	if err != nil {
		r.steps(stepsOf(err), diagnosis(err, &in.Hosts[0], ids, who != nil))
		return
	}
	defer func() { _ = shell.Close() }()
	about := term.Description{}
	if d, ok := shell.(term.Describer); ok {
		about = d.Describe()
	}
	r.steps(about.Ladder, Finding{})
	r.ok("server", "%s; %s, %s", about.ServerVersion, about.Algorithms.Kex, about.Algorithms.Cipher)
	for _, w := range about.Warnings {
		if !strings.Contains(w, "ssh_config") {
			r.add(Finding{Status: noted, Check: "connection", Text: w})
		}
	}
}

// stepsOf returns the steps that a failed connection has reached.
func stepsOf(err error) []term.Hop {
	return term.FactOf[term.ConnectFailure](err).Ladder
}

// steps reports each step of each hop. end is the finding about the step that failed; its Status is empty if none did.
func (r *Report) steps(hops []term.Hop, end Finding) {
	reported := false
	for i, h := range hops {
		if len(hops) > 1 {
			r.ok("hop "+strconv.Itoa(i+1), "%s@%s", h.User, net.JoinHostPort(h.Host, strconv.Itoa(h.Port)))
		}
		for j, s := range h.Steps {
			f := Finding{Status: fine, Check: s.Name, Text: s.Detail, MS: &s.DurationMS}
			if (s.Name == "tcp" || s.Name == "proxy") && f.Text == "" {
				f.Text = h.Address
			}
			last := i == len(hops)-1 && j == len(h.Steps)-1
			switch {
			case last && end.Status != "":
				end.Check, end.MS, reported = s.Name, &s.DurationMS, true
				f = end
			case !s.OK: // and a later attempt has passed it
				f.Status = noted
			}
			r.add(f)
		}
	}
	if end.Status != "" && !reported {
		r.add(end)
	}
}
