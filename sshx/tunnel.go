package sshx

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"

	"ptyctl/sshx/mux"
	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// A Tunnel is a connection to a server without SSH, through the jump hosts and
// the proxy of a term.Target. Deadlines work as on TCP. Close releases the
// connections to the jump hosts.
type Tunnel struct {
	net.Conn
	pool    *pool
	jumps   []*jump
	via     *mux.Link // the last jump host; nil without one
	about   term.Description
	closing sync.Once
	closed  chan struct{}
	err     error // result of Close
}

// DialTCP connects to t.Host and t.Port, directly or through the jump hosts of
// t.SSH (ProxyJump, -J in ExtraArgs). The first jump host, or else the host
// itself, is reached through t.SSH.ProxyURL. ssh_config applies to the jump hosts
// as usual, but not to the target, which is not an SSH server.
//
// network is tcp, tcp4 or tcp6. p answers the questions of the jump hosts; with
// nil no question can be asked. The time limit is t.ConnectTimeout, or the
// operator's, and does not include the time of p; a deadline of ctx would include
// it. ctx limits dialing only. approve judges the plan; nil allows it. Errors are
// *term.Error.
func (n *Network) DialTCP(
	ctx context.Context,
	network string,
	t term.Target,
	p term.Prompter,
	approve term.Approve,
) (*Tunnel, error) {
	if t.Auth.NoInteractive {
		p = nil
	}
	r, err := plan.Tunnel(ctx, network, t, n.o.settings())
	if err != nil {
		return nil, err
	}
	w := newWatchdog(ctx, r.Limit)
	defer w.stop()
	if err := r.Judge(w.ctx, approve); err != nil {
		return nil, err
	}
	l := new(steps)
	if err := lookUpTooLate(w, l, r.Hops[0]); err != nil {
		l.end(false, stepDetail(err))
		return nil, connectError(w, l, r.Warnings, err)
	}
	end := len(r.Hops) - 1
	jumps, via, err := n.pool.connectJumps(w, r.Hops[:end], l, p)
	if err == nil {
		h := r.Hops[end]
		l.hop(h.Host, h.Port, "")
		var conn net.Conn
		if conn, err = connectTo(w, via, h, l); err == nil {
			l.end(true, "")
			return &Tunnel{
				Conn: conn, pool: n.pool, jumps: jumps, via: via, closed: make(chan struct{}),
				about: term.Description{Ladder: l.snapshot(), Warnings: append(r.Warnings, jumpWarnings(jumps, nil)...)},
			}, nil
		}
	}
	l.end(false, stepDetail(err))
	n.pool.releaseAll(jumps)
	return nil, connectError(w, l, r.Warnings, err)
}

// Through returns DialTCP as a dial function for other packages: to any address,
// through the jump hosts of t.
func (n *Network) Through(
	t term.Target,
	p term.Prompter,
) func(ctx context.Context, network, address string, approve term.Approve) (net.Conn, error) {
	return func(ctx context.Context, network, address string, approve term.Approve) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, &term.Error{Op: "open", Kind: term.InvalidArgument, Err: err, Msg: err.Error()}
		}
		if t.Port, err = strconv.Atoi(port); err != nil {
			return nil, term.Errorf(term.InvalidArgument, "port %q is not a number", port)
		}
		t.Host = host
		conn, err := n.DialTCP(ctx, network, t, p, approve)
		if err != nil {
			return nil, err // a nil *Tunnel would be a non-nil net.Conn
		}
		return conn, nil
	}
}

// NetConn returns the connection below: that of TCP if no jump host is on the way.
func (t *Tunnel) NetConn() net.Conn { return t.Conn }

// Describe implements term.Describer: the hops, the target last, and the
// warnings.
func (t *Tunnel) Describe() term.Description { return t.about }

// Read implements net.Conn. It returns a jump host's end as an error, and the
// server's end as io.EOF.
func (t *Tunnel) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if err != io.EOF || t.via == nil { //nolint:errorlint // a Reader returns io.EOF itself
		return n, err
	}
	if lost := t.via.LostSoon(t.closed); lost != nil {
		return n, lost
	}
	return n, err
}

// Close implements net.Conn. Data written before is still sent if the jump host
// accepts it within a moment.
func (t *Tunnel) Close() error {
	t.closing.Do(func() {
		close(t.closed)
		t.err = t.Conn.Close()
		if c, ok := t.Conn.(*mux.ForwardConn); ok {
			c.Flush()
		}
		t.pool.releaseAll(t.jumps)
	})
	return t.err
}

var _ term.Describer = (*Tunnel)(nil)
