package hosts_test

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// A network is one in memory: names lead where its plans say.
type network struct {
	m *session.Manager
	h *hosts.Hosts

	plans map[string]term.Plan // by the name in the call; others lead to the name itself
	dial  func(ctx context.Context, t term.Target, p term.Prompter) error
	exec  sessiontest.ExecFunc

	mu     sync.Mutex
	dialed []term.Target
	far    []net.Conn // of the sessions, in the order in which they were opened
}

func newNetwork(t *testing.T, c session.Config) *network {
	t.Helper()
	n := &network{plans: make(map[string]term.Plan)}
	n.exec = func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
		_, err := io.WriteString(stdout, "done\n")
		return term.Exit{Known: true}, err
	}
	n.m = sessiontest.Manage(t, n.open, c)
	n.h = hosts.New(hosts.Options{Manager: n.m, Plan: n.plan})
	return n
}

func (n *network) plan(_ context.Context, t term.Target) (term.Plan, error) {
	p, ok := n.plans[t.Host]
	if !ok {
		p = direct(t.Host, t.Host)
	}
	if t.User != "" {
		p.Hops = slices.Clone(p.Hops)
		p.Target().User = t.User
	}
	return p, nil
}

// direct is the plan for a name that leads to host.
func direct(name, host string) term.Plan {
	return term.Plan{Hops: []term.PlannedHop{{
		Alias: name, Host: host, Port: 22, User: "alice", HostKeyPolicy: "strict",
	}}}
}

// behind is the plan for a name that leads to host by way of a bastion.
func behind(bastion, name, host string) term.Plan {
	p := direct(bastion, bastion)
	p.Hops = append(p.Hops, direct(name, host).Hops...)
	return p
}

func (n *network) open(
	ctx context.Context, t term.Target, p term.Prompter, approve term.Approve,
) (term.Transport, error) {
	plan, _ := n.plan(ctx, t)
	if _, err := approve(ctx, plan); err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.dialed = append(n.dialed, t)
	n.mu.Unlock()
	if n.dial != nil {
		if err := n.dial(ctx, t, p); err != nil {
			return nil, err
		}
	}
	near, far := bufpipe.New(0)
	n.mu.Lock()
	n.far = append(n.far, far)
	n.mu.Unlock()
	exec := func(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
		return n.exec(ctx, r, stdout, stderr)
	}
	return &sessiontest.Shell{Plain: sessiontest.Plain{ReadWriteCloser: near}, OnExec: exec}, nil
}

// dials returns how many sessions were dialed.
func (n *network) dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dialed)
}

// session opens a session with a terminal.
func (n *network) session(t *testing.T, ctx context.Context, host string) *session.Session {
	t.Helper()
	r, err := n.m.Open(ctx, sessiontest.Target(host))
	if err != nil {
		t.Fatalf("Open(%q): %v", host, err)
	}
	return r.Session
}

// use runs a command at host.
func (n *network) use(ctx context.Context, host, user string) (hosts.Result, session.ExecResult, error) {
	r := hosts.Request{Target: term.Target{Protocol: "test", Host: host, User: user}}
	var res session.ExecResult
	at, err := n.h.Use(ctx, r, func(s *session.Session) (err error) {
		res, err = s.Exec(ctx, session.ExecRequest{Command: "true", Lane: session.LaneChannel})
		return err
	})
	return at, res, err
}

// mustUse runs a command at host, as the user of its plan, and returns its session.
func (n *network) mustUse(t *testing.T, ctx context.Context, host string) *session.Session {
	t.Helper()
	at, res, err := n.use(ctx, host, "")
	if err != nil || at.State != session.Open || res.Done != session.DoneExitStatus {
		t.Fatalf("Use(%q) = %+v, %+v, %v; want a command that has run", host, at, res, err)
	}
	return at.Session
}
