package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/devlock"
	"ptyctl/internal/app"
	"ptyctl/internal/client"
	"ptyctl/internal/rundir"
	"ptyctl/internal/tty"
	"ptyctl/ptyx"
	"ptyctl/sshx"
	"ptyctl/term"
)

// machine checks what does not depend on a host.
func (r *report) machine(ctx context.Context, cfg config.Config) {
	// What holds for a host of which no file says anything.
	in, err := sshx.Inspect(ctx, term.Target{Host: "host.invalid"}, app.QuietSSHOptions(cfg))
	if err != nil {
		r.add(
			finding{
				Status: failing,
				Check:  "ssh_config",
				Text:   err.Error(),
				Do:     "correct the file; ptyctl explain HOST shows how it is read",
			},
		)
	} else {
		r.ok("ssh_config", "read for hosts that it does not name; ptyctl doctor HOST looks at one")
		r.knownHosts(in.Hosts[0].KnownHosts)
		r.identities(ctx, &in.Hosts[0])
	}
	r.memory()
	r.folder("runtime folder", rundir.Dir)
	r.folder("device locks", func() (string, error) {
		if cfg.Locks.DeviceDir != "" {
			return cfg.Locks.DeviceDir, nil
		}
		return devlock.DefaultDir()
	})
	r.sockets(ctx, cfg.Server.Control)
	if cfg.Audit.Path != "" {
		r.writable("audit log", cfg.Audit.Path)
	}
	if cfg.Logging.File != "" {
		r.writable("log file", cfg.Logging.File)
	}
}

// memory tells whether other programs can read what passes through this one.
func (r *report) memory() {
	const check = "own memory"
	if why := ptyx.Unprotected(); why != "" {
		r.add(
			finding{
				Status: noted,
				Check:  check,
				Text:   "other programs can read ptyctl's memory, with what passes through it: " + why,
				Do:     "run ptyctl as an ordinary user of Linux, macOS or FreeBSD",
			},
		)
		return
	}
	r.ok(check, "other programs of this user cannot read it")
}

// sockets looks at the control sockets of the processes that run.
func (r *report) sockets(ctx context.Context, cfg config.Control) {
	const check = "control socket"
	all, err := control.Sockets()
	if err != nil {
		r.add(
			finding{
				Status: failing,
				Check:  check,
				Text:   err.Error(),
				Do:     "remove the folder, or make it yours alone with: chmod 700",
			},
		)
		return
	}
	if len(all) == 0 {
		r.add(
			finding{
				Status: noted,
				Check:  check,
				Text:   "no ptyctl of yours runs",
				Do:     "none, unless an MCP client should have started one: then look at that client's log",
			},
		)
	}
	for _, s := range all {
		name := fmt.Sprintf("process %d at %s", s.PID, s.Path)
		n, err := countSessions(ctx, s, control.Options{
			Token: cfg.ControlAuthToken.Reveal(), Command: "doctor", Version: version(),
		})
		if err != nil {
			r.add(
				finding{
					Status: failing,
					Check:  check,
					Text:   name + ": " + err.Error(),
					Do:     "look at that process's log; if it hangs, end it",
				},
			)
			continue
		}
		r.ok(check, "%s has %s", name, tty.Count(n, "session"))
	}
}

// countSessions asks a process at its socket how many sessions it has.
func countSessions(ctx context.Context, s control.Socket, o control.Options) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, client.DialTime)
	defer cancel()
	p, err := client.Dial(ctx, s, o)
	if err != nil {
		return 0, err
	}
	defer p.Client.Close()
	sessions, _, err := p.List(ctx)
	return len(sessions), err
}

// knownHosts checks the files that host keys are compared with.
func (r *report) knownHosts(files []string) {
	found := false
	for _, name := range files {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			r.add(finding{Status: failing, Check: "known_hosts", Text: err.Error(), Do: "make " + name + " readable for you"})
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
			r.add(
				finding{
					Status: failing,
					Check:  "known_hosts",
					Text:   fmt.Sprintf("%s: its mode %#o lets others decide whom you trust", name, info.Mode().Perm()),
					Do:     "chmod go-w " + tty.CommandLine([]string{name}),
				},
			)
		default:
			r.ok("known_hosts", "%s", name)
		}
		found = true
	}
	if !found && len(files) > 0 {
		r.add(finding{
			Status: noted, Check: "known_hosts", Text: "no host is known: " + files[0] + " does not exist",
			Do: "connect once with ssh, or record a host with: ssh-keyscan HOST >> " + files[0] + ", after comparing its fingerprint",
		})
	}
}

