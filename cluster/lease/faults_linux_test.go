package lease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
)

// short is the TTL of the leases in most of these tests.
const short = 2 * time.Second

// runs returns how often a test is repeated with another seed: often with PTYCTL_LONG, as in task test:long.
func runs(often, rarely int) int {
	if os.Getenv("PTYCTL_LONG") != "" {
		return often
	}
	return rarely
}

// names returns the names of n consoles of one run.
func names(run string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%d", run, i))
	}
	return all
}

// owners fails the test unless all answers are those of owners.
func owners(t *testing.T, answers map[string]reply) {
	t.Helper()
	for _, r := range answers {
		if r.Token == 0 || r.Err != "" {
			t.Fatalf("%s was not acquired: %+v", r.Device, r)
		}
	}
}

// TestRace: 500 agents on three nodes race for 200 consoles. Each console gets one owner, and each loser learns which.
func TestRace(t *testing.T) {
	const agents, consoles, picks, seed = 500, 200, 4, 28
	urls := natstest.URLs(natstest.Start(t, 3))
	random := rand.New(rand.NewPCG(seed, seed))
	wishes := make(map[*node][]command)
	nodes := make([]*node, 3)
	for i := range nodes {
		nodes[i] = startNode(t, nodeConfig{Servers: urls, Name: fmt.Sprintf("node%d", i), Bucket: "race", TTL: 30 * time.Second})
	}
	for a := range agents {
		n := nodes[a%len(nodes)]
		var want []string
		for range picks {
			want = append(want, fmt.Sprintf("console%03d", random.IntN(consoles)))
		}
		wishes[n] = append(wishes[n], command{Do: "acquire", Session: fmt.Sprintf("agent%d", a), Devices: want})
	}
	for _, n := range nodes {
		for _, c := range wishes[n] {
			n.do(t, c)
		}
	}
	won, told := make(map[string]reply), make(map[string][]reply)
	for i, n := range nodes {
		for range picks * len(wishes[n]) {
			r, ok := <-n.replies
			switch {
			case !ok:
				t.Fatalf("%s has ended", n.name)
			case r.Token != 0:
				if other, ok := won[r.Device]; ok {
					t.Errorf("%s has two owners, %s and %s", r.Device, other.Session, r.Session)
				}
				r.Node = fmt.Sprintf("node%d", i)
				won[r.Device] = r
			default:
				told[r.Device] = append(told[r.Device], r)
			}
		}
	}
	refused := 0
	for device, losers := range told {
		for _, r := range losers {
			if owner := won[device]; r.Session != owner.Session || r.Node != owner.Node || owner.Token == 0 {
				t.Errorf("%s: a loser was told %s of %q (%s), and the owner is %s of %q", device, r.Session, r.Node, r.Err, owner.Session, owner.Node)
			}
			refused++
		}
	}
	if len(won)+refused != agents*picks || len(won) < consoles*9/10 {
		t.Errorf("%d consoles have owners and %d wishes were refused, of %d", len(won), refused, agents*picks)
	}
}

// TestOwnerKilled: the consoles of a node that was killed are free when its leases have run out, and not before: see the
// judge.
func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	urls, j := natstest.URLs(natstest.Start(t, 3)), newJudge(t)
	c := nodeConfig{Servers: urls, Bucket: "killed", TTL: short, Judge: j.addr}
	c.Name = "heir"
	heir := startNode(t, c)
	for run := range runs(50, 2) {
		c.Name = fmt.Sprintf("owner%d", run)
		owner, devices := startNode(t, c), names(fmt.Sprintf("k%d", run), 5)
		owner.do(t, command{Do: "acquire", Session: "first", Devices: devices})
		first := owner.take(t, len(devices))
		owners(t, first)
		for _, d := range devices {
			j.renewed(t, d, first[d].Token)
		}
		heir.do(t, command{Do: "await", Session: "second", Devices: devices})
		owner.kill()
		second := heir.take(t, len(devices))
		owners(t, second)
		for _, d := range devices {
			if second[d].Token <= first[d].Token {
				t.Errorf("%s: the tokens are %d and then %d", d, first[d].Token, second[d].Token)
			}
			j.typed(t, d, second[d].Token)
		}
		heir.release(t)
	}
}

