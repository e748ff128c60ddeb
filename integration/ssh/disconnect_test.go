package ssh

import (
	"net"
	"reflect"
	"testing"
	_ "unsafe" // for go:linkname

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
)

// A disconnectMsg is SSH_MSG_DISCONNECT (RFC 4253 section 11.1).
type disconnectMsg struct {
	Reason   uint32 `sshtype:"1"`
	Message  string
	Language string
}

// sendMessage sends any message on an established connection. x/crypto/ssh has no exported function for it: its own
// servers close a connection without a word.
//
//go:linkname sendMessage golang.org/x/crypto/ssh.(*mux).sendMessage
func sendMessage(mux uintptr, msg any) error

// disconnecting starts an SSH server that accepts every login and starts shells that only prompt. It disconnects a client
// with the text as soon as the shell gets input. The result is its port.
func disconnecting(t *testing.T, text string) int {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(lab.NewKey(t, "ed25519"))
	return lab.Listen(t, func(c net.Conn) {
		conn, chans, reqs, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(reqs)
		for open := range chans {
			channel, reqs, err := open.Accept()
			if err != nil {
				return
			}
			go func() {
				for r := range reqs {
					_ = r.Reply(true, nil)
				}
			}()
			go func() {
				_, _ = channel.Write([]byte("$ "))
				if _, err := channel.Read(make([]byte, 1)); err == nil {
					mux := reflect.ValueOf(conn.Conn).Elem().FieldByName("mux").Pointer()
					_ = sendMessage(mux, disconnectMsg{2, text, ""})
					_ = conn.Close()
				}
			}()
		}
	})
}

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
