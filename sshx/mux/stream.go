package mux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// A Stream is a direct-tcpip channel: a term.Stream without a pipe between its channel and its user, who copies much
// and has no deadlines.
type Stream struct {
	ssh.Channel
	k       *Link
	closed  chan struct{} // closed when both sides have closed the channel
	reading sync.Mutex    // held by Read: of two that wait, the library wakes one
}

// Read implements term.Stream.
func (s *Stream) Read(p []byte) (int, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.Channel.Read(p)
}

// Forward opens a connection from the far side of the link to host and port (RFC 4254 section 7.2). It implements
// term.Forwarder.
func (k *Link) Forward(ctx context.Context, host string, port int) (*Stream, error) {
	ch, reqs, err := k.openChannel(ctx, "direct-tcpip", directTCPIP(host, port))
	if refused, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
		return nil, k.notForwarded(net.JoinHostPort(host, strconv.Itoa(port)), refused)
	}
	switch {
	case err == nil:
		s := &Stream{Channel: ch, k: k, closed: make(chan struct{})}
		k.wg.Go(func() {
			ssh.DiscardRequests(reqs)
			close(s.closed)
		})
		return s, nil
	case ctx.Err() != nil:
		return nil, k.unanswered(ctx, "a connection")
	default:
		return nil, k.notOpened(ctx, err)
	}
}

// notForwarded is the error of a server that has not made a connection.
func (k *Link) notForwarded(address string, refused *ssh.OpenChannelError) error {
	e := &term.Error{Err: refused, Kind: term.ConnectFailed}
	switch refused.Reason {
	case ssh.Prohibited, ssh.UnknownChannelType:
		e.Kind = term.Unsupported
		e.Msg = fmt.Sprintf("%s does not forward to %s: %s (%s); its administrator may allow it (AllowTcpForwarding, PermitOpen "+
			"and DisableForwarding in sshd_config, or the options of your key in authorized_keys there)",
			k.Name, address, refused.Message, refused.Reason)
	default:
		e.Msg = fmt.Sprintf("%s did not connect to %s: %s (%s)", k.Name, address, refused.Message, refused.Reason)
	}
	return e
}

// directTCPIP is the payload of the request for such a channel. The address of the client is not sent.
func directTCPIP(host string, port int) []byte {
	return ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{host, uint32(port), "127.0.0.1", 0})
}

// Close implements term.Stream. It does not wait: a frozen server accepts no packet. It discards unread data of the
// server, which would otherwise stay in memory until the server confirms the close: a hostile server never does.
func (s *Stream) Close() error {
	s.k.wg.Go(func() { _ = s.Channel.Close() })
	for _, unread := range []io.Reader{onlyReader{s}, s.Stderr()} {
		s.k.wg.Go(func() { _, _ = io.Copy(io.Discard, unread) })
	}
	return nil
}

// Closed implements term.Stream.
func (s *Stream) Closed() <-chan struct{} { return s.closed }

var _ term.Stream = (*Stream)(nil)
