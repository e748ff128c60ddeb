package lab

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

// A Daemon is one that ptyctl daemon status shows.
type Daemon struct {
	PID      int
	Clients  int
	Sessions int
}

// DaemonsOf returns the daemons in the runtime folder of an environment.
func DaemonsOf(tb testing.TB, program string, env []string) []Daemon {
	tb.Helper()
	cmd := exec.Command(program, "daemon", "status", "--json")
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("daemon status: %v", err)
	}
	var all []Daemon
	if err := json.Unmarshal(out, &all); err != nil {
		tb.Fatalf("daemon status: %q: %v", out, err)
	}
	return all
}

// EndDaemonsOf ends those daemons, and waits for their ends.
func EndDaemonsOf(tb testing.TB, program string, env []string) {
	tb.Helper()
	for _, d := range DaemonsOf(tb, program, env) {
		if err := syscall.Kill(d.PID, syscall.SIGTERM); err != nil {
			tb.Errorf("end the daemon %d: %v", d.PID, err)
			continue
		}
		for begin := time.Now(); syscall.Kill(d.PID, 0) == nil && Alive(tb, d.PID); time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > Patience {
				tb.Errorf("the daemon %d still runs %v after SIGTERM", d.PID, Patience)
				break
			}
		}
	}
}

// Alive reports whether a process runs, and is no zombie.
func Alive(tb testing.TB, pid int) bool {
	tb.Helper()
	for _, p := range Processes(tb) {
		if p.PID == pid {
			return p.state != 'Z'
		}
	}
	return false
}

// Daemons returns the daemons of h.
func (h *Home) Daemons(tb testing.TB) []Daemon {
	tb.Helper()
	return DaemonsOf(tb, h.Program, h.Command().Env)
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
	env, program := h.Command().Env, h.Program
	tb.Cleanup(func() {
		EndDaemonsOf(tb, program, env)
		log := h.DaemonLogs(tb)
		leaktest.Output(tb, "daemon.log", log)
		if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			tb.Errorf("the daemon's log reports a fault:\n%s", Tail(log, 64<<10))
		} else if tb.Failed() {
			tb.Logf("log of the daemons, its end:\n%s", Tail(log, 8<<10))
		}
	})
}
