package mux

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
	AgentRequest = "auth-agent-req@openssh.com"
)

// acceptAgent connects one channel of the server to the agent of this machine.
func (k *Link) acceptAgent(c ssh.NewChannel) {
	conn, err := k.DialAgent(k.ctx)
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
