package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"ptyctl/config"
	"ptyctl/daemon"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/stdio"
	"ptyctl/ptyx"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// Engine returns the settings of cfg that all clients of a daemon share, as far as they are not the defaults: a new
// version with more keys must find the daemon of the old one. The settings of a conversation are not among them, nor
// those of the HTTP port, which a daemon does not have. A secret counts only as set or not.
func Engine(cfg config.Config) daemon.Engine {
	defaults := make(map[string]string)
	for _, k := range config.Keys() {
		defaults[k.Path] = k.Default
	}
	var e daemon.Engine
	for _, s := range cfg.Settings() {
		if def, ok := defaults[s.Key]; (!ok || s.Value != def) && !ofConversation(s.Key) {
			e = append(e, daemon.Setting{Key: s.Key, Value: s.Value})
		}
	}
	return e
}

// ofConversation reports whether a key belongs to a conversation, not to the engine of a daemon.
func ofConversation(key string) bool {
	switch key {
	case "server.transport", "server.results", "server.read_only", "server.toolsets", "server.jsonrpc_errors":
		return true
	}
	return strings.HasPrefix(key, "server.http.") || strings.HasPrefix(key, "daemon.")
}

// Presents returns the settings of one conversation.
func Presents(cfg config.Config) daemon.Presents {
	return daemon.Presents{
		Toolsets: cfg.Server.Toolsets, Results: string(cfg.Server.Results), ReadOnly: cfg.Server.ReadOnly,
		JSONRPCErrors: cfg.Server.JSONRPCErrors,
	}
}

// stirred says that the number of sessions may have changed. It is one of the manager's observers.
type stirred chan struct{}