// TestLeaderKilled: no lease is lost while the servers elect a leader, and renewals go on afterwards.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	const consoles = 50
	servers, j := natstest.Start(t, 3), newJudge(t)
	n := startNode(t, nodeConfig{Servers: natstest.URLs(servers), Name: "owner", Bucket: "leader", TTL: 30 * time.Second, Judge: j.addr})
	n.do(t, command{Do: "acquire", Session: "s", Devices: names("l", consoles)})
	owners(t, n.take(t, consoles))
	leader := natstest.Leader(t, servers, "KV_leader")
	leader.Kill()
	n.do(t, command{Do: "renew"})
	for _, r := range n.take(t, consoles) {
		if r.Err != "" {
			t.Errorf("%s after the leader was killed: %s", r.Device, r.Err)
		}
	}
	if len(n.lost) != 0 {
		t.Errorf("%d leases were lost, such as %+v", len(n.lost), <-n.lost)
	}
	left := slices.DeleteFunc(slices.Clone(servers), func(s *natstest.Server) bool { return s == leader })
	if next := natstest.Leader(t, left, "KV_leader"); next == leader {
		t.Errorf("the leader is still %s", next.Name)
	}
}

// TestMajorityKilled: owners end their own leases, no node gets one, errors say why, and everything works when the
// servers are back.
func TestMajorityKilled(t *testing.T) {
	t.Parallel()
	const consoles = 5
	servers, j := natstest.Start(t, 3), newJudge(t)
	c := nodeConfig{Servers: natstest.URLs(servers), Bucket: "majority", TTL: short, Judge: j.addr}
	c.Name = "owner"
	owner := startNode(t, c)
	c.Name = "heir"
	heir := startNode(t, c)
	devices := names("m", consoles)
	owner.do(t, command{Do: "acquire", Session: "first", Devices: devices})
	first := owner.take(t, consoles)
	owners(t, first)

	leader := natstest.Leader(t, servers, "KV_majority")
	for _, s := range servers {
		if s != leader { // the leader then has no followers
			s.Kill()
		}
	}
	for d, r := range owner.ends(t, devices) {
		if r.Why == "" || !strings.Contains(r.Err, "renewed") || !strings.Contains(r.Err, "nats://127.0.0.1") {
			t.Errorf("%s has ended with %+v, want that no server has renewed it, and why", d, r)
		}
	}
	// New devices, which the last server has never heard of, and those with leases that have ended.
	for _, n := range []*node{owner, heir} {
		wanted := append(names(n.name, 2), devices...)
		n.do(t, command{Do: "acquire", Session: "early", Devices: wanted, Timeout: 6 * time.Second})
		for d, r := range n.take(t, len(wanted)) {
			if r.Token != 0 {
				t.Errorf("%s was acquired without a majority: %+v", d, r)
			} else if r.Why == "" && r.Node == "" { // the last server may still name the former owner
				t.Errorf("%s: %s; want why the servers cannot say", d, r.Err)
			}
		}
	}
	heir.do(t, command{Do: "await", Session: "second", Devices: devices})
	for _, s := range servers {
		if s != leader {
			s.Run(t)
		}
	}
	second := heir.take(t, consoles)
	owners(t, second)
	for _, d := range devices {
		if second[d].Token <= first[d].Token {
			t.Errorf("%s: the tokens are %d and then %d", d, first[d].Token, second[d].Token)
		}
	}
}

