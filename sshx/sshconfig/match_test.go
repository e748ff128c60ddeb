package sshconfig

import (
	"errors"
	"net/netip"
	"testing"
)

func TestMatchSession(t *testing.T) {
	file := write(t, t.TempDir(), "config", `
Match sessiontype exec command "rsync *"
  Port 1
Match sessiontype exec
  Port 2
Match sessiontype subsystem
  Port 3
Match sessiontype shell command ""
  Port 4
`)
	for _, tt := range []struct {
		command, session string
		port             int
	}{
		{"", "", 4},
		{"uptime", "", 2},
		{"rsync -a x", "", 1},
		{"", "exec", 2},
		{"sftp", "subsystem", 3},
		{"", "none", 22},
	} {
		o := options(t)
		o.UserFile, o.Command, o.SessionType = file, tt.command, tt.session
		if cfg := evaluate(t, o); cfg.Port != tt.port {
			t.Errorf("command %q, session %q: Port %d, want %d", tt.command, tt.session, cfg.Port, tt.port)
		}
	}
	// The file's SessionType must count if the call has none.
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", "SessionType none\nMatch sessiontype none\nPort 5\n")
	if cfg := evaluate(t, o); cfg.Port != 5 {
		t.Errorf("Port %d", cfg.Port)
	}
}

func TestMatchNetwork(t *testing.T) {
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", "Match localnetwork 10.0.0.0/8,fe80::/10\nUser bob\n")
	for addr, want := range map[string]string{"10.1.2.3": "bob", "fe80::1%eth0": "bob", "11.0.0.1": "me", "::1": "me"} {
		o.Interfaces = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr(addr)}, nil }
		if cfg := evaluate(t, o); cfg.User != want {
			t.Errorf("%s: User %q, want %q", addr, cfg.User, want)
		}
	}
	o.Interfaces = func() ([]netip.Addr, error) { return nil, errors.New("no interfaces today") }
	if cfg := evaluate(t, o); cfg.User != "me" || warned(cfg, "no interfaces today") == nil {
		t.Errorf("User %q, warnings %v", cfg.User, cfg.Warnings)
	}
}

// Each criterion must also accept its argument as key=value.
func TestMatchCriteriaWithAttachedArguments(t *testing.T) {
	for line, want := range map[string]string{
		"Match originalhost=foo":          "bob",
		"Match localuser=me host=foo":     "bob",
		"Match !localuser=me":             "me",
		"Match user=me,you":               "bob",
		"Match tagged=":                   "bob",
		"Match command=":                  "bob",
		"Match version=" + DefaultVersion: "bob",
		"Match sessiontype=shell,exec":    "bob",
		"Match host=":                     "me",
		"Match all=":                      "me",
		"Match final=yes":                 "me",
	} {
		o := options(t)
		o.UserFile = write(t, t.TempDir(), "config", line+"\nUser bob\n")
		cfg := evaluate(t, o)
		if cfg.User != want {
			t.Errorf("%s: User %q, want %q (%v)", line, cfg.User, want, cfg.Warnings)
		}
	}
}

// A Match line that is skipped is a fault of every host: it is in no block, also behind one for another host.
func TestSkippedMatchAppliesBehindAnotherHost(t *testing.T) {
	for line, about := range map[string]string{
		"Match originalhost foo exec true": "exec is not allowed",
		"Match frob x":                     "is not known",
		"Match host":                       "the argument of host is missing",
	} {
		o := options(t)
		o.UserFile = write(t, t.TempDir(), "config", "Host bar\nPort 2\n"+line+"\nUser bob\n")
		cfg := evaluate(t, o)
		if w := warned(cfg, about); w == nil || !w.Applies || w.Origin.Line != 3 || cfg.User != "me" {
			t.Errorf("%s: User %q, warnings %+v", line, cfg.User, cfg.Warnings)
		}
	}
	// A condition that fails before exec is none: no program would have run.
	o := options(t)
	o.UserFile = write(t, t.TempDir(), "config", "Host bar\nPort 2\nMatch originalhost other exec true\nUser bob\n")
	if cfg := evaluate(t, o); len(cfg.Warnings) != 0 {
		t.Errorf("warnings %+v", cfg.Warnings)
	}
	// So is a line in a file that is included for another host.
	included := write(t, t.TempDir(), "included", "Match exec true\nUser bob\n")
	o.UserFile = write(t, t.TempDir(), "config", "Host bar\nInclude "+included+"\n")
	if cfg := evaluate(t, o); warned(cfg, "exec is not allowed") != nil {
		t.Errorf("warnings %+v", cfg.Warnings)
	}
}
