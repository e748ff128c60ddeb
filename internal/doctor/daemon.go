package doctor

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ptyctl/daemon"
	"ptyctl/internal/tty"
)

// daemons reports the daemons that run, and the dangers to their lives.
func (r *Report) daemons(ctx context.Context, version, token string) {
	const check = "daemon"
	places, err := daemon.Daemons()
	if err != nil {
		r.add(Finding{Status: failing, Check: check, Text: err.Error(), Do: "correct the runtime folder, above"})
		return
	}
	for _, p := range places {
		conn, w, err := p.Ask(ctx, daemon.Hello{Ask: daemon.AskStatus, Build: version, PID: os.Getpid()})
		if err != nil {
			r.add(Finding{
				Status: noted, Check: check, Text: fmt.Sprintf("%s: %v", p.Socket(), err),
				Do: "nothing if it has ended: the next client replaces the socket; its log is " + p.Log(),
			})
			continue
		}
		_ = conn.Close()
		r.ok(check, "process %d at %s keeps %s for %s", w.PID, p.Socket(), tty.Count(w.Sessions, "session"),
			tty.Count(w.Clients, "client"))
	}
	for _, p := range daemon.OfOtherProtocols() {
		l, err := p.List(ctx, token)
		switch {
		case err == nil:
			r.ok(check, "process %d at %s, of version %s, keeps %s until they end; new clients of this version have another daemon",
				l.PID, p.Socket(), l.Build, tty.Count(len(l.Sessions), "session"))
		case !daemon.Absent(err):
			r.add(Finding{
				Status: noted, Check: check, Text: fmt.Sprintf("%s: %v", p.Socket(), err),
				Do: "nothing, or end the process with the version of ptyctl that has started it",
			})
		}
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	var ends []Finding
	if runtime.GOOS != "windows" { // where / is a folder like any other
		ends = endsDaemons("/", name)
	}
	if why := daemon.Bound(); why != "" {
		ends = append(ends, Finding{
			Status: noted, Text: why, Do: "start ptyctl daemon elsewhere, for example by a task of the Task Scheduler at log on",
		})
	}
	if len(ends) > 0 {
		for _, f := range ends {
			f.Check = "daemon's life"
			r.add(f)
		}
		return
	}
	r.ok("daemon's life", "nothing is known here that ends all processes of a user at logout")
}

// endsDaemons returns a finding for each reason why a daemon would end too early, on the machine with its files at root.
func endsDaemons(root, userName string) (found []Finding) {
	const keep = "keep the container running apart from the client, for example with sleep infinity as its program " +
		"(docker run --init) and clients started by docker exec; or run ptyctl daemon outside"
	switch first := firstProcess(root); {
	case first == "", slices.Contains(inits, first):
	case slices.Contains(wrappers, first):
		found = append(found, Finding{
			Status: noted, Do: keep,
			Text: fmt.Sprintf("the first process here is %s: this is a container, which ends with the program that %s runs, "+
				"and then ends the daemon and its sessions", first, first),
		})
	default:
		found = append(found, Finding{
			Status: noted, Do: keep,
			Text: fmt.Sprintf("the first process here is %s, which is no init: this is a container, which ends with %s and then "+
				"ends the daemon and its sessions", first, first),
		})
	}
	if killsUserProcesses(root, userName) {
		f := Finding{
			Status: noted,
			Text:   "logind ends all processes of a session at logout (KillUserProcesses=yes), also a daemon that a client has started",
			Do: "run the daemon as a unit of yours, with packaging/systemd/ptyctl-daemon.socket and .service, " +
				"which logind leaves alone",
		}
		if _, err := os.Stat(filepath.Join(root, "var/lib/systemd/linger", userName)); err != nil || userName == "" {
			f.Do += "; and so that the unit stays after the last logout: loginctl enable-linger"
		}
		found = append(found, f)
	}
	return found
}

// inits are programs that are made to be the first process, and live as long as the machine does.
var inits = []string{"systemd", "init", "launchd", "s6-svscan", "runit", "openrc-init", "procd", "busybox", "pause"}

// wrappers are first processes of containers that run one program, and end with it.
var wrappers = []string{"tini", "dumb-init", "docker-init", "catatonit", "podman-init", "conmon"}

// firstProcess returns the name of process 1; empty: it is not known.
func firstProcess(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "proc/1/comm"))
	if err != nil {
		return ""
	}
	return tty.Printable(strings.TrimSpace(string(text)))
}

// killsUserProcesses reports whether logind.conf(5) says so for a user. Without an entry there, the builder of the
// system has decided; all common systems have decided against it.
func killsUserProcesses(root, userName string) bool {
	if _, err := os.Stat(filepath.Join(root, "run/systemd/system")); err != nil {
		return false // another init
	}
	only, except := strings.Fields(logindValue(root, "KillOnlyUsers", "")),
		strings.Fields(logindValue(root, "KillExcludeUsers", "root"))
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"},
		strings.ToLower(logindValue(root, "KillUserProcesses", "no"))) &&
		!slices.Contains(except, userName) && (len(only) == 0 || slices.Contains(only, userName))
}

// logindValue returns the value of a key of logind.conf(5): the last one in its files, or otherwise.
func logindValue(root, key, otherwise string) string {
	folders := []string{"etc", "run", "usr/local/lib", "usr/lib"}
	var files []string
	parts := make(map[string]string) // by name: of two files with one name the first folder's counts
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(root, dir, "systemd/logind.conf")); err == nil && len(files) == 0 {
			files = append(files, filepath.Join(dir, "systemd/logind.conf"))
		}
		found, _ := filepath.Glob(filepath.Join(root, dir, "systemd/logind.conf.d/*.conf"))
		for _, f := range found {
			if name := filepath.Base(f); parts[name] == "" {
				parts[name], _ = filepath.Rel(root, f)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		files = append(files, parts[name])
	}
	last := otherwise
	for _, name := range files {
		if value, ok := lastValue(filepath.Join(root, name), key); ok {
			last = value
		}
	}
	return last
}

// lastValue returns the last value of a key in a file of systemd.
func lastValue(path, key string) (value string, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, v, found := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if found && strings.TrimSpace(name) == key {
			value, ok = strings.TrimSpace(v), true
		}
	}
	return value, ok
}
