package app

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"runtime"
	"time"

	"ptyctl/config"
	"ptyctl/daemon"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// permitDaemon lets a person manage the daemon only where people may do more than watch, and with the token of people if
// there is one. It records the request.
func (a *App) permitDaemon(what daemon.Ask, token string, pid int) error {
	verb, signal := term.VerbStop, "SIGTERM"
	if what == daemon.AskReload {
		verb, signal = term.VerbReload, "SIGHUP"
	}
	event := term.Event{
		Time: time.Now(), Verb: verb, Detail: fmt.Sprintf("asked for by process %d", pid),
		Actor: term.Actor{Transport: "socket", Client: "ptyctl daemon " + string(what), Operator: true},
	}
	event.Refused = a.mayLook(token)
	mode := a.cfg.Server.Control.ControlMode
	if event.Refused == nil && mode != config.ControlReadWrite {
		otherwise := ", or send " + signal + " to the process"
		if runtime.GOOS == "windows" { // which has no signals
			otherwise = ""
		}
		event.Refused = &term.Error{Kind: term.PolicyDenied, Msg: fmt.Sprintf(
			"server.control.control_mode is %q, which does not allow it; set \"readwrite\"%s", mode, otherwise)}
	}
	if a.audit != nil {
		a.audit.Observe(event)
	}
	return event.Refused
}

// mayLook refuses those who lack the token of people, where one is configured.
func (a *App) mayLook(token string) error {
	want := a.cfg.Server.Control.ControlAuthToken.Reveal()
	if want == "" {
		return nil
	}
	// Hashed, so that the time of the comparison does not depend on the length either.
	given, wanted := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(given[:], wanted[:]) == 1 {
		return nil
	}
	return &term.Error{
		Kind: term.AuthFailed, Msg: "server.control.control_auth_token is set, and the request has another or none: set it " +
			"as in the daemon's configuration",
	}
}

// shims are the clients that are connected, with their programs and sessions.
func (c *conversations) shims() []daemon.Shim {
	count := make(map[string]int)
	for _, i := range c.app.sessions.List() {
		if i.Owner.Orphaned.IsZero() {
			count[i.Owner.Principal.Shim]++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []daemon.Shim
	for _, m := range c.app.sessions.ServerView().Owners().Members() {
		name := m.Principal.Shim
		all = append(all, daemon.Shim{
			Name: name, Program: m.Place.Client, Folder: m.Place.Dir, PID: c.pids[name], Since: m.Since, Sessions: count[name],
		})
	}
	return all
}

// setPID remembers the process of a shim; 0: forgets it.
func (c *conversations) setPID(shim string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pid == 0 {
		delete(c.pids, shim)
		return
	}
	c.pids[shim] = pid
}

// listed are the sessions that live, for the daemon of another protocol.
func (a *App) listed() []daemon.Listed {
	var all []daemon.Listed
	for _, i := range a.sessions.List() {
		if i.State.Ended() {
			continue
		}
		l := daemon.Listed{
			SessionID: i.ID, Protocol: i.Protocol, Host: i.Host, State: string(i.State), Created: i.Created.UnixMilli(),
			Program: i.Owner.Place.Client, Folder: daemon.Octets(i.Owner.Place.Dir), Any: i.Owner.Place.Any,
		}
		if !i.Owner.Orphaned.IsZero() {
			l.Orphaned = i.Owner.Orphaned.UnixMilli()
		}
		all = append(all, l)
	}
	return all
}

// keepPlace remembers where clients with the present configuration find this daemon.
func (a *App) keepPlace(e daemon.Engine) {
	if p, err := daemon.PlaceOf(e); err == nil {
		a.place.Store(&p)
	}
}

// elsewhere returns the sessions that were left where the caller works, in daemons that speak another protocol: those of
// a version before or after this one, which run until their sessions have ended. This daemon cannot use them.
func (a *App) elsewhere(ctx context.Context) (all []toolset.Elsewhere) {
	here := a.place.Load()
	if here == nil {
		return nil
	}
	m, ok := a.sessions.ServerView().Owners().Member(identity.FromContext(ctx).Principal())
	if !ok {
		return nil
	}
	for _, p := range here.Kin() {
		l, err := p.List(ctx, a.cfg.Server.Control.ControlAuthToken.Reveal())
		if err != nil {
			if !daemon.Absent(err) { // its shim has warned of it
				a.log.Debug("the sessions of a daemon that speaks another protocol are not known", "socket", p.Socket(), "error", err)
			}
			continue
		}
		which := "older"
		if p.Protocol() > daemon.Protocol {
			which = "newer"
		}
		for _, s := range l.Sessions {
			place := owners.Place{Client: s.Program, Dir: string(s.Folder), User: m.Place.User, Any: s.Any}
			if s.Orphaned == 0 || !place.Fits(m.Place) {
				continue
			}
			all = append(all, toolset.Elsewhere{
				Daemon: which, Build: l.Build, PID: l.PID, Session: session.Info{
					ID:     s.SessionID,
					Origin: session.Origin{Protocol: s.Protocol, Host: s.Host},
					State:  session.State(s.State), Created: time.UnixMilli(s.Created),
					Owner: owners.Owner{Orphaned: time.UnixMilli(s.Orphaned)},
				},
			})
		}
	}
	return all
}
