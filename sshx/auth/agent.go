package auth

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/crypto/ssh/agent"
)

// AgentAt is where an SSH agent is. The zero value is no agent.
type AgentAt struct {
	Socket string      // path of its Unix socket, or on Windows of its named pipe
	Agent  agent.Agent // an agent in this process, in place of Socket
}

// Any reports whether there is an agent.
func (a AgentAt) Any() bool { return a.Agent != nil || a.Socket != "" }

// String returns the agent's name in messages; empty without an agent.
func (a AgentAt) String() string {
	switch {
	case a.Agent != nil:
		return "the agent of this program"
	case a.Socket != "":
		return "the agent at " + a.Socket
	}
	return ""
}

// agentDialTimeout limits connecting to the agent's socket, which a live one accepts at once.
const agentDialTimeout = time.Second

// ErrNoAgent is the error of [AgentAt.Dial] if the agent that the system has by default does not run.
var ErrNoAgent = errors.New("neither the service ssh-agent nor Pageant runs")

// Dial returns a connection that speaks the agent's protocol (draft-ietf-sshm-ssh-agent). A call of Agent that has begun
// may last longer than the connection.
func (a AgentAt) Dial(ctx context.Context) (net.Conn, error) {
	if a.Agent == nil {
		ctx, cancel := context.WithTimeout(ctx, agentDialTimeout)
		defer cancel()
		return dialSocket(ctx, a.Socket)
	}
	ours, its := net.Pipe()
	go func() { // ends with ours
		_ = agent.ServeAgent(a.Agent, its)
		_ = its.Close()
	}()
	return ours, nil
}
