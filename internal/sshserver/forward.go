package sshserver

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// forwardDialTimeout limits the connection to the target of a direct-tcpip channel.
const forwardDialTimeout = 10 * time.Second

// openForward connects a direct-tcpip channel (RFC 4254 section 7.2) to its target.
func (c *connection) openForward(ch ssh.NewChannel) {
	var target struct {
		Host       string
		Port       uint32
		Originator string
		OrigPort   uint32
	}
	switch err := ssh.Unmarshal(ch.ExtraData(), &target); {
	case err != nil:
		reject(ch, ssh.ConnectionFailed, "malformed direct-tcpip request")
	case c.server.faults.Load().RefuseForward != "":
		reject(ch, ssh.ConnectionFailed, c.server.faults.Load().RefuseForward)
	case !c.server.config.AllowForward:
		// The reason and the text of sshd with "AllowTcpForwarding no".
		reject(ch, ssh.Prohibited, "open failed")
	case target.Port > 65535:
		reject(ch, ssh.ConnectionFailed, "no such port")
	default:
		address := net.JoinHostPort(target.Host, strconv.Itoa(int(target.Port)))
		c.server.wg.Go(func() { c.forward(ch, address) })
	}
}

// forward dials the target, accepts the channel and relays between them.
func (c *connection) forward(ch ssh.NewChannel, address string) {
	ctx, cancel := context.WithTimeout(c.ctx, forwardDialTimeout)
	defer cancel()
	target, err := c.server.config.Dial(ctx, "tcp", address)
	if err != nil {
		reject(ch, ssh.ConnectionFailed, dialFailure(err))
		return
	}
	defer target.Close()
	c.server.stats.add(func(n *Stats) { n.Forwards++ })
	defer c.server.stats.add(func(n *Stats) { n.Forwards-- })
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	c.server.wg.Go(func() {
		ssh.DiscardRequests(requests)
		target.Close() // the requests end when the channel is closed, not at its EOF
	})
	relay(channel, target)
}

// dialFailure returns the reason in one phrase, like sshd with strerror(3).
func dialFailure(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "Connection timed out"
	default:
		return "Connection failed"
	}
}

// relay copies in both directions until both have ended, and closes both ends. The end of
// one direction is passed on as EOF while the other continues.
func relay(channel ssh.Channel, target net.Conn) {
	var out sync.WaitGroup
	out.Go(func() {
		_, err := io.Copy(channel, target)
		if err != nil || channel.CloseWrite() != nil {
			channel.Close()
		}
	})
	_, err := io.Copy(target, channel)
	half, ok := target.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		target.Close()
	}
	out.Wait()
	channel.Close()
}
