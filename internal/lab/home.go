package lab

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
)

// Record makes every home have recordings, so that the secrets of the tests are looked for there, too. The TestMain of a
// package sets it.
var Record bool

// A Home is the folder of one user of ptyctl: its configuration, and the hosts it trusts.
type Home struct {
	Dir        string
	Program    string // ptyctl's
	Config     string // ptyctl.toml
	KnownHosts string
	SSHConfig  string
	RuntimeDir string          // its own $XDG_RUNTIME_DIR, with the sockets and device locks of its ptyctls
	Audit      string          // the audit log
	Recordings string          // the folder of recordings; empty: no recordings
	Wrap       []string        // the command that starts ptyctl, which becomes it; nil: no such command
	UID        uint32          // of the user that ptyctl runs as; 0: the tester's
	Env        []string        // of ptyctl, besides the variables that Command sets
	Secrets    []string        // contents of its files that must be seen nowhere else
	Given      map[string]bool // the files that the test wrote, which may hold secrets

	shims  []*Program // those that have a daemon
	killed bool       // a daemon of it was killed: then its recordings may have no end
}

// NewHome makes a home with lines in its ptyctl.toml besides the files' places. A line of a table other than [ssh]
// comes after that table's header, as in "[session]\nmax_sessions = 2".
func NewHome(tb testing.TB, lines ...string) *Home {
	tb.Helper()
	dir := tb.TempDir()
	h := &Home{
		Given:      make(map[string]bool),
		Dir:        dir,
		Program:    Binary,
		Config:     filepath.Join(dir, "ptyctl.toml"),
		KnownHosts: filepath.Join(dir, "known_hosts"),
		SSHConfig:  filepath.Join(dir, "ssh_config"),
		RuntimeDir: RuntimeDir(tb),
		Audit:      filepath.Join(dir, "audit.jsonl"),
	}
	if Record {
		h.Recordings = filepath.Join(dir, "recordings")
	}
	// The files are named because, as for ssh(1), the default ones lie in the home folder that the password
	// database names, whatever $HOME says: the tester's own.
	toml := "[ssh]\nknown_hosts_path = '" + h.KnownHosts + "'\nconfig_path = '" + h.SSHConfig + "'\n" + strings.Join(
		lines,
		"\n",
	) + "\n"
	h.Write(tb, h.Config, toml)
	h.Write(tb, h.SSHConfig, "IdentityAgent none\nIdentitiesOnly yes\nIdentityFile none\n")
	h.Write(tb, h.KnownHosts, "")
	tb.Cleanup(func() { h.tellState(tb) })
	if ThroughDaemon {
		h.EndDaemons(tb)
	}
	return h
}

// Write writes a file of the home, which may hold secrets.
func (h *Home) Write(tb testing.TB, path, text string) {
	tb.Helper()
	h.Given[path] = true
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// tellState adds all files that ptyctl has written here to the test's outputs, for example the audit log and
// known_hosts.
func (h *Home) tellState(tb testing.TB) {
	tb.Helper()
	err := filepath.WalkDir(h.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || h.Given[path] && path != h.KnownHosts && path != h.Audit {
			return err
		}
		data, err := os.ReadFile(path)
		leaktest.Output(tb, e.Name(), data)
		return err
	})
	if err != nil {
		tb.Error(err)
	}
}

// Trust appends lines to known_hosts.
func (h *Home) Trust(tb testing.TB, lines ...string) {
	tb.Helper()
	f, err := os.OpenFile(h.KnownHosts, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		tb.Fatal(err)
	}
}

// HomeFor makes a home that trusts the servers and has their keys, as one would set them up with ssh-keygen(1) and
// ssh-keyscan(1).
func HomeFor(tb testing.TB, servers []*SSHD, lines ...string) *Home {
	tb.Helper()
	h := NewHome(tb, lines...)
	var config strings.Builder
	config.WriteString("IdentityAgent none\nIdentitiesOnly yes\n")
	for _, s := range servers {
		h.Trust(tb, s.KnownHosts())
		h.Secrets = append(h.Secrets, PrivateKeyLine(s.UserKey.PEM))
		fmt.Fprintf(&config, "IdentityFile %s\n", s.Identity)
	}
	h.Write(tb, h.SSHConfig, config.String())
	return h
}

// InNamespace makes h start ptyctl with its own mounts: through a shell script that gets dir as its first argument and
// ends with exec of the other arguments.
func (h *Home) InNamespace(tb testing.TB, script, dir string) {
	tb.Helper()
	namespace := []string{"unshare", "--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		namespace = append(namespace, "--user", "--map-root-user")
	}
	if out, err := exec.Command(namespace[0], append(namespace[1:], "/bin/true")...).CombinedOutput(); err != nil {
		tb.Fatalf(
			"a disk of our own needs a mount namespace, and %v gives none (%v: %s): "+
				"run the test as root, or allow user namespaces",
			namespace,
			err,
			bytes.TrimSpace(out),
		)
	}
	h.Wrap = append(namespace, "/bin/sh", "-c", script, "sh", dir)
}
