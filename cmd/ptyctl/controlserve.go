package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/mcpapi/httpserve"
)

// A controlEnd is the control socket of this process. A nil one is none.
type controlEnd struct {
	listener net.Listener
	log      *slog.Logger
	stop     context.CancelFunc // nil: it was never served
	wg       sync.WaitGroup
}

// listenControl makes the socket that the configuration asks for, and tells its path in cfg. That it cannot be had is an
// error only where the operator has asked for it: an agent must not go without terminals because nobody can watch.
func listenControl(cfg *config.Config, log *slog.Logger) (*controlEnd, error) {
	o := &cfg.Server.Control
	if o.ControlMode == config.ControlDisabled {
		o.ControlSocketPath = ""
		return nil, nil
	}
	asked := o.ControlSocketPath != "" || cfg.Origin("server.control.control_mode") != "default"
	path, err := o.ControlSocketPath, error(nil)
	if path == "" {
		path, err = control.Path(os.Getpid())
	}
	var l net.Listener
	if err == nil {
		l, err = control.Listen(path, log)
	}
	if err == nil {
		o.ControlSocketPath = path
		return &controlEnd{listener: l, log: log}, nil
	}
	o.ControlSocketPath = ""
	if asked {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	level := slog.LevelWarn
	if errors.Is(err, errors.ErrUnsupported) {
		level = slog.LevelDebug // nobody on this system expects one
	}
	log.Log(
		context.Background(),
		level,
		"there is no control socket: ptyctl sessions, attach and the like cannot reach this process",
		"error",
		err,
	)
	return nil, nil
}

// serve answers at the socket until close is called.
func (e *controlEnd) serve(cfg config.Config, srv *server.MCPServer, numbers http.Handler) {
	if e == nil {
		return
	}
	o := cfg.Server.Control
	var tokens []httpserve.Token
	if o.ControlAuthToken.Reveal() != "" {
		tokens = []httpserve.Token{{Name: "control", Value: o.ControlAuthToken.Reveal()}}
	}
	h := httpserve.New(srv, httpserve.Options{
		Tokens: tokens, ReadOnly: o.ControlMode != config.ControlReadWrite, Operator: true, Transport: "socket",
		MaxBody: int64(cfg.Limits.MaxMessageBytes), MaxCalls: cfg.Limits.MaxInFlight, Metrics: numbers, Logger: e.log,
	})
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.wg.Go(func() {
		if err := h.Serve(ctx, e.listener); err != nil { // the agent's terminals are more important
			e.log.Error("the control socket is gone", "error", err)
		}
	})
	e.log.Info(
		"people may watch with ptyctl sessions and ptyctl attach",
		"socket",
		o.ControlSocketPath,
		"mode",
		string(o.ControlMode),
	)
}

// close ends the socket. It is called when all sessions have ended, so that whoever watches one is told so, and no
// read waits any more.
func (e *controlEnd) close() {
	switch {
	case e == nil:
	case e.stop == nil:
		_ = e.listener.Close()
	default:
		e.stop()
		e.wg.Wait()
	}
}
