package lab

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab/system"
	"ptyctl/internal/leaktest"
)

// A Daemon is one that ptyctl daemon status shows.
type Daemon struct {
	PID      int
	Clients  int
	Sessions int
}

// DaemonsOf returns the daemons that a command of an environment shows, which is ptyctl daemon status --json.
func DaemonsOf(tb testing.TB, status *exec.Cmd) []Daemon {
	tb.Helper()
	out, err := status.Output()
	if err != nil {
		tb.Fatalf("daemon status: %v", err)
	}
	var all []Daemon
	if err := json.Unmarshal(out, &all); err != nil {
		tb.Fatalf("daemon status: %q: %v", out, err)
	}
	return all
}

// EndDaemonsOf ends those daemons, and waits for their ends and those of their programs.
func EndDaemonsOf(tb testing.TB, status *exec.Cmd) {
	tb.Helper()
	for _, d := range DaemonsOf(tb, status) {
		children := Descendants(tb, d.PID)
		if err := system.Kill(d.PID, syscall.SIGTERM); err != nil {
			tb.Errorf("end the daemon %d: %v", d.PID, err)
			continue
		}
		awaitEnd(tb, "the daemon, after SIGTERM,", d.PID)
		for _, c := range children {
			awaitEnd(tb, "a program of the ended daemon, "+c.Command+",", c.PID)
		}
	}
}

// awaitEnd waits until a process has ended.
func awaitEnd(tb testing.TB, what string, pid int) {
	tb.Helper()
	for begin := time.Now(); system.Kill(pid, 0) == nil && Alive(tb, pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > Patience {
			tb.Errorf("%s still runs as process %d after %v", what, pid, Patience)
			return
		}
	}
}

// Alive reports whether a process runs and is not a zombie.
func Alive(tb testing.TB, pid int) bool {
	tb.Helper()
	for _, p := range Processes(tb) {
		if p.PID == pid {
			return p.state != 'Z'
		}
	}
	return false
}

// daemonStatus is the command that shows the daemons of h, as its owner calls it.
func (h *Home) daemonStatus() *exec.Cmd {
	plain := *h
	plain.Wrap = nil
	return plain.Command("daemon", "status", "--json")
}

// Daemons returns the daemons of h.
func (h *Home) Daemons(tb testing.TB) []Daemon {
	tb.Helper()
	return DaemonsOf(tb, h.daemonStatus())
}

// DaemonLogs returns the logs of the daemons of h.
func (h *Home) DaemonLogs(tb testing.TB) string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(h.RuntimeDir, "ptyctl", "d-*.log"))
	if err != nil {
		tb.Fatal(err)
	}
	text := ""
	for _, name := range names {
		text += string(ReadFile(tb, name))
	}
	return text
}

// EndDaemons ends the daemons of h at the end of the test, after its clients, and searches their logs for secrets.
func (h *Home) EndDaemons(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(func() {
		if sockets, err := filepath.Glob(filepath.Join(h.RuntimeDir, "ptyctl", "d-*.sock")); err != nil || len(sockets) == 0 {
			return
		}
		EndDaemonsOf(tb, h.daemonStatus())
		if ThroughDaemon {
			checkRecordings(tb, h.Recordings, func(int) bool { return true }, !h.killed)
		}
		log := h.DaemonLogs(tb)
		leaktest.Output(tb, "daemon.log", log)
		if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			tb.Errorf("the daemon's log reports a fault:\n%s", Tail(log, 64<<10))
		} else if tb.Failed() {
			tb.Logf("log of the daemons, its end:\n%s", Tail(log, 8<<10))
		}
	})
}
