// Package apptest starts an app for tests, with a control socket at which its tools can be called.
//
//	socket := apptest.Start(t, "[session]", "max_sessions = 2")
//	p, err := client.Dial(t.Context(), control.Socket{Path: socket}, control.Options{})
//
// Promises:
//   - The app reads no file of the user, has no client at stdio, and ends with the test.
package apptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/config"
	"ptyctl/internal/app"
)

// Config reads a configuration of these lines. It uses nothing of the environment.
func Config(tb testing.TB, lines ...string) config.Config {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ptyctl.toml")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		tb.Fatal(err)
	}
	cfg, _, err := config.Load(config.Source{Path: path, Env: []string{"HOME=" + tb.TempDir()}})
	if err != nil {
		tb.Fatalf("config.Load(%q): %v", lines, err)
	}
	return cfg
}

// Start serves an app at a control socket until the test ends, and returns the path of the socket. People may type
// there unless a line sets server.control.control_mode.
func Start(tb testing.TB, lines ...string) (socket string) {
	tb.Helper()
	cfg := Config(tb, lines...)
	dir, err := os.MkdirTemp("", "ptyctl-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg.Server.Transport, cfg.Server.HTTP.Listen = config.TransportHTTP, "127.0.0.1:0"
	control := &cfg.Server.Control
	control.ControlSocketPath = filepath.Join(dir, "s", "control.sock")
	if cfg.Origin("server.control.control_mode") == "default" {
		control.ControlMode = config.ControlReadWrite
	}
	a, err := app.New(cfg, app.Options{Version: "test"})
	if err != nil {
		tb.Fatalf("app.New: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
		if err := a.Close(context.Background()); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return control.ControlSocketPath
}
