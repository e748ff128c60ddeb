package config_test

import (
	"fmt"

	"ptyctl/config"
)

func ExampleLoad() {
	cfg, warnings, err := config.Load(config.Source{
		Env:   []string{"PTYCTL_SESSION_MAX_SESSIONS=20", "PTYCTL_LOG_LEVL=debug"},
		Flags: map[string]string{"server.read_only": "true"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Session.MaxSessions, cfg.Origin("session.max_sessions"))
	fmt.Println(cfg.Server.ReadOnly, cfg.Origin("server.read_only"))
	fmt.Println(warnings[0])
	// Output:
	// 20 PTYCTL_SESSION_MAX_SESSIONS
	// true --read-only
	// PTYCTL_LOG_LEVL: has no effect, because no key has this variable; did you mean PTYCTL_LOG_LEVEL?
}

func ExampleErrors() {
	_, _, err := config.Load(config.Source{
		Env: []string{"PTYCTL_TRANSPORT=telepathy", "PTYCTL_LOCKS_MAX_TTL_MS=1h"},
	})
	fmt.Println(err)
	// Output:
	// 2 problems in the configuration:
	//   PTYCTL_TRANSPORT: server.transport is "telepathy"; give one of stdio, http, both
	//   PTYCTL_LOCKS_MAX_TTL_MS: locks.max_ttl_ms is "1h"; give a whole number of milliseconds from 1 to 2592000000
}

// The flags of a command line follow from the table.
func ExampleKeys() {
	for _, k := range config.Keys() {
		switch {
		case k.Flag.Name == "":
		case k.Flag.Value == "":
			fmt.Printf("--%s TEXT  sets %s (default %s)\n", k.Flag.Name, k.Path, k.Default)
		default:
			fmt.Printf("--%s  sets %s = %s\n", k.Flag.Name, k.Path, k.Flag.Value)
		}
	}
	// Output:
	// --transport TEXT  sets server.transport (default "stdio")
	// --results TEXT  sets server.results (default "compact")
	// --read-only  sets server.read_only = true
	// --toolsets TEXT  sets server.toolsets (default [])
	// --jsonrpc-errors  sets server.jsonrpc_errors = true
	// --listen TEXT  sets server.http.listen (default "127.0.0.1:8765")
	// --tls-self-signed  sets server.http.tls_self_signed = true
	// --control-socket TEXT  sets server.control.control_socket_path (default "")
	// --control-mode TEXT  sets server.control.control_mode (default "readonly")
	// --log-level TEXT  sets logging.level (default "info")
}
