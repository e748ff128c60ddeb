package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

const (
	shims  = 50
	rounds = 10
)

// However many clients start at once, one daemon starts, and each client's calls are answered. The daemon is ended by
// force before the next round, so that each begins with a stale socket.
func TestOneDaemon(t *testing.T) {
	n := rounds
	if os.Getenv("PTYCTL_LONG") != "" {
		n = 10 * rounds
	}
	h := newHome(t)
	h.Program = lab.PlainBinary // the race detector makes each of them ten times as slow
	for round := range n {
		var wg sync.WaitGroup
		var ready sync.WaitGroup
		release := make(chan struct{})
		ready.Add(shims)
		for range shims {
			wg.Go(func() {
				ready.Done()
				<-release
				if err := converseOnce(h); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		ready.Wait()
		close(release)
		wg.Wait()
		d := theDaemon(t, h)
		if starts := strings.Count(h.DaemonLogs(t), "the daemon serves\t"); starts != round+1 {
			t.Fatalf("after round %d, %d daemons have served, want %d", round, starts, round+1)
		}
		if err := system.Kill(d.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(t, "the daemon", d.PID)
	}
}

// converseOnce starts a client, makes one call, and ends it.
func converseOnce(h *lab.Home) error {
	cmd := h.Command("mcp", "--daemon", "--config", h.Config)
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fail := func(what string, err error) error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("%s: %w; its log:\n%s", what, err, log.String())
	}
	const lines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"crowd","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ptyctl_session","arguments":{"action":"list"}}}` + "\n"
	if _, err := in.Write([]byte(lines)); err != nil {
		return fail("the call was not read", err)
	}
	r := bufio.NewReader(out)
	for id := 1; id <= 2; id++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return fail(fmt.Sprintf("no answer %d", id), err)
		}
		var a struct {
			ID     int
			Error  json.RawMessage
			Result struct{ IsError bool }
		}
		if err := json.Unmarshal(line, &a); err != nil || a.ID != id || a.Error != nil || a.Result.IsError {
			return fail(fmt.Sprintf("answer %d is %s", id, line), err)
		}
	}
	if err := in.Close(); err != nil {
		return fail("the end", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the client ended with %w; its log:\n%s", err, log.String())
	}
	return nil
}

// A client with another configuration of the engine gets a daemon of its own, or is refused with the difference. What
// belongs to the conversation makes no difference.
func TestOtherConfiguration(t *testing.T) {
	h := newHome(t)
	first := h.Converse(t, "--daemon")
	h.Converse(t, "--daemon", "--read-only", "--toolsets", "core,pty", "--results", "text")
	if d := theDaemon(t, h); d.Clients != 2 {
		t.Errorf("daemon status shows %d clients, want 2", d.Clients)
	}

	h.Env = append(h.Env, "PTYCTL_SESSION_MAX_SESSIONS=7")
	second := h.Converse(t, "--daemon")
	if all := h.Daemons(t); len(all) != 2 {
		t.Fatalf("daemon status shows %v, want two daemons", all)
	}
	const difference = `session.max_sessions is 7 here and the default there`
	second.Log.Wait(t, difference)
	if !strings.Contains(h.DaemonLogs(t), difference) {
		t.Errorf("the daemons' logs do not say %q", difference)
	}
	id := first.Ask(lab.ToolSession, `{"action":"list"}`)
	first.NextResult(id)

	h.Env = append(h.Env, "PTYCTL_SESSION_MAX_SESSIONS=8", "PTYCTL_DAEMON_ON_DIFFERENCE=refuse")
	h.Env = h.Env[1:]
	_, said, status := h.Run(t, "mcp", "--daemon", "--config", h.Config, "--log-level", "debug")
	if status != 2 || !strings.Contains(said, `session.max_sessions is 8 here and`) {
		t.Errorf("with on_difference = refuse: status %d, %q; want 2 and the difference", status, said)
	}
}

// A configuration that changes while the daemon starts is read again by the client, which reports the difference.
func TestConfigurationChanges(t *testing.T) {
	h := newHome(t)
	before := string(lab.ReadFile(t, h.Config))
	// The client has read its configuration when it waits for the lock.
	socket := socketOf(t, h)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(strings.TrimSuffix(socket, ".sock")+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := system.Lock(lock); err != nil {
		t.Fatal(err)
	}
	cmd := h.Command("mcp", "--daemon", "--config", h.Config)
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "the client waits for the lock", func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
		for _, f := range files {
			if to, _ := os.Readlink(f); to == lock.Name() {
				return true
			}
		}
		return false
	})
	h.Write(t, h.Config, before+"[session]\nmax_sessions = 9\n")
	_ = lock.Close()
	lab.Eventually(t, "a client of the daemon", func() bool {
		all := h.Daemons(t)
		return len(all) == 1 && all[0].Clients == 1
	})
	_ = in.Close()
	if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "session.max_sessions is 9 here and the default there") {
		t.Errorf("the client ended with %v, want that its log names the difference:\n%s", err, log.String())
	}
}

// A host that kills the process group of its MCP server does not end the daemon.
func TestGroupKilled(t *testing.T) {
	h := newHome(t)
	cmd := h.Command("mcp", "--daemon", "--config", h.Config)
	cmd.SysProcAttr = system.Leader(false)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "a client of the daemon", func() bool {
		all := h.Daemons(t)
		return len(all) == 1 && all[0].Clients == 1
	})
	d := theDaemon(t, h)
	if err := system.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	lab.Eventually(t, "the end of the client", func() bool { return theDaemon(t, h).Clients == 0 })
	if now := theDaemon(t, h); now.PID != d.PID {
		t.Errorf("the daemon is process %d, want %d", now.PID, d.PID)
	}
}

// Without clients and sessions the daemon ends, and removes its socket.
func TestIdle(t *testing.T) {
	h := newHome(t, "[daemon]", "idle_ms = 300")
	c := h.Converse(t, "--daemon")
	d := theDaemon(t, h)
	time.Sleep(600 * time.Millisecond) // a client keeps it
	c.NextResult(c.Ask(lab.ToolSession, `{"action":"list"}`))
	c.Drain()
	gone(t, "the idle daemon", d.PID)
	if all := h.Daemons(t); len(all) != 0 {
		t.Errorf("daemon status shows %v after the end, want none", all)
	}
	again := h.Converse(t, "--daemon")
	again.NextResult(again.Ask(lab.ToolSession, `{"action":"list"}`))
}

// A session keeps the daemon, also one without a client; when it is over, the daemon ends.
func TestIdleWithSession(t *testing.T) {
	h := newHome(t, "[session]", "closed_retention_ms = 100", "[daemon]", "idle_ms = 300")
	c := h.Converse(t, "--daemon")
	c.NextResult(c.Ask(lab.ToolSession, `{"action":"open","protocol":"local","argv":["sleep","1.5"]}`))
	id := c.NextResult(c.Ask(lab.ToolSession, `{"action":"open","protocol":"local","argv":["cat"]}`)).SessionID
	c.NextResult(c.Ask(lab.ToolSession, `{"action":"close","session_id":%s}`, id))
	d := theDaemon(t, h)
	c.Drain()
	time.Sleep(800 * time.Millisecond)
	if !lab.Alive(t, d.PID) {
		t.Error("the daemon has ended, want it to keep the session")
	}
	c = h.Converse(t, "--daemon")
	for _, s := range c.NextResult(c.Ask(lab.ToolSession, `{"action":"list"}`)).Sessions {
		c.NextResult(c.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, s.SessionID))
		c.NextResult(c.Ask(lab.ToolSession, `{"action":"close","session_id":%s}`, s.SessionID))
	}
	c.Drain()
	gone(t, "the daemon without sessions", d.PID)
}

// A service manager binds the socket, and starts the daemon when the first client connects (sd_listen_fds(3)). The daemon
// leaves the socket to it.
func TestActivated(t *testing.T) {
	h := newHome(t)
	h.Env = []string{"PTYCTL_AUDIT_PATH=" + h.Audit, "PTYCTL_LOG_LEVEL=debug"} // as its clients have it
	socket := socketOf(t, h)
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h.Wrap = []string{"/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh"}
	daemon := h.Command("daemon", "--config", h.Config, "--log-level", "debug")
	h.Wrap = nil
	daemon.ExtraFiles = []*os.File{f}
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c := h.Converse(t, "--daemon")
	if d := theDaemon(t, h); d.PID != daemon.Process.Pid {
		t.Errorf("process %d serves the client, want %d, which was given the socket", d.PID, daemon.Process.Pid)
	}
	r := c.NextResult(c.Ask(lab.ToolRun, `{"argv":["env"]}`))
	if strings.Contains(r.Stdout, "LISTEN_") {
		t.Errorf("a program of a session has %q, want no LISTEN_ variable", r.Stdout)
	}
	c.Drain()
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon ended with %v, want status 0; its log:\n%s", err, log.String())
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket of the service manager: %v, want it left alone", err)
	}
}
