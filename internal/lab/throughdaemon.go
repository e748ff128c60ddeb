package lab

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab/system"
	"ptyctl/internal/leaktest"
)

// DaemonVariable makes the tests of a package use a daemon: see ThroughDaemon.
const DaemonVariable = "PTYCTL_TESTS_DAEMON"

// ThroughDaemon reports whether each client on stdio is a shim. Then a Home has a daemon of its own, which ends with the
// test, and Program.PID is the daemon's.
var ThroughDaemon = os.Getenv(DaemonVariable) != ""

// throughDaemon returns the arguments of a call of ptyctl as ThroughDaemon has them.
func throughDaemon(args []string) []string {
	if !ThroughDaemon || len(args) == 0 || args[0] != "mcp" ||
		slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"http", "both", "--daemon"}, a) }) {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "--daemon")
}

// servedBy matches the line of a shim's log that names its daemon.
var servedBy = regexp.MustCompile(`the daemon serves this client.*"daemon": ([0-9]+)`)

// findDaemon waits until the shim is served, and finds the daemon's process. A shim that ends before has none.
func (p *Program) findDaemon() {
	p.TB.Helper()
	for begin := time.Now(); p.running(); time.Sleep(5 * time.Millisecond) {
		if found := servedBy.FindStringSubmatch(p.Log.String()); found != nil {
			p.PID, _ = strconv.Atoi(found[1])
			break
		}
		if time.Since(begin) < time.Second {
			continue
		}
		// Its log is a file, or has only errors.
		if all := p.home.Daemons(p.TB); len(all) == 1 && all[0].Clients > 0 {
			p.PID = all[0].PID
			break
		}
		if time.Since(begin) > Patience {
			p.TB.Fatalf("no daemon serves the shim after %v; its log:\n%s", Patience, p.Log)
		}
	}
	p.home.shims = append(p.home.shims, p)
}

// KillEngine kills the process that has the sessions, and p.
func (p *Program) KillEngine() {
	p.TB.Helper()
	p.Killed, p.home.killed = true, true
	if p.far != nil {
		p.far.Kill()
		p.Kill()
		return
	}
	if err := system.Kill(p.PID, syscall.SIGKILL); err != nil {
		p.TB.Fatal(err)
	}
	if p.PID != p.own {
		awaitEnd(p.TB, "the daemon, killed,", p.PID)
		p.Kill()
	}
	<-p.Ended
}

// StopDaemons ends the daemons of h now, if ThroughDaemon: their sessions outlive the clients.
func (h *Home) StopDaemons(tb testing.TB) {
	tb.Helper()
	if !ThroughDaemon {
		return
	}
	for _, p := range h.shims {
		p.Killed = p.Killed || p.running() // such a shim fails, as it should
	}
	EndDaemonsOf(tb, h.daemonStatus())
}

// EndEngine ends the process that has the sessions, if that is another than p: as StopDaemons does, or, if ThroughCluster,
// the other node.
func (p *Program) EndEngine() {
	p.TB.Helper()
	p.endFar()
	p.home.StopDaemons(p.TB)
}

// EngineLog is the log of the process that has the sessions.
func (p *Program) EngineLog() string {
	p.TB.Helper()
	switch {
	case p.far != nil:
		return p.far.Log.String()
	case p.PID == p.own:
		return p.Log.String()
	}
	return p.home.DaemonLogs(p.TB)
}

// RunThroughDaemon runs tests of the package once more, in a process that has DaemonVariable. There it does nothing.
func RunThroughDaemon(t *testing.T, names ...string) {
	t.Helper()
	if ThroughDaemon || ThroughCluster {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.count=1", "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), DaemonVariable+"=1", programVariable+"="+Binary, plainVariable+"="+PlainBinary)
	out, err := cmd.CombinedOutput()
	leaktest.Output(t, "tests through a daemon", out)
	if err != nil {
		t.Errorf("with %s=1 the tests end with %v:\n%s", DaemonVariable, err, Tail(string(out), 64<<10))
	}
	for _, name := range names {
		if err == nil && !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("with %s=1 there is no test %s", DaemonVariable, name)
		}
	}
}
