package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptyctl/audit"
	"ptyctl/devlock"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/peers"
	"ptyctl/metrics"
	"ptyctl/session"
	"ptyctl/term"
)

// A Cluster joins this ptyctl to others: see Options.Cluster. Module ptyctl/cluster has one. All methods may be called at
// the same time.
type Cluster interface {
	// Node returns the name of this node, which no other has.
	Node() string

	// Devices returns who has which console, over all nodes. Its errors may be a devlock.AdvisedError.
	Devices() devlock.Store

	// Hold cuts the connections of the owner of a lease when that is over, also while this process is stopped; nil: nothing
	// can do that on this system.
	Hold(l *devlock.Lease) term.Hold

	// Peers are the other nodes, to which calls about their sessions are passed on.
	Peers() peers.Peers

	// Memory returns the store of session records, from which sessions can be reopened when their node is gone. The App
	// reports changes to it, and it reads the sessions themselves while Serve runs. Nil: no records are kept.
	Memory() kept.Memory

	// Notice returns a note about this node for its callers, for example that it is drained; empty: no note.
	Notice() string

	// Ready returns nil if new clients may be sent to this node, and else why not, in words that anybody may read.
	Ready() error

	// Metrics are counts of the cluster as this node sees it, for /metrics.
	Metrics() []metrics.Family

	// Room finds out whether all nodes together have room for one more session that connects to hosts, for the caller of
	// term.ActorFrom(ctx), and counts it until release is called. hosts includes the hosts on the way, each as name:port,
	// and is empty for a program on this machine. Room is called before any of them is dialed. release may take a while.
	// An error of package term is passed on as it is; one with another cause may be a devlock.AdvisedError.
	Room(ctx context.Context, hosts []string) (release func(), err error)

	// Serve answers the calls of the other nodes until ctx ends; it then returns nil. Any other end ends the server, also
	// one without an error: this node is to leave.
	Serve(ctx context.Context, local Local) error

	// Close leaves the cluster, after the last session and the audit log have ended. It returns when ctx ends, at the latest.
	Close(ctx context.Context) error
}

// Local gives the cluster access to this node's parts.
type Local struct {
	Server      *mcpapi.Server // answers calls
	Sessions    *session.Manager
	MaxSessions int // that Sessions allows

	Runs  func() int    // over many hosts that have not ended
	Rules func() string // digest of the rules in force, which other nodes should have as well

	// Callers returns a digest of who may call over HTTP, with which tokens. Other nodes should have the same digest.
	// Empty: no callers. The digest reveals nothing about a token to a reader who does not know all other tokens.
	Callers func() string

	// Head returns the end of the audit log. The cluster keeps some heads where this node cannot change them. Head may be
	// called until Close has returned. false: there is no log.
	Head func() (audit.Head, bool)
}

// membership is an App's part in its cluster. It owns the goroutines that release the leases and the room of ended
// sessions: a session ends under its mutex, and a release goes over a network.
type membership struct {
	Cluster
	log *slog.Logger

	goingBack sync.WaitGroup

	mu     sync.Mutex               // guards the following
	leases map[string]chan struct{} // that are being given back, by device; closed when that is done
	left   bool
}

// joined returns the membership in c; nil: it is one machine alone.
func joined(c Cluster, log *slog.Logger) *membership {
	if c == nil {
		return nil
	}
	return &membership{Cluster: c, log: log, leases: make(map[string]chan struct{})}
}

// name returns the name of this node; empty: this machine is alone.
func (m *membership) name() string {
	if m == nil {
		return ""
	}
	return m.Node()
}

// others returns the other nodes; nil: this machine is alone.
func (m *membership) others() peers.Peers {
	if m == nil {
		return nil
	}
	return m.Peers()
}

// memory returns the store of session records; nil: this machine is alone.
func (m *membership) memory() kept.Memory {
	if m == nil {
		return nil
	}
	return m.Memory()
}

// Observe implements term.Observer.
func (m *membership) Observe(e term.Event) {
	switch memory := m.Memory(); {
	case memory == nil:
	case e.Verb == term.VerbState && e.State == string(session.Open), e.Verb == term.VerbState && session.State(e.State).Ended(),
		e.Verb == term.VerbGone, e.Verb == term.VerbClose, e.Verb == term.VerbAdopt, e.Verb == term.VerbGive:
		memory.Changed(e.Session)
	}
}

// notice returns the function that returns the note for callers; nil: this machine is alone.
func (m *membership) notice() func() string {
	if m == nil {
		return nil
	}
	return m.Notice
}

// ready returns the state for a load balancer; nil: this machine is alone.
func (m *membership) ready() func() error {
	if m == nil {
		return nil
	}
	return m.Ready
}

// counted returns the metrics of the cluster; nil: this machine is alone.
func (m *membership) counted() []metrics.Family {
	if m == nil {
		return nil
	}
	return m.Metrics()
}

