package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/sshx"
	"ptyctl/term"
)

// host checks the way to a target: what would be done, and then what happens when it is.
func (r *report) host(ctx context.Context, cfg config.Config, t term.Target) {
	o := app.QuietSSHOptions(cfg)
	in, err := sshx.Inspect(ctx, t, o)
	r.inspect(in, err, t.Host)
	if err != nil {
		return
	}
	rules, err := app.NewPolicy(cfg)
	if err != nil {
		r.add(finding{Status: failing, Check: "policy", Text: err.Error()})
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
		r.ladder(laddersOf(err), diagnosis(err, &in.Hosts[0], ids, who != nil))
		return
	}
	defer func() { _ = shell.Close() }()
	about := term.Description{}
	if d, ok := shell.(term.Describer); ok {
		about = d.Describe()
	}
	r.ladder(about.Ladder, finding{})
	r.ok("server", "%s; %s, %s", about.ServerVersion, about.Algorithms.Kex, about.Algorithms.Cipher)
	for _, w := range about.Warnings {
		if !strings.Contains(w, "ssh_config") {
			r.add(finding{Status: noted, Check: "connection", Text: w})
		}
	}
}

// laddersOf returns how far a connection came that failed.
func laddersOf(err error) []term.Hop {
	if e, ok := errors.AsType[*term.Error](err); ok && e.Details != nil {
		return e.Details.Ladder
	}
	return nil
}

// ladder reports each rung of each hop. What is said about the rung that broke is in end; its Status is empty if none did.
func (r *report) ladder(hops []term.Hop, end finding) {
	reported := false
	for i, h := range hops {
		if len(hops) > 1 {
			r.ok("hop "+strconv.Itoa(i+1), "%s@%s", h.User, net.JoinHostPort(h.Host, strconv.Itoa(h.Port)))
		}
		for j, s := range h.Steps {
			f := finding{Status: fine, Check: s.Name, Text: s.Detail, MS: &s.DurationMS}
			if s.Name == "tcp" && f.Text == "" {
				f.Text = h.Address
			}
			last := i == len(hops)-1 && j == len(h.Steps)-1
			switch {
			case last && end.Status != "":
				end.Check, end.MS, reported = s.Name, &s.DurationMS, true
				f = end
			case !s.OK: // and was tried again
				f.Status = noted
			}
			r.add(f)
		}
	}
	if end.Status != "" && !reported {
		r.add(end)
	}
}

// diagnosis says why a connection failed, and the one thing to do about it. h and ids are the target's.
func diagnosis(err error, h *sshx.InspectedHost, ids []sshx.Identity, asked bool) finding {
	f := finding{Status: failing, Check: "connection", Text: err.Error()}
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return f
	}
	d := e.Details
	if d == nil {
		d = new(term.Details)
	}
	if e.Kind == term.PolicyDenied {
		return refused(e, d)
	}
	f.Text, _, _ = strings.Cut(e.Message(), "; ") // what follows is advice for an agent
	rung, at := "", term.Hop{Host: h.Config.HostName, Port: h.Config.Port}
	if n := len(d.Ladder); n > 0 {
		at = d.Ladder[n-1]
		if m := len(at.Steps); m > 0 {
			rung = at.Steps[m-1].Name
		}
	}
	server := net.JoinHostPort(at.Host, strconv.Itoa(at.Port))
	set := func(keyword string) string {
		return fmt.Sprintf("%s is set by: %s", keyword, h.Config.Origin(keyword))
	}
	switch e.Kind {
	case term.HostKeyUnknown:
		f.Do = fmt.Sprintf(
			"ask the host's operator for its fingerprint; if it is %s, record it with: ssh-keyscan -p %d %s >> %s",
			d.Fingerprint,
			at.Port,
			at.Host,
			firstOf(h.KnownHosts),
		)
	case term.HostKeyMismatch:
		f.Do = "do not log in there before its operator has told you that the key was changed; then remove the old one with: " + removeKey(
			d,
			at,
		)
	case term.HostKeyRevoked:
		f.Do = "do not log in there: somebody has marked this key as stolen; ask whoever keeps the revocation list"
	case term.AuthFailed:
		f.Text = loginFailure(d, at)
		f.Do = loginAdvice(d, at, ids, h, asked)
	case term.ConnectTimeout:
		switch rung {
		case "dns":
			f.Do = "check this machine's name service (resolv.conf), or put the address into HostName"
		case "tcp":
			f.Do = "check that the address is right and that no firewall or missing VPN drops the way to " + server + "; " + set(
				"HostName",
			)
		case "banner":
			f.Do = server + " takes connections and says nothing: check that an SSH server listens there, or whether it is overloaded; " + set(
				"Port",
			)
		default:
			f.Do = "try again with a larger --timeout; if it stops at the same step, look at the server's log"
		}
	default:
		switch {
		case rung == "dns":
			f.Do = "correct the name, or give its address with HostName in your ssh_config; " + set("HostName")
		case errors.Is(err, syscall.ECONNREFUSED):
			f.Do = "start an SSH server on " + server + ", or correct the port; " + set("Port")
		case rung == "tcp":
			f.Do = "check this machine's network, and that " + server + " is right; " + set("HostName")
		case rung == "banner":
			f.Do = "check with the host's operator what listens on " + server + "; " + set("Port")
		case rung == "kex":
			f.Do = "look for something on the way that interferes, and in the server's log for its reason"
			if len(d.ServerOffers) > 0 {
				f.Do = "have the server updated, or allow one of " + strings.Join(
					d.ServerOffers,
					", ",
				) + " for this host in your ssh_config"
			}
		case rung == "channel":
			f.Do = "the login succeeded: ask the host's operator whether this account may open sessions"
		}
	}
	return f
}

