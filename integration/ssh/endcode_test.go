package ssh

import (
	"testing"

	"ptyctl/internal/lab"
)

// TestEndCode: a program knows from one word how a session on a real server has ended: from the read that comes to the
// end of the output, from status, and from any later call.
func TestEndCode(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	const write = `{"action":"write","session_id":%s,"data":%s}`
	for _, tc := range []struct {
		want string
		end  func(id string)
	}{
		{"exited", func(id string) { c.Call(t, lab.ToolIO, write, id, "exit 3\r") }},
		{"killed", func(id string) { c.Call(t, lab.ToolIO, write, id, "kill -9 $$\r") }},
		{"lost", func(string) { lab.Kill(t, s.Sessions(t)) }},
		{"closed", func(id string) { c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id) }},
		{"idle", func(string) {}},
	} {
		open := lab.OpenSSH
		if tc.want == "idle" {
			open = open[:len(open)-1] + `,"timeouts":{"idle_timeout_ms":100}}`
		}
		id := c.Call(t, lab.ToolSession, open, s.Port, s.User).SessionID
		tc.end(id)
		read := c.Call(t, lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":"0","until_regex":"no such output","timeout_ms":20000}`, id)
		if read.EndCode != tc.want {
			t.Errorf("read at the end = %s, want end_code %q", read.Text, tc.want)
		}
		status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
		if status.EndCode != tc.want || status.Session.EndCode != tc.want {
			t.Errorf("status after the end = %s, want end_code %q", status.Text, tc.want)
		}
		if own := tc.want == "exited" || tc.want == "killed"; own != (status.Session.ExitCode != nil) {
			t.Errorf("%s: status after the end = %s, want an exit_code: %t", tc.want, status.Text, own)
		}
		c.Refused(t, "ALREADY_CLOSED", lab.ToolIO, write, id, "x")
	}
}
