package sshx

import (
	"context"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
)

// agentChannel and agentRequest are OpenSSH's names (PROTOCOL.agent, "Agent
// forwarding").
const (
	agentChannel = "auth-agent@openssh.com"
	agentRequest = "auth-agent-req@openssh.com"
)

// An agentForwarding lets the server use an agent of this machine.
type agentForwarding struct{ socket string }

// accept connects one channel of the server to the agent.
func (a *agentForwarding) accept(k *link, c ssh.NewChannel) {
	d := net.Dialer{Timeout: agentTimeout}
	conn, err := d.DialContext(k.ctx, "unix", a.socket)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, "the agent cannot be reached")
		return
	}
	ch, reqs, err := c.Accept()
	if err != nil {
		_ = conn.Close()
		return
	}
	// The end of the link must end the agent's connection as well.
	stop := context.AfterFunc(k.ctx, func() { _ = conn.Close() })
	k.wg.Go(func() { ssh.DiscardRequests(reqs) })
	k.wg.Go(func() {
		defer stop()
		_, _ = io.Copy(ch, conn)
		_ = ch.Close()
		_ = conn.Close()
	})
	k.wg.Go(func() {
		_, _ = io.Copy(conn, ch)
		if w, ok := conn.(*net.UnixConn); ok {
			_ = w.CloseWrite()
		}
	})
}
