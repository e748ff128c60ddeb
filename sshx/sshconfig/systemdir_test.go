package sshconfig

import (
	"errors"
	"runtime"
	"slices"
	"testing"
)

// TestSystemDir: the system's files of OpenSSH are where the system has them, or nowhere. A path that depends on the
// working folder, in which a stranger may have put files, is never one.
func TestSystemDir(t *testing.T) {
	unknown := errors.New("unknown")
	for _, tc := range []struct {
		goos, programData string
		err               error
		config            string // empty: an error
		known             []string
	}{
		{goos: "linux", err: unknown, config: "/etc/ssh/ssh_config", known: []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}},
		{goos: "darwin", err: unknown, config: "/etc/ssh/ssh_config", known: []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}},
		{
			goos: "windows", programData: `C:\ProgramData`, config: `C:\ProgramData\ssh\ssh_config`,
			known: []string{`C:\ProgramData\ssh\ssh_known_hosts`, `C:\ProgramData\ssh\ssh_known_hosts2`},
		},
		{
			goos: "windows", programData: `d:/data\`, config: `d:/data\ssh\ssh_config`,
			known: []string{`d:/data\ssh\ssh_known_hosts`, `d:/data\ssh\ssh_known_hosts2`},
		},
		{
			goos: "windows", programData: `\\server\share`, config: `\\server\share\ssh\ssh_config`,
			known: []string{`\\server\share\ssh\ssh_known_hosts`, `\\server\share\ssh\ssh_known_hosts2`},
		},
		{goos: "windows", err: unknown},
		{goos: "windows", programData: ""},
		{goos: "windows", programData: `data`},
		{goos: "windows", programData: `.`},
		{goos: "windows", programData: `\data`},
		{goos: "windows", programData: `/data`},
		{goos: "windows", programData: `C:data`},
		{goos: "windows", programData: `C:`},
		{goos: "windows", programData: `\\`},
		{goos: "windows", programData: `\\\data`},
		{goos: "windows", programData: `1:\data`},
	} {
		dir, err := systemDir(tc.goos, func() (string, error) { return tc.programData, tc.err })
		config, known := inSystemDir(tc.goos, dir, "ssh_config"), systemKnownHosts(tc.goos, dir)
		if config != tc.config || !slices.Equal(known, tc.known) || (err == nil) != (tc.config != "") {
			t.Errorf("on %s with ProgramData %q (%v): %q and %q, %v, want %q and %q",
				tc.goos, tc.programData, tc.err, config, known, err, tc.config, tc.known)
		}
	}
}

// TestNoSystemDir: without the folder nothing is evaluated, because the system's file may be the stricter one.
func TestNoSystemDir(t *testing.T) {
	defer func(dir string, err error) { systemFolder, errSystemFolder = dir, err }(systemFolder, errSystemFolder)
	systemFolder, errSystemFolder = systemDir("windows", func() (string, error) { return `ssh`, nil })
	if cfg, err := Evaluate(t.Context(), Options{Host: "web1", UserFile: "none"}); err == nil || cfg != nil {
		t.Errorf("Evaluate without the system's folder = %v, %v, want an error", cfg, err)
	}
	if runtime.GOOS != "windows" {
		return
	}
	t.Setenv("ProgramData", "")
	if dir, err := systemDir("windows", programData); err != nil {
		t.Errorf("systemDir without ProgramData in the environment = %q, %v, want what the system says", dir, err)
	}
}
func TestAccountName(t *testing.T) {
	for _, tc := range []struct{ goos, name, want string }{
		{"windows", `CORP\alice`, "alice"},
		{"windows", `DESKTOP-1\Alice Smith`, "Alice Smith"},
		{"windows", "alice", "alice"},
		{"linux", `CORP\alice`, `CORP\alice`}, // as winbind names accounts, and ssh(1) sends them
		{"darwin", "alice", "alice"},
	} {
		if got := accountName(tc.goos, tc.name); got != tc.want {
			t.Errorf("accountName(%s, %q) = %q, want %q", tc.goos, tc.name, got, tc.want)
		}
	}
	for goos, want := range map[string]string{"windows": `\\.\pipe\openssh-ssh-agent`, "linux": "", "darwin": ""} {
		if got := defaultAgent(goos); got != want {
			t.Errorf("defaultAgent(%s) = %q, want %q", goos, got, want)
		}
	}
}
