package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/internal/cliadvice"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/watch/calls"
	"ptyctl/watch/feed"
)

// newFeed makes the source of the watch page. Lines of commands have the form of the audit log.
func newFeed(cfg config.Config, version string) *feed.Feed {
	return feed.New(feed.Options{
		Mode: func(ctx context.Context) string {
			if identity.FromContext(ctx).ReadOnly {
				return string(config.ControlReadOnly)
			}
			return string(config.ControlReadWrite)
		},
		Version: version,
		Calls:   calls.Options{Command: commandForm(cfg.Audit.Commands)},
	})
}

// A controlSocket is the control socket of this process. A nil one means that there is no socket.
type controlSocket struct {
	listener net.Listener
	log      *slog.Logger
	stop     context.CancelFunc // nil: serve was never called
	wg       sync.WaitGroup
}

// listenControl makes the socket that the configuration describes, and sets its path in cfg. A failure is an error only
// if the operator has configured the socket: an agent must not go without terminals because no person can watch.
func listenControl(cfg *config.Config, log *slog.Logger) (*controlSocket, error) {
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
		return &controlSocket{listener: l, log: log}, nil
	}
	o.ControlSocketPath = ""
	if asked {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	log.Warn("there is no control socket: ptyctl sessions, attach and the like cannot reach this process", "error", err)
	return nil, nil
}

// serve answers at the socket until close is called.
func (s *controlSocket) serve(
	cfg config.Config, srv *mcpapi.Server, messages *jsonrpc.Room, metrics, people http.Handler, watch *feed.Feed,
) {
	if s == nil {
		return
	}
	o := cfg.Server.Control
	var tokens []httpserve.Token
	if o.ControlAuthToken.Reveal() != "" {
		tokens = []httpserve.Token{{Name: "control", Value: o.ControlAuthToken.Reveal()}}
	}
	h := httpserve.New(srv, httpserve.Options{
		Tokens: tokens, ReadOnly: o.ControlMode != config.ControlReadWrite, Operator: true, Transport: "socket", Results: identity.Full,
		Message: cliadvice.Message,
		MaxBody: int64(cfg.Limits.MaxMessageBytes), MaxCalls: cfg.Limits.MaxInFlight, Room: messages,
		Metrics: metrics, Watch: watchable(watch), People: people, PeerPID: control.PeerPID, Logger: s.log,
	})
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Go(func() {
		if err := h.Serve(ctx, s.listener); err != nil { // the terminals of the agent matter more
			s.log.Error("the control socket is gone", "error", err)
		}
	})
	s.log.Info(
		"people may watch with ptyctl sessions and ptyctl attach",
		"socket",
		o.ControlSocketPath,
		"mode",
		string(o.ControlMode),
	)
}

// close ends the socket. Close it after all sessions have ended: then every watcher has seen the end of its session,
// and no read waits any more.
func (s *controlSocket) close() {
	switch {
	case s == nil:
	case s.stop == nil:
		_ = s.listener.Close()
	default:
		s.stop()
		s.wg.Wait()
	}
}
