package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A wrong command line must be reported by the exit status and on stderr: on stdout a client would take it for the
// protocol.
func TestWrongCommandLine(t *testing.T) {
	h := lab.NewHome(t)
	missing := filepath.Join(h.Dir, "missing.toml")
	tests := []struct {
		args   string
		stderr []string // parts of it
	}{
		{"serv", []string{`"serv"`, "mcp", "demo", "version"}},
		{"--no-such-flag", []string{"no-such-flag", "ptyctl --help"}},
		{"mcp --no-such-flag", []string{"no-such-flag", "ptyctl mcp --help"}},
		{"version --no-such-flag", []string{"no-such-flag", "ptyctl version --help"}},
		{"mcp --config", []string{"--config lacks its value: --config FILE", "ptyctl mcp --help"}},
		{"help no-such-command", []string{"no-such-command"}},
		{"version now", []string{`"now"`}},
		{"demo now", []string{`"now"`}},
		{"mcp now", []string{`"now"`, "ptyctl mcp --help"}},
		{"profiles cisco", []string{`"cisco"`, "arista_eos, aruba_aoscx, cisco_asa, cisco_ios,"}},
		{"profiles cisco_ios --yaml", []string{`no flag --yaml`, "ptyctl profiles [flags] [NAME]"}},
		{"profiles cisco_ios frr", []string{`does not take "frr"`, "ptyctl profiles [flags] [NAME]"}},
		{"audit verify", []string{"needs FILE...", "ptyctl audit verify --help"}},
		{"audit verify --head abc audit.jsonl", []string{"--head", "64 hexadecimal digits"}},
		{
			"audit verify audit.jsonl --head abc",
			[]string{"--head", "64 hexadecimal digits"},
		},
		{"audit verify --all", []string{"-all", "ptyctl audit verify --help"}},
		{"audit check", []string{`"check"`, "ptyctl audit --help"}},
		{"profiles --yaml", []string{"yaml", "ptyctl profiles --help"}},
		// The flag library reads no flag after an argument; it must not be lost without a word.
		{"mcp stdio --log-level debug", []string{`takes no argument "stdio"`}},
		{"mcp --transport carrier-pigeon", []string{"--transport", "carrier-pigeon", "stdio"}},
		{"mcp --log-level loud", []string{"--log-level", "loud", "debug, info, warn, error"}},
		{"mcp --config " + missing, []string{missing, "does not exist"}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			stdout, stderr, status := h.Run(t, strings.Fields(test.args)...)
			if status != 2 || stdout != "" {
				t.Errorf("status %d, want 2; stdout %q, want nothing", status, stdout)
			}
			for _, part := range test.stderr {
				if !strings.Contains(stderr, part) {
					t.Errorf("stderr does not speak of %q:\n%s", part, stderr)
				}
			}
		})
	}
}

// All that is wrong in a configuration is said at once, with its place.
func TestWrongConfiguration(t *testing.T) {
	h := lab.NewHome(t)
	h.Write(t, h.Config, `[session]
max_sessions = 0
max_sesions = 5
idle_timeout_ms = "soon"

[ssh]
host_key_policy = "lax"

[nonsense]
x = 1
`)
	stdout, stderr, status := h.Run(t, "mcp", "--config", h.Config)
	if status != 2 || stdout != "" {
		t.Errorf("status %d, want 2; stdout %q, want nothing", status, stdout)
	}
	for _, part := range []string{
		"5 problems",
		":2:16: session.max_sessions", "from 1 to 10000",
		":3:1: there is no key session.max_sesions; did you mean session.max_sessions?",
		":4:19: session.idle_timeout_ms",
		":7:19: ssh.host_key_policy", "strict, ask, accept_new, disabled",
		":9:2: there is no table [nonsense]",
	} {
		if !strings.Contains(stderr, part) {
			t.Errorf("stderr does not say %q:\n%s", part, stderr)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	h := lab.NewHome(t)
	for args, want := range map[string][]string{
		"version":     {"ptyctl "},
		"--version":   {"ptyctl ", "built "},
		"-V":          {"ptyctl ", "built "},
		"":            {"mcp", "demo", "version"},
		"--help":      {"mcp", "demo", "version"},
		"help":        {"mcp", "demo", "version"},
		"mcp --help":  {"--config", "--transport", "--log-level"},
		"help mcp":    {"--config", "--transport", "--log-level"},
		"demo --help": {"demo"},

		"profiles --help":            {"--json", "NAME"},
		"profiles":                   {"NAME", "PAGING OFF", "cisco_ios", "terminal length 0; terminal width 512\n", "posix"},
		"profiles cisco_ios":         {"class          device\n", `)?[>#] ?$`, "‘r1(config)#’", "config prompt", "% Invalid input detected"},
		"profiles --json frr":        {`"name": "frr"`, `"regex": "^`, `"paging_off": [`, "r1(config-router)# "},
		"profiles --json":            {`"name": "arista_eos"`, `"name": "vyos"`},
		"profiles mikrotik_routeros": {"+ct511w4098h"},
		"serve --help":               {"--config"},
		"version -help":              {"version"},
	} {
		t.Run("ptyctl "+args, func(t *testing.T) {
			stdout, stderr, status := h.Run(t, strings.Fields(args)...)
			if status != 0 || stderr != "" {
				t.Errorf("status %d, want 0; stderr %q, want nothing", status, stderr)
			}
			for _, part := range want {
				if !strings.Contains(stdout, part) {
					t.Errorf("stdout does not speak of %q:\n%s", part, stdout)
				}
			}
		})
	}
}

// The demonstration is the product's first impression: it needs nothing, shows each step, and works.
func TestDemo(t *testing.T) {
	h := lab.NewHome(t)
	stdout, stderr, status := h.Run(t, "demo")
	if status != 0 {
		t.Fatalf("status %d:\n%s%s", status, stdout, stderr)
	}
	for _, part := range []string{
		"\n1. ", "\n8. ", "-> ptyctl_session ", "-> ptyctl_session_exec ", "-> ptyctl_session_io ", "-> ptyctl_session_config ",
		`"exit_code":7`, "********", "went as expected.\n",
	} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the demonstration does not show %q:\n%s", part, stdout)
		}
	}
	if strings.Contains(stderr, "DATA RACE") {
		t.Errorf("the race detector reports:\n%s", stderr)
	}
	if left := lab.ProgramsRunning(t); len(left) > 0 {
		t.Errorf("the demonstration left %v", left)
	}
}
