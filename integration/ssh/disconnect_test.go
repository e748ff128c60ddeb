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