// Observe implements term.Observer.
func (s stirred) Observe(e term.Event) {
	if e.Verb == term.VerbState || e.Verb == term.VerbGone {
		select {
		case s <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// conversations are the clients of a daemon.
type conversations struct {
	app *App

	mu      sync.Mutex            // guards the following
	servers map[string]*presented // by presentation, because a server has one form of its tools
	pids    map[string]int        // of the shims, by their names
}

// A presented is a server for the conversations of one presentation.
type presented struct {
	*mcpapi.Server
	users int // conversations; guarded by conversations.mu
}

// sparePresentations is how many presentations are kept without a conversation. There are few that anyone uses, and
// endless ones that a program could ask for.
const sparePresentations = 8

// ServeDaemon answers the clients that connect to l, and people at the control socket, until ctx ends, a person stops
// the daemon, or it has been unused for a while. reload reads the configuration again.
func (a *App) ServeDaemon(ctx context.Context, l net.Listener, reload *Reloader) error {
	a.sessions.ServerView().Owners().Serve()
	a.serveControl()
	c := &conversations{app: a, servers: make(map[string]*presented), pids: make(map[string]int)}
	engine := Engine(a.loaded)
	a.keepPlace(engine)
	srv := daemon.NewServer(daemon.Options{
		Build: a.version, Engine: engine, Serve: c.serve, Presents: c.presents,
		Sessions: func() int { return len(a.sessions.List()) }, Changed: a.stirred, Idle: a.cfg.Daemon.Idle,
		Permit: a.permitDaemon, Refuse: refuseOwn, Shown: a.mayLook, Shims: c.shims, Listed: a.listed,
		Reload: reload.Reload,
		Logger: a.log,
	})
	reload.Then(func(now config.Config) { a.serveNow(srv, Engine(now)) })
	a.log.Info("the daemon serves", "version", a.version, "socket", l.Addr().String(), "configuration", engine.Name())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cluster := a.serveCluster(ctx, stop)
	err := srv.Run(ctx, l)
	stop()
	return errors.Join(err, cluster())
}

// serveNow makes clients with the present configuration find this daemon, and others not.
func (a *App) serveNow(srv *daemon.Server, e daemon.Engine) {
	a.keepPlace(e)
	err := srv.Change(e, func() (net.Listener, error) {
		place, err := daemon.PlaceOf(e)
		if err != nil {
			return nil, err
		}
		return daemon.Listen(place, a.log)
	})
	if err != nil {
		a.log.Warn("clients with the new configuration do not find this daemon", "error", err)
	}
}

// refuseOwn refuses the programs of this daemon's sessions: one of them would act under the name of another client, and
// could outlive its own session.
func refuseOwn(pid int) error {
	if !ptyx.Started(pid) {
		return nil
	}
	return fmt.Errorf("process %d belongs to a session of this daemon, or has ended: programs of sessions may not "+
		"connect; start ptyctl mcp without --daemon there", pid)
}

// A hangup is a connection that says when its input has ended. The calls of the client may go on for a while then, and
// the next client must not wait for that.
type hangup struct {
	net.Conn
	gone func()
}

func (h hangup) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if err != nil {
		h.gone()
	}
	return n, err
}

// serve carries one conversation.
func (c *conversations) serve(ctx context.Context, v daemon.Visit) error {
	srv, leave, err := c.server(v.Presents)
	if err != nil {
		return err
	}
	defer leave()
	a := c.app
	who := identity.Caller{Transport: "stdio", Shim: v.Client, Isolated: true}
	// Its sessions outlive it, for the next client of the same program and user in the same folder.
	place := owners.Place{Dir: string(v.Dir), User: strconv.Itoa(os.Getuid())} // the socket admits no other user
	if err := a.sessions.ServerView().Owners().Join(who.Principal(), place); err != nil {
		return err
	}
	defer a.sessions.ServerView().Owners().Leave(who.Principal())
	defer a.consents.Leave(who.Principal()) // its calls have ended, and no other client can make them again
	c.setPID(v.Client, v.PID)
	defer c.setPID(v.Client, 0)
	ctx = identity.WithCaller(ctx, who)
	ctx = term.WithEnvironment(ctx, term.NewEnvironment(string(v.Dir), v.Variables()))
	in := hangup{v.Conn, func() { a.sessions.ServerView().Owners().Gone(who.Principal()) }}
	return stdio.Serve(ctx, srv, in, v.Conn, stdio.Options{
		MaxMessageBytes: a.cfg.Limits.MaxMessageBytes, MaxInFlight: a.cfg.Limits.MaxInFlight,
		Room: a.messages, Logger: a.log, GoesOn: true,
	})
}

// presents refuses a conversation with settings that this version does not know. A client of a later version may have
// them, and connects to an earlier daemon as long as that runs.
func (c *conversations) presents(p daemon.Presents) error {
	_, err := c.presentation(p)
	if err != nil {
		err = fmt.Errorf("it has version %s, which does not offer what this client asks for: %w; ask for less, or end it "+
			"with its sessions (ptyctl daemon stop) and start again", c.app.version, err)
	}
	return err
}

// presentation returns the configuration with the settings of one conversation.
func (c *conversations) presentation(p daemon.Presents) (config.Config, error) {
	cfg := c.app.cfg
	cfg.Server.Toolsets, cfg.Server.ReadOnly, cfg.Server.JSONRPCErrors = p.Toolsets, p.ReadOnly, p.JSONRPCErrors
	switch cfg.Server.Results = config.Results(p.Results); cfg.Server.Results {
	case config.ResultsCompact, config.ResultsFull, config.ResultsText:
	default:
		return cfg, fmt.Errorf("there is no form of results %q", p.Results)
	}
	return cfg, CheckToolsets(cfg)
}

// server returns the server that presents p, until leave is called.
func (c *conversations) server(p daemon.Presents) (srv *mcpapi.Server, leave func(), err error) {
	cfg, err := c.presentation(p)
	if err != nil {
		return nil, nil, err
	}
	key := fmt.Sprintf("%q %q %t %t", p.Toolsets, p.Results, p.ReadOnly, p.JSONRPCErrors)
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.servers[key]
	if one == nil {
		one = &presented{Server: c.app.newServer(cfg)}
		c.servers[key] = one
	}
	one.users++
	return one.Server, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if one.users--; one.users == 0 && len(c.servers) > sparePresentations {
			delete(c.servers, key)
		}
	}, nil
}
