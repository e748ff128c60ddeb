package sshserver

import (
	"context"
	"encoding/binary"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// connection is one authenticated client.
type connection struct {
	server *Server
	user   string
	ctx    context.Context // ends with the connection

	mu       sync.Mutex // guards sessions
	sessions int        // session channels whose command has not ended
}

// serve runs g from the first byte to the last. addConn must have registered g.
func (s *Server) serve(g *gate) {
	defer s.removeConn(g)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()

	if !s.greet(g) {
		_, _ = io.Copy(io.Discard, g) // until the client gives up or the server closes
		return
	}
	sc, channels, requests, err := ssh.NewServerConn(g, s.serverConfig(ctx))
	if err != nil {
		return // the client reports the reason
	}
	if s.faults.Load().FreezeAfterAuth {
		g.freeze()
	}
	s.stats.add(func(n *Stats) { n.Authenticated++ })

	c := &connection{server: s, user: sc.User(), ctx: ctx}
	s.wg.Go(func() { c.answerGlobalRequests(requests) })
	for ch := range channels {
		c.open(ch)
	}
}

// greet runs the Faults before the SSH protocol, and reports whether the protocol
// follows.
func (s *Server) greet(g *gate) bool {
	faults := s.faults.Load()
	for _, line := range faults.PreBanner {
		if _, err := io.WriteString(g, line+"\r\n"); err != nil {
			return false
		}
	}
	switch {
	case faults.CloseAfterAccept:
		g.Close()
		return false
	case faults.SilentAfterAccept:
		return false
	case faults.StallBanner:
		_, _ = io.WriteString(g, s.version()+"\r\n") // an error means that the client has closed the connection
		return false
	case faults.Disconnect != "":
		_, _ = io.WriteString(g, s.version()+"\r\n"+disconnect(faults.Disconnect))
		return false
	}
	return true
}

// disconnect returns the packet of SSH_MSG_DISCONNECT (RFC 4253 sections 6 and 11.1), as it is before a
// key exchange.
func disconnect(text string) string {
	payload := ssh.Marshal(struct {
		Reason   uint32 `sshtype:"1"`
		Message  string
		Language string
	}{2, text, ""})
	padding := 8 - (5+len(payload))%8
	if padding < 4 {
		padding += 8
	}
	packet := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	packet = append(packet, byte(padding))
	packet = append(packet, payload...)
	return string(append(packet, make([]byte, padding)...))
}

// version returns the identification string.
func (s *Server) version() string {
	if s.config.Version != "" {
		return s.config.Version
	}
	return "SSH-2.0-Go"
}

// answerGlobalRequests refuses every global request, like sshd for unknown ones. A client
// accepts any answer to keepalive@openssh.com.
func (c *connection) answerGlobalRequests(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply && !c.server.faults.Load().IgnoreGlobalRequests {
			_ = r.Reply(false, nil) // fails only on a closed connection
		}
	}
}

// open accepts or refuses one channel. It must not block, because the whole connection
// waits for it.
func (c *connection) open(ch ssh.NewChannel) {
	switch ch.ChannelType() {
	case "session":
		c.openSession(ch)
	case "direct-tcpip":
		c.openForward(ch)
	default:
		reject(ch, ssh.UnknownChannelType, "unknown channel type")
	}
}

// reject refuses ch. It fails only on a closed connection.
func reject(ch ssh.NewChannel, reason ssh.RejectionReason, message string) {
	_ = ch.Reject(reason, message)
}

// openSession accepts a session channel, within MaxSessions.
func (c *connection) openSession(ch ssh.NewChannel) {
	if c.server.faults.Load().HangChannelOpen {
		return
	}
	if why := c.server.faults.Load().RefuseSessions; why != "" {
		reject(ch, ssh.Prohibited, why)
		return
	}
	if !c.addSession() {
		// The reason and the text of sshd above MaxSessions.
		reject(ch, ssh.ConnectionFailed, "open failed")
		return
	}
	channel, requests, err := ch.Accept()
	if err != nil {
		c.removeSession()
		return
	}
	c.server.wg.Go(func() {
		defer c.removeSession()
		newSession(c, channel).serve(requests)
	})
}

// addSession counts a session. It returns false if there are too many.
func (c *connection) addSession() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions >= c.server.config.MaxSessions {
		return false
	}
	c.sessions++
	c.server.stats.add(func(n *Stats) { n.SessionsOpened++; n.SessionsOpen++ })
	return true
}

// removeSession ends the count of addSession.
func (c *connection) removeSession() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions--
	c.server.stats.add(func(n *Stats) { n.SessionsOpen-- })
}
