package app_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/app/apptest"
	"ptyctl/mcpapi/identity"
)

type sessions struct{ Sessions []struct{ State string } }

// A server answers at its control socket, and the socket is gone after Close.
func TestServe(t *testing.T) {
	var socket string
	t.Run("served", func(t *testing.T) {
		socket = apptest.Start(t, `[server]`, `toolsets = ["kpty"]`)
		c, err := control.Dial(t.Context(), socket, control.Options{Version: "test"})
		if err != nil {
			t.Fatalf("Dial(%q) = %v", socket, err)
		}
		defer c.Close()
		var got sessions
		// The core tools are there for people, whichever tools agents are offered.
		if err := c.Call(t.Context(), "ptyctl_session", map[string]string{"action": "list"}, &got); err != nil {
			t.Errorf("list at the control socket: %v, want no error", err)
		}
		if text, err := c.Get(t.Context(), "/metrics"); err != nil || !strings.Contains(string(text), "ptyctl_") {
			t.Errorf("GET /metrics = %.80q, %v; want metrics that begin with ptyctl_", text, err)
		}
	})
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close the socket is still there: %v", err)
	}
}

// New must undo everything it made before an error.
func TestNewFailsClean(t *testing.T) {
	tests := []struct {
		name, lines, want string
		config            bool // the error is a *ConfigError
	}{
		{"rules", "[policy]\npermissions = '{\"bash\":1}'", "the rules of [policy] are wrong", true},
		{"tokens", "[server]\ntransport = \"http\"\n[server.http]\ntokens_file = \"/nowhere/tokens\"", "server.http.tokens_file", false},
		{"address", "[server]\ntransport = \"http\"\n[server.http]\nlisten = \"192.0.2.1:1\"", "192.0.2.1:1", false},
		{"files", "[fs]\nroots = [\"/nowhere/at/all\"]", "fs.roots", false},
		{"authorities", "[telnet]\ntls_ca_file = \"/nowhere/ca.pem\"", "telnet.tls_ca_file", false},
		{"audit", "[audit]\npath = \"/nowhere/at/all/audit.jsonl\"", "/nowhere/at/all", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := apptest.Config(t, tt.lines)
			dir, err := os.MkdirTemp("", "ptyctl-") //nolint:usetesting // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			socket := filepath.Join(dir, "s", "control.sock")
			cfg.Server.Control.ControlSocketPath = socket
			a, err := app.New(cfg, app.Options{Version: "test"})
			if err == nil {
				_ = a.Close(t.Context())
				t.Fatalf("New(%q) has no error, want one with %q", tt.lines, tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) || errors.As(err, new(*app.ConfigError)) != tt.config {
				t.Errorf("New(%q) = %T %v; want %q, ConfigError %v", tt.lines, err, err, tt.want, tt.config)
			}
			if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("New(%q) has left its control socket: %v", tt.lines, err)
			}
		})
	}
}

// Check finds the same without opening a port.
func TestCheck(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := "[server]\ntransport = \"http\"\n[server.http]\nlisten = \"" + ln.Addr().String() + "\""
	for lines, want := range map[string]string{
		"":                                       "",
		taken:                                    "",
		"[policy]\npermissions = '{\"bash\":1}'": "the rules of [policy] are wrong",
		"[server]\ntoolsets = [\"aa\"]":          "aa",
		"[telnet]\ntls_ca_file = \"/nowhere/ca.pem\"":                                               "telnet.tls_ca_file",
		"[server]\ntransport = \"both\"\n[server.http]\ntokens_file = \"/nowhere/tokens\"":          "server.http.tokens_file",
		"[server]\ntransport = \"stdio\"\n[server.http]\ntokens_file = \"/nowhere/not/opened.txt\"": "",
	} {
		err := app.Check(apptest.Config(t, lines))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want %q", lines, err, want)
		}
	}
}

// An app for a command has the core tools, waits no longer than asked, and no socket.
func TestForCommand(t *testing.T) {
	cfg := apptest.Config(t, `[server]`, `toolsets = ["kpty"]`)
	a, err := app.ForCommand(cfg, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := identity.WithCaller(t.Context(), identity.Caller{Transport: "cli", Operator: true})
	c, err := a.Client(ctx, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var opened struct {
		SessionID string `json:"session_id"`
	}
	open := map[string]any{"action": "open", "protocol": "local", "argv": []string{"cat"}}
	if err := c.Call(ctx, "ptyctl_session", open, &opened); err != nil {
		t.Fatalf("open of a local session: %v", err)
	}
	read := map[string]any{"action": "read", "session_id": opened.SessionID, "timeout_ms": 25_000}
	began := time.Now()
	if err := c.Call(ctx, "ptyctl_session_io", read, nil); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("a read of 25 s through a client of 50 ms: %v after %v", err, time.Since(began))
	}
	if got := a.Config().Server.Control.ControlSocketPath; got != "" {
		t.Errorf("the app has the control socket %q, want none", got)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if err := a.Close(ended); err != nil { // as after a signal
		t.Errorf("Close = %v", err)
	}
	var after sessions
	if err := c.Call(ctx, "ptyctl_session", map[string]string{"action": "list"}, &after); err == nil {
		for _, s := range after.Sessions {
			if s.State == "open" {
				t.Errorf("a session is open after Close: %+v", after)
			}
		}
	}
}

func TestCheckToolsets(t *testing.T) {
	cfg := apptest.Config(t)
	if err := app.CheckToolsets(cfg); err != nil {
		t.Errorf("the default sets: %v", err)
	}
	cfg.Server.Toolsets = []string{"core", "nothing"}
	if err := app.CheckToolsets(cfg); !errors.As(err, new(*app.ConfigError)) {
		t.Errorf("CheckToolsets(%q) = %v, want a *ConfigError", cfg.Server.Toolsets, err)
	}
}
