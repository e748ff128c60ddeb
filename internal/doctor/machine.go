package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/devlock"
	"ptyctl/internal/app"
	"ptyctl/internal/cgroup"
	"ptyctl/internal/client"
	"ptyctl/internal/rundir"
	"ptyctl/internal/tty"
	"ptyctl/ptyx/protect"
	"ptyctl/quote"
	"ptyctl/sshx"
	"ptyctl/term"
)

// Machine checks everything that does not depend on a host. version is this program's, for the processes that it asks.
func (r *Report) Machine(ctx context.Context, cfg config.Config, version string) {
	// A host that no file names.
	in, err := sshx.Inspect(ctx, term.Target{Host: "host.invalid"}, app.QuietSSHOptions(cfg))
	if err != nil {
		r.add(
			Finding{
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
	r.group(cfg)
	r.folder("runtime folder", rundir.Dir)
	r.folder("device locks", func() (string, error) {
		if cfg.Locks.DeviceDir != "" {
			return cfg.Locks.DeviceDir, nil
		}
		return devlock.DefaultDir()
	})
	r.sockets(ctx, cfg.Server.Control, version)
	r.daemons(ctx, version, cfg.Server.Control.ControlAuthToken.Reveal())
	r.secrets(cfg)
	r.issuer(ctx, cfg)
	r.toolsets(cfg)
	if cfg.Audit.Path != "" {
		r.writable("audit log", cfg.Audit.Path)
	}
	if cfg.Record.Dir != "" {
		r.folder("recordings", func() (string, error) { return cfg.Record.Dir, nil })
	}
	if cfg.Logging.File != "" {
		r.writable("log file", cfg.Logging.File)
	}
}

// memory reports whether other programs can read the memory of this one.
func (r *Report) memory() {
	const check = "own memory"
	if why := protect.Unprotected(); why != "" {
		r.add(
			Finding{
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

// group reports the memory limit of the control group that doctor runs in. A server may run in another.
func (r *Report) group(cfg config.Config) {
	const check = "memory limit"
	l, ok := cgroup.MemoryLeft()
	if !ok {
		r.ok(check, "no control group of this process has one")
		return
	}
	app.FitMemory(&cfg)
	text := fmt.Sprintf("%d MiB (%s), of which %d MiB are left; sessions keep at most %d MiB of output together",
		l.Max>>20, l.File, l.Left()>>20, cfg.Limits.MaxTotalBufferBytes>>20)
	if app.FullGroup(l) {
		r.add(
			Finding{
				Status: failing,
				Check:  check,
				Text:   text + ": no session would open",
				Do:     "raise the limit of the container or service, or end programs in it",
			},
		)
		return
	}
	r.ok(check, "%s", text)
}

// sockets checks the control sockets of the processes that run.
func (r *Report) sockets(ctx context.Context, cfg config.Control, version string) {
	const check = "control socket"
	all, err := control.Sockets()
	if err != nil {
		r.add(
			Finding{
				Status: failing,
				Check:  check,
				Text:   err.Error(),
				Do:     here.otherFolder,
			},
		)
		return
	}
	if len(all) == 0 {
		r.add(
			Finding{
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
			Token: cfg.ControlAuthToken.Reveal(), Command: "doctor", Version: version,
		})
		if err != nil {
			r.add(
				Finding{
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
	defer p.Close()
	sessions, _, err := p.List(ctx)
	return len(sessions), err
}

// knownHosts checks the files that host keys are compared with.
func (r *Report) knownHosts(files []string) {
	found := false
	for _, name := range files {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			r.add(
				Finding{
					Status: failing,
					Check:  "known_hosts",
					Text:   err.Error(),
					Do:     "make " + name + " readable for you",
				},
			)
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
			r.add(
				Finding{
					Status: failing,
					Check:  "known_hosts",
					Text:   fmt.Sprintf("%s: its mode %#o lets others decide whom you trust", name, info.Mode().Perm()),
					Do:     "chmod go-w " + quote.Show([]string{name}),
				},
			)
		default:
			r.ok("known_hosts", "%s", name)
		}
		found = true
	}
	if !found && len(files) > 0 {
		r.add(Finding{
			Status: noted, Check: "known_hosts", Text: "no host is known: " + files[0] + " does not exist",
			Do: here.recordHost + files[0],
		})
	}
}

// folder checks a folder that only this user may use. It need not exist yet.
func (r *Report) folder(check string, where func() (string, error)) {
	dir, err := where()
	if err != nil {
		r.add(
			Finding{
				Status: failing,
				Check:  check,
				Text:   err.Error(),
				Do:     here.ownFolder,
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
			r.add(Finding{Status: failing, Check: check, Text: err.Error(), Do: "make the folder reachable for you"})
		case at == dir && runtime.GOOS != "windows" && info.Mode().Perm() != 0o700:
			r.add(
				Finding{
					Status: failing,
					Check:  check,
					Text:   fmt.Sprintf("%s: its mode is %#o, not 0700", dir, info.Mode().Perm()),
					Do:     "chmod 700 " + quote.Show([]string{dir}),
				},
			)
		default:
			r.ok(check, "%s%s", dir, map[bool]string{false: " (will be made)"}[at == dir])
		}
		return
	}
}

// writable checks that a file can be appended to or created.
func (r *Report) writable(check, path string) {
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
			Finding{
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
