package telnet

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// devices offers the set for network devices.
const devices = "[server]\ntoolsets = ['core', 'device']"

// A network is a device that a scripted agent works on, as docs/devices.md tells it to.
type network struct {
	*lab.Client
	t      *testing.T
	server *lab.TelnetServer
	device *lab.Device
	id     string
}

// openDevice opens a session on a device and logs in.
func openDevice(t *testing.T) *network {
	t.Helper()
	s, d := lab.StartDevice(t)
	n := &network{Client: lab.HomeFor(t, nil, devices).Connect(t), t: t, server: s, device: d}
	n.id, _ = n.OpenTelnet(t, s, `,"expect":{"profile":"cisco_ios"}`)
	n.LoginTelnet(t, s, n.id)
	return n
}

// run runs commands, which must end with the prompt.
func (n *network) run(commands ...string) (last lab.Result) {
	n.t.Helper()
	for _, cmd := range commands {
		last = n.Call(n.t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"timeout_ms":20000}`, n.id, cmd)
		if last.DoneReason != "prompt_seen" {
			n.t.Fatalf("exec of %q: %s, want its end", cmd, last.Text)
		}
	}
	return last
}

// config calls an action of the tool for settings.
func (n *network) config(more string) lab.Result {
	n.t.Helper()
	return n.Call(n.t, lab.ToolConfig, `{"session_id":%s,`+more+`}`, n.id)
}

// back waits for the far side to end the session, reopens it for as long as that takes, and logs in again.
func (n *network) back() {
	t := n.t
	t.Helper()
	r := n.Call(t, lab.ToolSession, `{"action":"reopen","session_id":%s,"wait_ms":600000}`, n.id)
	if r.State != "connecting" {
		t.Fatalf("reopen of a device that is down: %s", r.Text)
	}
	gap := r.Cursor
	n.device.TimePasses(t)
	n.server.Restart(t)
	r = n.Call(t, lab.ToolSession, `{"action":"wait","on":[{"session_id":%s,"until_state":"open"}],"timeout_ms":40000}`, n.id)
	if len(r.Fired) != 1 || r.Fired[0].State != "open" {
		t.Fatalf("wait for the device: %s", r.Text)
	}
	logInFrom(t, n.Client, n.server, n.id, gap)
}

// TestReload changes a device without saving, reloads it, answers its questions, waits until it is back, and compares
// its configuration with the one before.
func TestReload(t *testing.T) {
	t.Parallel()
	n := openDevice(t)
	n.config(`"action":"snapshot","name":"before"`)
	n.run("configure terminal", "hostname core", "end")
	if r := n.config(`"action":"diff","from":"before"`); !strings.Contains(r.Text, `-hostname r1\n+hostname core\n`) {
		t.Errorf("diff after a change: %s, want the other name", r.Text)
	}
	r := n.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"reload"}`, n.id)
	for _, question := range []struct{ asks, answer string }{
		{"System configuration has been modified. Save? [yes/no]: ", "no\r"}, {"Proceed with reload? [confirm]", "\r"},
	} {
		if r.WaitingFor.Kind != "yes_no" || r.WaitingFor.Text != question.asks {
			t.Fatalf("reload waits for %s, want %q", r.Text, question.asks)
		}
		n.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, n.id, question.answer)
		r = n.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, n.id, r.ExecID)
	}
	if r.DoneReason != "eof" || r.ExitCodeReason != "connection_lost" && r.ExitCodeReason != "session_ended" {
		t.Errorf("reload ends with %s, want eof", r.Text)
	}
	n.back()
	if r := n.config(`"action":"diff","from":"before"`); !strings.Contains(r.Text, `"equal":true`) {
		t.Errorf("diff after the reload: %s, want equal, as the change was not saved", r.Text)
	}
	n.Close(t, n.id)
}

// TestUnconfirmedChange makes a change that cuts the way to the device, by the steps that the session's profile
// describes. It cannot be confirmed, and the device undoes it.
func TestUnconfirmedChange(t *testing.T) {
	t.Parallel()
	n := openDevice(t)
	n.config(`"action":"snapshot","name":"before"`)
	trial := n.config(`"action":"get","minutes":1`).Trials[0]
	n.run(trial.Begin...)
	n.run("hostname core", "interface mgmt0")
	r := n.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"shutdown"}`, n.id)
	if r.DoneReason != "eof" {
		t.Fatalf("the line that cuts the way: %s, want eof", r.Text)
	}
	n.back()
	if r := n.run(trial.Pending); !strings.Contains(r.Stdout, "No Rollback Confirmed Change pending") {
		t.Errorf("%s: %s, want that nothing is pending", trial.Pending, r.Text)
	}
	if r := n.config(`"action":"diff","from":"before"`); !strings.Contains(r.Text, `"equal":true`) {
		t.Errorf("diff after the device has undone the change: %s, want equal", r.Text)
	}
	n.Close(t, n.id)
}
