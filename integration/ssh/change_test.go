package ssh

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestConfirmedChange makes the same change twice, by the steps that the session's profile describes. The first time it
// is not confirmed, and the device undoes it; the second time it is.
func TestConfirmedChange(t *testing.T) {
	t.Parallel()
	d := lab.NewDevice(t)
	s := lab.StartSSHD(t, "ForceCommand "+d.Program)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[server]\ntoolsets = ['core', 'device']").Connect(t)
	id := c.Open(t, s)
	c.Call(t, lab.ToolConfig, `{"action":"expect","session_id":%s,"expect":{"profile":"cisco_ios"}}`, id)
	run := func(commands ...string) (last lab.Result) {
		t.Helper()
		for _, cmd := range commands {
			last = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"timeout_ms":20000}`, id, cmd)
			if last.DoneReason != "prompt_seen" {
				t.Fatalf("exec of %q: %s, want its end", cmd, last.Text)
			}
		}
		return last
	}
	differs := func() bool {
		t.Helper()
		r := c.Call(t, lab.ToolConfig, `{"action":"diff","session_id":%s,"from":"before"}`, id)
		if strings.Contains(r.Text, `"equal":true`) == strings.Contains(r.Text, `-hostname r1\n+hostname core\n`) {
			t.Fatalf("diff: %s, want equal or the other name", r.Text)
		}
		return !strings.Contains(r.Text, `"equal":true`)
	}
	c.Call(t, lab.ToolConfig, `{"action":"snapshot","session_id":%s,"name":"before"}`, id)
	trial := c.Call(t, lab.ToolConfig, `{"action":"get","session_id":%s,"minutes":1}`, id).Trials[0]
	change := func() {
		t.Helper()
		run(trial.Begin...)
		run("hostname core")
		run(trial.Apply...)
		if r := run(trial.Pending); !strings.Contains(r.Stdout, "Time configured") {
			t.Errorf("%s: %s, want that the change is pending", trial.Pending, r.Text)
		}
	}
	from := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"timeout_ms":1}`, id).NextCursor
	change()
	d.TimePasses(t)
	r := c.Call(t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":%s,"until_regex":"Start rolling to: [^\\n]*\\nr1#$","timeout_ms":20000}`, id, from)
	if !r.Matched {
		t.Fatalf("the device does not undo the change: %s", r.Text)
	}
	if differs() {
		t.Error("the change that was not confirmed is still there")
	}
	change()
	run(trial.Confirm...)
	if r := run(trial.Pending); !strings.Contains(r.Stdout, "No Rollback Confirmed Change pending") {
		t.Errorf("%s after %q: %s, want that nothing is pending", trial.Pending, trial.Confirm, r.Text)
	}
	if !differs() {
		t.Error("the change that was confirmed is gone")
	}
	c.Close(t, id)
}