// TestOwnerPaused: an owner that was stopped for longer than its leases, while it was typing, passes no check when it
// goes on: the consoles have other owners by then.
func TestOwnerPaused(t *testing.T) {
	t.Parallel()
	const consoles, seed = 5, 28
	urls, j := natstest.URLs(natstest.Start(t, 3)), newJudge(t)
	c := nodeConfig{Servers: urls, Bucket: "paused", TTL: short, Judge: j.addr}
	c.Name = "owner"
	owner := startNode(t, c)
	c.Name = "heir"
	heir := startNode(t, c)
	random := rand.New(rand.NewPCG(seed, seed))
	for run := range runs(1000, 3) {
		devices := names(fmt.Sprintf("p%d", run), consoles)
		owner.do(t, command{Do: "acquire", Session: "first", Devices: devices})
		first := owner.take(t, consoles)
		owners(t, first)
		heir.do(t, command{Do: "await", Session: "second", Devices: devices})
		for _, d := range devices {
			j.renewed(t, d, first[d].Token)
		}
		time.Sleep(time.Duration(random.Int64N(int64(50 * time.Millisecond)))) // it is stopped anywhere between two writes
		owner.signal(t, syscall.SIGSTOP)
		second := heir.take(t, consoles)
		owners(t, second)
		for _, d := range devices {
			j.typed(t, d, second[d].Token)
		}
		owner.signal(t, syscall.SIGCONT)
		for d, r := range owner.ends(t, devices) {
			if first[d].Token != r.Token {
				t.Errorf("%s: the lease with token %d has ended, and was acquired with %d", d, r.Token, first[d].Token)
			}
		}
		owner, heir = heir, owner
		heir.do(t, command{Do: "acquire", Session: "third", Devices: devices[:1]}) // the one that was stopped works again
		if r := heir.take(t, 1)[devices[0]]; r.Token == 0 && r.Node != owner.name {
			t.Errorf("run %d: who has %s? %+v", run, devices[0], r)
		}
		owner.release(t)
		heir.release(t)
	}
}

// TestPartition: an owner that loses all its packets ends its own leases before others get them, while its clients go
// on to type. Its calls say why they fail. When packets pass again it works.
func TestPartition(t *testing.T) {
	t.Parallel()
	const consoles = 5
	urls, j := natstest.URLs(natstest.Start(t, 3)), newJudge(t)
	var through []string
	var cut atomic.Bool
	for _, u := range urls {
		through = append(through, natstest.Proxy(t, u, &cut))
	}
	owner := startNode(t, nodeConfig{Servers: through, Name: "owner", Bucket: "cut", TTL: short, Judge: j.addr})
	heir := startNode(t, nodeConfig{Servers: urls, Name: "heir", Bucket: "cut", TTL: short, Judge: j.addr})
	for run := range runs(50, 2) {
		devices := names(fmt.Sprintf("c%d", run), consoles)
		owner.do(t, command{Do: "await", Session: "first", Devices: devices})
		first := owner.take(t, consoles)
		owners(t, first)
		for _, d := range devices {
			j.renewed(t, d, first[d].Token)
		}
		heir.do(t, command{Do: "await", Session: "second", Devices: devices})
		cut.Store(true)
		for d, r := range owner.ends(t, devices) {
			if !strings.Contains(r.Err, "no server has renewed it") {
				t.Errorf("%s has ended with %q", d, r.Err)
			}
		}
		owner.do(t, command{Do: "acquire", Session: "early", Devices: devices[:1], Timeout: 3 * time.Second})
		if r := owner.take(t, 1)[devices[0]]; r.Why == "" {
			t.Errorf("behind the cut the answer is %+v, want why there is none", r)
		}
		owners(t, heir.take(t, consoles))
		cut.Store(false)
		owner.do(t, command{Do: "await", Session: "again", Devices: []string{fmt.Sprintf("free%d", run)}})
		owners(t, owner.take(t, 1))
		owner.release(t)
		heir.release(t)
	}
}