// loginFailure says what was tried, by names and fingerprints.
func loginFailure(d *term.Details, at term.Hop) string {
	text := fmt.Sprintf("%s@%s let nobody in: ", at.User, at.Host)
	if len(d.MethodsTried) == 0 {
		text += "there was nothing to try"
	} else {
		text += "tried " + strings.Join(d.MethodsTried, ", ")
	}
	if len(d.KeysOffered) > 0 {
		text += " (keys: " + strings.Join(d.KeysOffered, ", ") + ")"
	}
	if len(d.MethodsAllowed) > 0 {
		text += "; the server allows " + strings.Join(d.MethodsAllowed, ", ")
	}
	if d.Rule != "" {
		text += "; other credentials are withheld by " + d.Rule
	}
	return text
}

// loginAdvice is what to do after a login that failed: the likeliest cause first.
func loginAdvice(d *term.Details, at term.Hop, ids []sshx.Identity, h *sshx.InspectedHost, asked bool) string {
	for _, id := range ids {
		if id.Certificate != nil && id.Problem != "" {
			return "get a new certificate: of " + id.From + ", " + id.Problem
		}
	}
	tried := strings.Join(d.MethodsTried, " ")
	switch {
	case strings.Contains(tried, "password") || strings.Contains(tried, "keyboard-interactive"):
		return fmt.Sprintf(
			"check the password, and that %q is the right user; %s",
			at.User,
			"User is set by: "+h.Config.Origin("User").String(),
		)
	case len(d.KeysOffered) > 0:
		return fmt.Sprintf(
			"none of %s is let in as %q: name the right key with IdentityFile, or add one there with: ssh-copy-id -i KEY.pub -p %d %s@%s",
			tty.Count(len(d.KeysOffered), "offered key"),
			at.User,
			at.Port,
			at.User,
			at.Host,
		)
	case !asked && strings.Contains(strings.Join(d.MethodsAllowed, " "), "password"):
		return "the server takes a password: run ptyctl doctor on a terminal, without --batch, to be asked for it"
	case h.Agent == "":
		return `there was no key to offer: start an agent with: eval "$(ssh-agent)" && ssh-add, or name a key with IdentityFile`
	default:
		return "there was no key to offer: add one to the agent with: ssh-add, or name one with IdentityFile"
	}
}

// removeKey is the command that takes the recorded key of a host out of its file.
func removeKey(d *term.Details, at term.Hop) string {
	name := at.Host
	if at.Port != 22 {
		name = fmt.Sprintf("[%s]:%d", at.Host, at.Port)
	}
	line := []string{"ssh-keygen", "-R", name}
	if len(d.Recorded) > 0 && d.Recorded[0].File != "" {
		line = append(line, "-f", d.Recorded[0].File)
	}
	return tty.CommandLine(line)
}

func firstOf(files []string) string {
	if len(files) == 0 {
		return "~/.ssh/known_hosts"
	}
	return files[0]
}

func joinWay(way []string) string { return strings.Join(way, " -> ") }
