package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
)

// A home is the folder of one user of ptyctl: its configuration, and what it trusts.
type home struct {
	dir        string
	program    string // ptyctl's
	config     string // ptyctl.toml
	knownHosts string
	sshConfig  string
	audit      string          // the audit log
	wrap       []string        // the command that starts ptyctl, which becomes it; nil: none does
	uid        uint32          // of the user that ptyctl runs as; 0: the tester's
	env        []string        // of ptyctl, besides what command gives it
	secrets    []string        // what lies in its files, and must be seen nowhere else
	given      map[string]bool // the files that the test wrote, which may hold secrets
}

// newHome makes a home whose ptyctl.toml has lines besides the files' places. A line of a table other than [ssh] comes
// after that table's header, as in "[session]\nmax_sessions = 2".
func newHome(tb testing.TB, lines ...string) *home {
	tb.Helper()
	dir := tb.TempDir()
	h := &home{
		given: make(map[string]bool),
		dir:   dir, program: binary, config: filepath.Join(dir, "ptyctl.toml"),
		knownHosts: filepath.Join(
			dir,
			"known_hosts",
		), sshConfig: filepath.Join(dir, "ssh_config"), audit: filepath.Join(dir, "audit.jsonl"),
	}
	// The files are named because, as for ssh(1), the default ones lie in the home folder that the password
	// database names, whatever $HOME says: the tester's own.
	toml := "[ssh]\nknown_hosts_path = '" + h.knownHosts + "'\nconfig_path = '" + h.sshConfig + "'\n" + strings.Join(
		lines,
		"\n",
	) + "\n"
	h.write(tb, h.config, toml)
	h.write(tb, h.sshConfig, "IdentityAgent none\nIdentitiesOnly yes\nIdentityFile none\n")
	h.write(tb, h.knownHosts, "")
	tb.Cleanup(func() { h.tellState(tb) })
	return h
}

func (h *home) write(tb testing.TB, path, text string) {
	tb.Helper()
	h.given[path] = true
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// tellState makes all that ptyctl has written here outputs of the test: the audit log, known_hosts, what it keeps else.
func (h *home) tellState(tb testing.TB) {
	tb.Helper()
	err := filepath.WalkDir(h.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || h.given[path] && path != h.knownHosts && path != h.audit {
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

// trust appends lines to known_hosts.
func (h *home) trust(tb testing.TB, lines ...string) {
	tb.Helper()
	f, err := os.OpenFile(h.knownHosts, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		tb.Fatal(err)
	}
}

// homeFor makes a home that trusts the servers and has their keys, as one would set them up with ssh-keygen(1) and
// ssh-keyscan(1).
func homeFor(tb testing.TB, servers []*sshd, lines ...string) *home {
	tb.Helper()
	h := newHome(tb, lines...)
	config := "IdentityAgent none\nIdentitiesOnly yes\n"
	for _, s := range servers {
		h.trust(tb, s.knownHosts())
		h.secrets = append(h.secrets, secret(s.userKey.pem))
		config += "IdentityFile " + s.identity + "\n"
	}
	h.write(tb, h.sshConfig, config)
	return h
}