// identities lists what we could log in with at a host.
func (r *report) identities(ctx context.Context, h *sshx.InspectedHost) []sshx.Identity {
	ids, agentErr := h.Identities(ctx)
	inAgent := 0
	for _, id := range ids {
		if id.From == "agent" {
			inAgent++
		}
	}
	switch {
	case h.Agent == "":
		r.add(
			finding{
				Status: noted,
				Check:  "agent",
				Text:   "there is none to ask for keys: SSH_AUTH_SOCK is not set, or IdentityAgent is none",
				Do:     `start one with: eval "$(ssh-agent)" && ssh-add`,
			},
		)
	case agentErr != nil:
		r.add(
			finding{
				Status: failing,
				Check:  "agent",
				Text:   fmt.Sprintf("%s: %v", h.Agent, agentErr),
				Do:     `start a new one with: eval "$(ssh-agent)" && ssh-add`,
			},
		)
	case inAgent == 0:
		r.add(finding{Status: noted, Check: "agent", Text: h.Agent + " holds no key", Do: "add one with: ssh-add"})
	default:
		r.ok("agent", "%s holds %s", h.Agent, tty.Count(inAgent, "key"))
	}
	for _, id := range ids {
		r.identity(id)
	}
	if len(ids) == 0 {
		r.add(
			finding{
				Status: noted,
				Check:  "keys",
				Text:   "there is no key to log in with",
				Do:     "make one with: ssh-keygen -t ed25519, and put it on the host with: ssh-copy-id HOST",
			},
		)
	}
	return ids
}

func (r *report) identity(id sshx.Identity) {
	f := finding{Status: fine, Check: "key", Text: describeIdentity(id)}
	file := tty.CommandLine([]string{id.From})
	switch {
	case id.Problem == "":
	case id.Certificate != nil:
		f.Status, f.Do = failing, "get a new certificate from the authority with the key "+id.Certificate.Authority
	case strings.Contains(id.Problem, "chmod"):
		f.Status, f.Do = failing, "chmod 600 "+file
	default:
		f.Status, f.Do = noted, "correct the file, or the line of ssh_config that names it"
	}
	if id.Certificate != nil {
		f.Check = "certificate"
	}
	r.add(f)
}

// describeIdentity names a key by what anybody may know of it.
func describeIdentity(id sshx.Identity) string {
	parts := []string{id.From + ":"}
	if id.Fingerprint != "" {
		parts = append(parts, id.Fingerprint)
	}
	var notes []string
	if id.Type != "" {
		notes = append(notes, id.Type)
	}
	if id.Comment != "" {
		notes = append(notes, id.Comment)
	}
	if id.Encrypted {
		notes = append(notes, "encrypted: its passphrase will be asked for")
	}
	if c := id.Certificate; c != nil {
		if len(c.Principals) > 0 {
			notes = append(notes, "for "+strings.Join(c.Principals, ", "))
		}
		if !c.ValidBefore.IsZero() {
			notes = append(notes, "until "+c.ValidBefore.UTC().Format(time.DateTime)+" UTC")
		}
	}
	if len(notes) > 0 {
		parts = append(parts, "("+strings.Join(notes, "; ")+")")
	}
	if id.Problem != "" {
		parts = append(parts, "- "+id.Problem)
	}
	return strings.Join(parts, " ")
}

// folder checks a folder that is to be this user's alone; it need not be there yet.
func (r *report) folder(check string, where func() (string, error)) {
	dir, err := where()
	if err != nil {
		r.add(
			finding{
				Status: failing,
				Check:  check,
				Text:   err.Error(),
				Do:     "set XDG_RUNTIME_DIR to a folder of your own with mode 0700",
			},
		)
		return
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			continue
		case err != nil:
			r.add(finding{Status: failing, Check: check, Text: err.Error(), Do: "make the folder reachable for you"})
		case at == dir && runtime.GOOS != "windows" && info.Mode().Perm() != 0o700:
			r.add(
				finding{
					Status: failing,
					Check:  check,
					Text:   fmt.Sprintf("%s: its mode is %#o, not 0700", dir, info.Mode().Perm()),
					Do:     "chmod 700 " + tty.CommandLine([]string{dir}),
				},
			)
		default:
			r.ok(check, "%s%s", dir, map[bool]string{false: " (will be made)"}[at == dir])
		}
		return
	}
}

// writable checks that a file can be appended to, or made.
func (r *report) writable(check, path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		var probe *os.File
		if probe, err = os.CreateTemp(filepath.Dir(path), ".ptyctl-doctor-"); err == nil {
			_ = probe.Close()
			err = os.Remove(probe.Name())
		}
	}
	if err != nil {
		r.add(
			finding{
				Status: failing,
				Check:  check,
				Text:   err.Error(),
				Do:     "make " + path + " writable for you, or name another file",
			},
		)
		return
	}
	r.ok(check, "%s", path)
}
