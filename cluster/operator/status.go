package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/anchors"
	"ptyctl/cluster/internal/bucket"
	"ptyctl/cluster/join"
	"ptyctl/cluster/lease"
	"ptyctl/cluster/nodes"
	"ptyctl/internal/cli"
	"ptyctl/internal/commands"
)

// A status is a cluster as its servers know it. Durations are in milliseconds, times in RFC 3339.
type status struct {
	Group    string           `json:"group"`
	Server   string           `json:"server"` // that has answered
	Nodes    []nodeStatus     `json:"nodes"`
	Consoles []consoleStatus  `json:"consoles"`
	Buckets  []bucketStatus   `json:"buckets"`
	Anchors  []anchors.Anchor `json:"anchors,omitempty"`
	Warnings []string         `json:"warnings,omitempty"` // for the operator to correct
	Problems []string         `json:"problems"`           // with any the exit status is 1

	marks []marked // of the nodes in the table
}

// A nodeStatus is a node. For a silent node with an expired entry only the name is known.
type nodeStatus struct {
	Name        string            `json:"name"`
	State       nodes.State       `json:"state"`
	Version     string            `json:"version,omitempty"`
	WireMin     int               `json:"wire_min,omitempty"`
	WireMax     int               `json:"wire_max,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Sessions    int               `json:"sessions"`
	MaxSessions int               `json:"max_sessions"` // 0: no limit
	Consoles    int               `json:"consoles"`
	Draining    bool              `json:"draining"`
	Rules       string            `json:"rules,omitempty"`   // digest: nodes with the same have the same rules
	Callers     string            `json:"callers,omitempty"` // digest: nodes with the same have the same tokens
	Started     time.Time         `json:"started,omitzero"`
	HeardMS     int64             `json:"heard_ms"` // ago, by the clock of the servers
}

// A consoleStatus is a console that has an owner.
type consoleStatus struct {
	Device    string    `json:"device_id"`
	Node      string    `json:"node"`
	PID       int       `json:"pid"`
	Session   string    `json:"session_id"`
	Since     time.Time `json:"since"`
	RenewedMS int64     `json:"renewed_ms"` // ago, by the clock of this machine
	Token     uint64    `json:"token"`      // fence token: greater for each later owner

	// Heir says that the console is unused: the node keeps it until the former owner cannot rely on it any more.
	Heir bool `json:"heir,omitempty"`
}

// A bucketStatus is a bucket, as the leader of its stream describes it.
type bucketStatus struct {
	Name     string          `json:"name"`
	State    string          `json:"state"` // "ok", "missing", "no majority", "not known"
	Leader   string          `json:"leader,omitempty"`
	Replicas []replicaStatus `json:"replicas,omitempty"` // besides the leader
	Messages uint64          `json:"messages"`
	Bytes    uint64          `json:"bytes"`
}

// A replicaStatus is a copy of a bucket.
type replicaStatus struct {
	Server  string `json:"server"`
	Current bool   `json:"current"`
	Offline bool   `json:"offline"`
	Lag     uint64 `json:"lag"` // operations behind the leader
	SeenMS  int64  `json:"seen_ms"`
}

// The states of a bucket.
const (
	bucketOK      = "ok"
	bucketMissing = "missing"
	bucketLost    = "no majority"
	bucketDenied  = "not known" // the credentials may not ask
)

func statusCommand() *cli.Command {
	one := commands.Status()
	c := *one
	c.Usage = "show the nodes of the cluster, who has which console, and the buckets; status 1 if a node is silent or a bucket " +
		"has no majority. With ID, --pid or --socket: what ptyctl status shows"
	c.Flags = append(c.Flags,
		&cli.BoolFlag{Name: "anchors", Usage: "show also the ends of the nodes' audit logs that are kept"}, credentialsFlag())
	c.Action = func(c *cli.Context) error {
		if c.NArg() > 0 || c.IsSet("pid") || c.IsSet("socket") {
			return one.Action(c)
		}
		if cfg, err := commands.Config(c); err != nil || len(cfg.Cluster.Servers) == 0 {
			return errors.Join(err, one.Action(c))
		}
		return showStatus(c)
	}
	return &c
}

func showStatus(c *cli.Context) error {
	s, err := reach(c)
	if err != nil {
		return err
	}
	defer s.nc.Close()
	ctx, cancel := within(c)
	defer cancel()
	st := s.status(ctx, c.Bool("anchors"))
	for _, text := range s.refusals() {
		st.problem("the credentials do not suffice (%s): name others with --credentials", text)
	}
	if c.Bool("json") {
		err = printJSON(c.App.Writer, st)
	} else {
		err = st.print(c.App.Writer)
	}
	if err != nil || len(st.Problems) == 0 {
		return err
	}
	return errors.New(strings.Join(st.Problems, "\n"))
}

// status asks the servers. A part that cannot be learned becomes one of the problems.
func (s *site) status(ctx context.Context, withAnchors bool) *status {
	st := &status{
		Group: s.cfg.Cluster.Group, Server: s.nc.ConnectedServerName(), Nodes: []nodeStatus{}, Consoles: []consoleStatus{},
		Problems: []string{},
	}
	st.Buckets = s.buckets(ctx)
	lost := false
	for _, b := range st.Buckets {
		switch b.State {
		case bucketLost:
			lost = true
			st.problem("bucket %s has no leader: most of the servers that keep it are down or cut off from each other", b.Name)
		case bucketDenied: // the refusals are problems
			lost = true
		case bucketMissing:
			if !strings.HasSuffix(b.Name, "-anchors") { // which only nodes with an audit log make
				st.problem("bucket %s is missing: a node makes it when it starts", b.Name)
			}
		}
	}
	if lost { // no watch would be answered in time
		return st
	}
	registry := join.Registry(s.nc, s.cfg.Cluster.Group, nil)
	registry.Prover = s.prover
	all, err := nodes.Read(ctx, registry)
	if err != nil {
		st.problem("the nodes are not known: %v", err)
	}
	for _, n := range all {
		st.node(n)
	}
	st.wire(all)
	st.unlike(all)
	held, err := lease.List(ctx, s.nc, join.DevicesBucket(s.cfg.Cluster))
	if err != nil {
		st.problem("who has which console is not known: %v", err)
	}
	for _, h := range held {
		st.Consoles = append(st.Consoles, consoleStatus{
			Device: h.Device, Node: h.Owner.Node, PID: h.Owner.PID, Session: h.Owner.Session, Since: h.Owner.Started, Heir: h.Heir,
			RenewedMS: max(time.Since(h.Renewed), 0).Milliseconds(), Token: h.Token,
		})
	}
	if withAnchors {
		book, err := anchors.Read(ctx, s.nc, s.cfg.Cluster.Group, s.prover)
		if err == nil {
			st.Anchors, err = book.List(ctx, "")
		}
		if err != nil {
			st.problem("the ends of audit logs are not known: %v", err)
		}
		doubts := 0
		for _, a := range st.Anchors {
			if a.Doubt != "" {
				doubts++
			}
		}
		if doubts > 0 {
			st.problem("%d of the ends of audit logs may be another node's words: look for the node that has written them", doubts)
		}
	}
	return st
}

// problem adds a problem.
func (st *status) problem(format string, args ...any) {
	st.Problems = append(st.Problems, fmt.Sprintf(format, args...))
}

// node adds a node.
func (st *status) node(n nodes.Seen) {
	st.Nodes = append(st.Nodes, nodeStatus{
		Name: n.Name, State: n.State, Version: n.Version, WireMin: n.WireMin, WireMax: n.WireMax, Labels: n.Labels,
		Sessions: n.Sessions, MaxSessions: n.MaxSessions, Consoles: n.Consoles, Draining: n.Draining, Rules: n.Rules, Callers: n.Callers,
		Started: n.Started, HeardMS: n.Age.Milliseconds(),
	})
	if n.Doubt != nil {
		st.problem("the entry of node %s may be another node's words, and the nodes do not take it: %v", n.Name, n.Doubt)
	}
	switch age := n.Age.Round(100 * time.Millisecond); {
	case n.State == nodes.Unknown:
		st.problem("node %s has written an entry that this program cannot read", n.Name)
	case n.State == nodes.Silent && n.Version == "":
		st.problem("node %s is silent: its entry has expired %v ago, and it has not left", n.Name, age)
	case n.State == nodes.Silent:
		st.problem("node %s is silent: it was heard of %v ago, and writes every 5s", n.Name, age)
	}
}

// wire finds live nodes that cannot call each other.
func (st *status) wire(all []nodes.Seen) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.State == nodes.Live && b.State == nodes.Live && (a.WireMax < b.WireMin || b.WireMax < a.WireMin) {
				st.problem("nodes %s and %s have no number of the protocol in common (%d to %d, %d to %d): they pass no calls on to "+
					"each other", a.Name, b.Name, a.WireMin, a.WireMax, b.WireMin, b.WireMax)
			}
		}
	}
}

// unlike warns of live nodes with different rules or tokens, and says in which group each node is. This does not end
// with status 1: it cannot be avoided while the operator changes them, and no action is done that the rules of one of
// the nodes deny.
func (st *status) unlike(all []nodes.Seen) {
	for _, t := range join.Traits {
		var order []string // of the digests, by the first node that has each
		having := make(map[string][]string)
		for _, n := range all {
			d := t.Of(n.Node)
			if n.State != nodes.Live || d == "" {
				continue
			}
			if having[d] == nil {
				order = append(order, d)
			}
			having[d] = append(having[d], n.Name)
		}
		if len(order) < 2 {
			continue
		}
		groups, marks := make([]string, len(order)), make(map[string]string)
		for i, d := range order {
			groups[i] = strings.Join(having[d], ", ")
			for _, name := range having[d] {
				marks[name] = mark(i)
			}
		}
		st.marks = append(st.marks, marked{strings.ToUpper(t.Name), marks})
		st.Warnings = append(st.Warnings, fmt.Sprintf("nodes have different %s: %s. %s", t.Name, strings.Join(groups, "; "), t.Then))
	}
}

// A marked is a column that marks the nodes with equal values of a Trait.
type marked struct {
	title string
	marks map[string]string // by node
}

// mark is A, B, ... Z, and then a number.
func mark(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprint(i + 1)
}

// infoTime is how long the leader of a bucket may take to describe it.
const infoTime = 2 * time.Second

// buckets asks for all buckets at once: those without a leader give no answer.
func (s *site) buckets(ctx context.Context) []bucketStatus {
	names := join.Buckets(s.cfg.Cluster)
	all := make([]bucketStatus, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { all[i] = s.bucket(ctx, name) })
	}
	asking.Wait()
	return all
}

// bucket asks for a bucket until it has a majority: after its making, and after the loss of a leader, an election takes a
// moment.
func (s *site) bucket(ctx context.Context, name string) bucketStatus {
	ctx, cancel := context.WithTimeout(ctx, infoTime)
	defer cancel()
	for attempts := 0; ; attempts++ {
		b := s.ask(ctx, name)
		if b.State == bucketLost && s.deniedInfo(name) {
			b.State = bucketDenied
		}
		if b.State != bucketLost || !bucket.Pause(ctx, attempts) {
			return b
		}
	}
}

// ask asks for a bucket once.
func (s *site) ask(ctx context.Context, name string) bucketStatus {
	b := bucketStatus{Name: name, State: bucketLost}
	js, err := jetstream.New(s.nc)
	if err != nil {
		return b
	}
	stream, err := js.Stream(ctx, "KV_"+name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		b.State = bucketMissing
	}
	if err != nil {
		return b
	}
	info := stream.CachedInfo()
	b.Messages, b.Bytes, b.State = info.State.Msgs, info.State.Bytes, bucketOK
	if info.Cluster == nil {
		return b
	}
	b.Leader = info.Cluster.Leader
	here := 1
	for _, r := range info.Cluster.Replicas {
		b.Replicas = append(b.Replicas, replicaStatus{r.Name, r.Current, r.Offline, r.Lag, r.Active.Milliseconds()})
		if !r.Offline && r.Active < silentReplica {
			here++
		}
	}
	if b.Leader == "" || here <= (len(b.Replicas)+1)/2 {
		b.State = bucketLost
	}
	return b
}

// silentReplica is how long the leader may hear nothing of a server before it counts as gone.
const silentReplica = 3 * time.Second
