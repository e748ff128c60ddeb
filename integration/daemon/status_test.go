package daemon

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// daemon status names the clients of each daemon, with their programs, folders, processes and sessions.
func TestStatus(t *testing.T) {
	h := newHome(t)
	one := h.Converse(t, "--daemon")
	folder := h.Dir
	h.Dir = t.TempDir()
	two := h.Converse(t, "--daemon")
	for range 2 {
		one.NextResult(one.Ask(lab.ToolSession, openBash))
	}
	out, said, status := h.Run(t, "daemon", "status", "--json")
	var all []struct {
		PID   int
		Shims []struct {
			Shim, Program, Folder string
			PID, Sessions         int
			Since                 time.Time
		}
	}
	if err := json.Unmarshal([]byte(out), &all); status != 0 || err != nil || len(all) != 1 || len(all[0].Shims) != 2 {
		t.Fatalf("daemon status --json: status %d, %q, %q, want one daemon with two clients", status, out, said)
	}
	for i, want := range []struct {
		folder        string
		pid, sessions int
	}{{folder, one.Cmd.Process.Pid, 2}, {h.Dir, two.Cmd.Process.Pid, 0}} {
		s := all[0].Shims[i]
		if !strings.HasPrefix(s.Shim, "shim-") || s.Program != "integration" || s.Folder != want.folder || s.PID != want.pid ||
			s.Sessions != want.sessions || time.Since(s.Since) > time.Hour {
			t.Errorf("client %d is %+v, want it of integration in %s, process %d, with %d sessions", i, s, want.folder, want.pid,
				want.sessions)
		}
	}
	out, _, _ = h.Run(t, "daemon", "status")
	for _, part := range []string{"FOLDER", all[0].Shims[0].Shim, all[0].Shims[1].Shim, itoa(one.Cmd.Process.Pid)} {
		if !strings.Contains(out, part) {
			t.Errorf("daemon status prints %q, want %q in it", out, part)
		}
	}
}

// Where people need a token, so do stop and reload, and the names of clients.
func TestManageWithToken(t *testing.T) {
	h := newHome(t, lab.ReadWrite, "control_auth_token = '"+leaktest.Secret(t, "of-people-1138")+"'")
	c := h.Converse(t, "--daemon")
	d := theDaemon(t, h)
	const key = "PTYCTL_SERVER_CONTROL_CONTROL_AUTH_TOKEN"
	for _, token := range []string{"", leaktest.Secret(t, "of-others-1138")} {
		h.Env = append(h.Env[:0:0], key+"="+token)
		for _, what := range []string{"stop", "reload"} {
			if _, said, status := h.Run(t, "daemon", what); status != 1 || !strings.Contains(said, "control_auth_token") {
				t.Errorf("daemon %s with the token %q: status %d, %q; want a refusal that names the key", what, token, status, said)
			}
		}
		if out, _, status := h.Run(t, "daemon", "status"); status != 0 || !strings.Contains(out, itoa(d.PID)) ||
			strings.Contains(out, "shim-") {
			t.Errorf("daemon status with the token %q: status %d, %q; want the daemon without its clients", token, status, out)
		}
	}
	if trail := string(lab.ReadFile(t, h.Audit)); strings.Count(trail, `"event":"stop","outcome":"AUTH_FAILED"`) != 2 {
		t.Errorf("the audit log has %s, want both refusals", trail)
	}
	h.Env = nil
	if out, said, status := h.Run(t, "daemon", "reload", "--config", h.Config); status != 0 || !strings.Contains(out, "nothing has changed") {
		t.Errorf("daemon reload with the token: status %d, %q, %q", status, out, said)
	}
	if out, _, _ := h.Run(t, "daemon", "status", "--config", h.Config); !strings.Contains(out, "shim-") {
		t.Errorf("daemon status with the token prints %q, want the client", out)
	}
	c.Killed = true
	if out, said, status := h.Run(t, "daemon", "stop", "--config", h.Config); status != 0 || !strings.Contains(out, "has ended") {
		t.Errorf("daemon stop with the token: status %d, %q, %q", status, out, said)
	}
}