// leaveTime is how long a node that stops waits for the cluster. A lease that is not released by then ends when it runs
// out.
const leaveTime = 10 * time.Second

// leave gives everything back. All sessions have ended.
func (m *membership) leave(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	m.left = true
	m.mu.Unlock()
	m.goingBack.Wait() // each has a time limit
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	return m.Close(ctx)
}

// later reports whether a release may run in a goroutine, which then calls m.goingBack.Done. After the node has left it
// may not: leave would not wait for it.
func (m *membership) later() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.goingBack.Add(1)
	}
	return !m.left
}

// Acquire implements deviceStore. A device that one of them has just given back
// is waited for: otherwise its next session would be refused because of the last one.
func (m *membership) Acquire(ctx context.Context, device string, o devlock.Owner) (*devlock.Lease, error) {
	m.mu.Lock()
	back := m.leases[device]
	m.mu.Unlock()
	if back != nil {
		select {
		case <-back:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return m.Devices().Acquire(ctx, device, o)
}

// giveBack implements deviceStore.
func (m *membership) giveBack(l *devlock.Lease) {
	back := make(chan struct{})
	m.mu.Lock()
	m.leases[l.Device()] = back
	m.mu.Unlock()
	release := func() {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.leases, l.Device())
			close(back)
		}()
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		defer cancel()
		if err := m.Devices().Release(ctx, l); err != nil {
			m.log.Warn("the console of a device was not given back: it is free when its lease runs out", "device", l.Device(),
				"session", l.Owner().Session, "error", err.Error())
		}
	}
	if !m.later() {
		release()
		return
	}
	go func() {
		defer m.goingBack.Done()
		release()
	}()
}

// hold implements deviceStore.
func (m *membership) hold(l *devlock.Lease) term.Hold { return m.Hold(l) }

// dialer asks for room before dial, for as long as the session lasts: ctx is the session's. Which hosts SSH connects to,
// its plan says, before it connects to any.
func (m *membership) dialer(dial term.Dialer) term.Dialer {
	return func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
		var release func() // nil: nothing is counted
		take := func(hosts []string) (err error) {
			if release, err = m.Room(ctx, hosts); err != nil {
				return roomError(err)
			}
			return nil
		}
		ask := approve
		if t.Protocol == "ssh" {
			ask = func(asked context.Context, plan term.Plan) (term.Grant, error) {
				grant, err := approve.Ask(asked, plan)
				if err == nil && !plan.Unresolved && release == nil { // of two questions about a plan the last one
					err = take(hostsOf(plan))
				}
				return grant, err
			}
		} else if err := take(hostOf(t)); err != nil {
			return nil, err
		}
		transport, err := dial(ctx, t, p, ask)
		if release != nil && (err != nil || !m.later()) {
			release()
			return transport, err
		}
		if release != nil {
			context.AfterFunc(ctx, func() {
				defer m.goingBack.Done()
				release()
			})
		}
		return transport, err
	}
}

// hostsOf returns the hosts that a plan connects to.
func hostsOf(plan term.Plan) (hosts []string) {
	for _, h := range plan.Hops {
		hosts = append(hosts, place(h.Host, h.Port))
	}
	return hosts
}

// hostOf returns the host of a target that is reached without other hosts; nil for this machine.
func hostOf(t term.Target) []string {
	if t.Host == "" {
		return nil
	}
	return []string{place(t.Host, t.Port)}
}

// place is a host and a port, as hosts are counted.
func place(host string, port int) string {
	return net.JoinHostPort(strings.ToLower(host), strconv.Itoa(port))
}

// roomError explains why a session is not opened although this machine has room for it.
func roomError(err error) error {
	if _, ok := errors.AsType[*term.Error](err); ok {
		return err
	}
	e := &term.Error{
		Op: "open", Kind: term.IOError, Err: err,
		Msg: "whether the nodes together have room for one more session is not known: " + err.Error(),
	}
	if a, ok := errors.AsType[devlock.AdvisedError](err); ok {
		e.Advice = a.Advice()
	}
	e.Advice = cmp.Or(e.Advice, "try again")
	return e
}

// serveCluster answers the other nodes until ctx ends; wait returns the result. It calls stop when it ends.
func (a *App) serveCluster(ctx context.Context, stop func()) (wait func() error) {
	if a.cluster == nil {
		return func() error { return nil }
	}
	a.log.Info("this is a node of a cluster", "node", a.cluster.Node())
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- a.cluster.Serve(ctx, Local{
			Server: a.server, Sessions: a.sessions, MaxSessions: a.cfg.Session.MaxSessions, Runs: a.runs, Rules: a.rules.digest, Callers: a.http.who, Head: a.audit.Head,
		})
	}()
	return func() error { return <-ended }
}
