package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// laterProgram builds the program with the next number of the protocol between shims and daemons.
func laterProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ptyctl")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w -X ptyctl/daemon.protocol=2", "-o", program,
		"ptyctl/cmd/ptyctl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return program
}

// A client of a version that cannot speak to the running daemon gets a daemon of its own. It is shown the sessions that
// were left in the old one where it works, as such, until they have ended.
func TestOtherProtocol(t *testing.T) {
	h := newHome(t, "[daemon]", "idle_ms = 300", "[session]", "closed_retention_ms = 100")
	one, other := h.Converse(t, "--daemon"), h.Converse(t, "--daemon")
	left := one.NextResult(one.Ask(lab.ToolSession, openBash)).SessionID
	held := other.NextResult(other.Ask(lab.ToolSession, openBash)).SessionID
	old := theDaemon(t, h)
	one.Drain()
	h.Program = laterProgram(t)
	h.Given[h.Program] = true

	two := h.Converse(t, "--daemon")
	two.Log.Wait(t, "the daemon of another version goes on")
	var mine string
	if r := two.NextResult(two.Ask(lab.ToolSession, openBash)); r.State != "open" {
		t.Fatalf("open in the new daemon: %s", r.Text)
	} else {
		mine = r.SessionID
	}
	var list struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
			Daemon    string
			Resumable bool
		}
		Count    int
		Warnings []string
	}
	listed := func(arguments string) {
		t.Helper()
		list.Sessions, list.Warnings = nil, nil
		r := two.NextResult(two.Ask(lab.ToolSession, arguments))
		if err := json.Unmarshal([]byte(r.Text), &list); err != nil {
			t.Fatal(err)
		}
	}
	listed(`{"action":"list"}`)
	if len(list.Sessions) != 2 || list.Count != 2 || list.Sessions[0].SessionID != mine || list.Sessions[0].Daemon != "" {
		t.Fatalf("list = %+v, want the client's own session and the one that was left, not %s, which a client has", list, held)
	}
	if s := list.Sessions[1]; s.SessionID != left || s.Daemon != "older" || s.Resumable {
		t.Errorf("list shows %+v, want %s of an older daemon, not resumable", s, left)
	}
	if len(list.Warnings) != 1 || !strings.Contains(list.Warnings[0], fmt.Sprintf("process %d", old.PID)) ||
		!strings.Contains(list.Warnings[0], "ptyctl attach --pid") {
		t.Errorf("list warns %q, want the process and how a person reaches it", list.Warnings)
	}
	listed(`{"action":"list","protocol":"ssh"}`)
	if len(list.Sessions) != 0 || len(list.Warnings) != 0 {
		t.Errorf("list of ssh = %+v, want nothing of a local session", list)
	}
	for _, call := range []string{`{"action":"adopt","session_id":%s}`, `{"action":"close","session_id":%s}`} {
		if r := two.NextResult(two.Ask(lab.ToolSession, call, left)); r.ErrorCode != "NOT_FOUND" ||
			!strings.Contains(r.Message, fmt.Sprintf("an older version of ptyctl keeps this session (dev, process %d)", old.PID)) ||
			!strings.Contains(r.Message, "ptyctl attach") {
			t.Errorf("%s of the old daemon's session: %s, want NOT_FOUND, where it is and what to do", call, r.Text)
		}
	}

	all := h.Daemons(t)
	if len(all) != 2 {
		t.Fatalf("daemon status of the new version shows %+v, want both daemons", all)
	}
	out, _, _ := h.Run(t, "daemon", "status")
	if !strings.Contains(out, itoa(old.PID)) || !strings.Contains(out, "(of protocol 1)") {
		t.Errorf("daemon status of the new version prints %q, want the old daemon as such", out)
	}

	// The hint still works for a person, and the old client still has its session.
	out, said, status := h.Run(t, "sessions", "--pid", itoa(old.PID))
	if status != 0 || !strings.Contains(out, left) {
		t.Errorf("sessions --pid of the old daemon: status %d, %s%s, want its sessions", status, out, said)
	}
	if r := other.NextResult(other.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"echo o''ld"}`, held)); !strings.Contains(r.Stdout, "old") {
		t.Errorf("exec of the old client: %s, want its output", r.Text)
	}

	// They vanish with the old daemon, which ends without sessions.
	other.NextResult(other.Ask(lab.ToolSession, `{"action":"close","session_id":%s}`, held))
	h.Program = lab.Binary
	again := h.Converse(t, "--daemon")
	for _, do := range []string{"adopt", "close"} {
		if r := again.NextResult(again.Ask(lab.ToolSession, `{"action":"`+do+`","session_id":%s}`, left)); r.ErrorCode != "" {
			t.Fatalf("%s by a client of the old version: %s", do, r.Text)
		}
	}
	other.Drain()
	again.Drain()
	gone(t, "the old daemon", old.PID)
	listed(`{"action":"list"}`)
	if len(list.Sessions) != 1 || len(list.Warnings) != 0 {
		t.Errorf("list after the end of the old daemon = %+v, want the client's own session alone", list)
	}
}
