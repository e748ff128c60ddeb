package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/internal/netns"
	"ptyctl/mcpapi/peers"
)

// inMachines reports whether a test that needs machines of its own is to go on here: in task test:long, because it takes
// minutes, and in the process that has them.
func inMachines(t *testing.T) bool {
	t.Helper()
	if os.Getenv("PTYCTL_LONG") == "" {
		t.Log("task test:long runs it")
		return false
	}
	natstest.Build(t) // which there is no network for, there
	return netns.Inside(t)
}

// typing is a call that types something into a console, which its client has locked.
func typing(id string) map[string]any {
	return map[string]any{"action": "write", "session_id": id, "data": "show version\r", "task_id": "t"}
}

// looking is a call about a session that any client may make.
func looking(id string) map[string]any {
	return map[string]any{"action": "read", "session_id": id, "cursor": "0"}
}

// lock has a client lock a console.
func (c *caller) lock(id string) {
	c.tb.Helper()
	if r := c.call(map[string]any{"action": "lock", "session_id": id, "task_id": "t"}); r.ErrorCode != "" {
		c.tb.Fatalf("lock = %s", r.text)
	}
}

// TestCutOff: the owner of a console is cut off from the other nodes, together with the NATS server on its machine. The
// cable loses all packets or has no carrier. The owner keeps its way to the console, or loses that, too.
//
// There are clients on both sides. The owner's client types until it learns that the session has lost its console. The
// client on the majority's side learns that the owner does not answer, and gets the console when the lease has run out.
// No byte of the owner reaches the console after that, not even when the cable is whole again.
func TestCutOff(t *testing.T) {
	t.Parallel()
	if !inMachines(t) {
		return
	}
	s := newSite(t, 2000)
	const seed = 28
	random := rand.New(rand.NewPCG(seed, seed))
	for run := range 12 {
		s.cutOff(t, fmt.Sprintf("switch-%03d", run), run%2 == 0, random)
	}
}

// cutOff is one run. alone: the owner is cut off from its console, too.
func (s *site) cutOff(t *testing.T, device string, alone bool, random *rand.Rand) {
	c := newCounted(t, s.consoles)
	how := []netns.State{netns.Dropped, netns.Down}[random.IntN(2)]
	first := s.at(names[random.IntN(len(names))], device, c)
	owner := peers.NodeOf(first.SessionID)
	if s.nodes[owner] == nil {
		t.Fatalf("open = %s", first.text)
	}
	client, other := s.nodes[owner], s.others(owner)[random.IntN(2)]
	majority := s.nodes[other]
	client.lock(first.SessionID)
	if r := majority.tool("ptyctl_session_io", looking(first.SessionID)); r.ErrorCode != "" {
		t.Fatalf("read through %s = %s", other, r.text)
	}
	told := make(chan result, 1)
	typed := 0
	go func() {
		for {
			r, err := client.try(t.Context(), "ptyctl_session_io", typing(first.SessionID))
			if err != nil || r.ErrorCode != "" {
				told <- r
				return
			}
			typed++
			time.Sleep(time.Millisecond)
		}
	}()
	time.Sleep(time.Duration(random.Int64N(int64(500 * time.Millisecond)))) // before or after a renewal
	t.Logf("%s of %s: its cable is cut (%d; alone: %v)", device, owner, how, alone)
	cut := time.Now()
	if alone {
		s.consoles.Put(t, s.machines[owner], how)
	}
	s.lan.Put(t, s.machines[owner], how)

	majority.gone("ptyctl_session_io", looking(first.SessionID), "NODE_SILENT", "NODE_UNREACHABLE")
	t.Logf("%v: the majority's client was told", time.Since(cut))
	var end result
	select {
	case end = <-told:
	case <-time.After(truth):
		t.Fatalf("the owner's client was not told within %v", truth)
	}
	t.Logf("%v: the owner's client had been told: %s", time.Since(cut), end.text)
	if end.ErrorCode != "LOCKED" && end.ErrorCode != "ALREADY_CLOSED" {
		t.Errorf("the owner's client is told %s", end.text)
	}
	if r := client.call(map[string]any{"action": "status", "session_id": first.SessionID}); !strings.Contains(r.text, `"reservation"`) {
		t.Errorf("the owner's session is %s, want it ended by its reservation", r.text)
	}

	var second result
	codes := map[string]int{}
	natstest.Eventually(t, "the majority has the console", func() bool {
		began := time.Now()
		second = s.at(other, device, c)
		if took := time.Since(began); took > truth {
			t.Errorf("open at the majority: the answer took %v: %s", took, second.text)
		}
		codes[second.ErrorCode]++
		switch second.ErrorCode {
		case "", "LOCKED", "NODE_SILENT", "NODE_UNREACHABLE":
		default: // while the two servers elect a leader they have no majority
			if second.ErrorCode != "IO_ERROR" || !second.Retryable {
				t.Errorf("open at the majority = %s", second.text)
			}
		}
		return second.ErrorCode == ""
	})
	t.Logf("%v: the majority's client has the console: %v", time.Since(cut), codes)
	heir := peers.NodeOf(second.SessionID)
	if heir == owner || s.nodes[heir] == nil {
		t.Fatalf("open at the majority = %s", second.text)
	}
	majority.lock(second.SessionID)
	if r := majority.tool("ptyctl_session_io", typing(second.SessionID)); r.ErrorCode != "" {
		t.Errorf("write of the next owner = %s", r.text)
	}
	natstest.Eventually(t, "the next owner has typed", func() bool {
		return slices.Equal(c.owners(t), []string{s.machines[owner].At(s.consoles), s.machines[heir].At(s.consoles)})
	})
	// On its side of the cable the truth is that the others cannot be reached, and that there is no majority.
	client.gone("ptyctl_session_io", looking(second.SessionID), "NODE_SILENT", "NODE_UNREACHABLE")
	began := time.Now()
	switch r := s.at(owner, "other-"+device, c); r.ErrorCode {
	case "NODE_SILENT", "NODE_UNREACHABLE": // it was placed there
	default:
		if r.ErrorCode != "IO_ERROR" || !r.Retryable {
			t.Errorf("open of a console without a majority = %s", r.text)
		}
	}
	if took := time.Since(began); took > truth {
		t.Errorf("open of a console without a majority took %v", took)
	}
	t.Logf("%v: the owner's client knows that it is alone", time.Since(cut))

	s.consoles.Put(t, s.machines[owner], netns.Joined)
	s.lan.Put(t, s.machines[owner], netns.Joined)
	natstest.Eventually(t, "the kernel of the owner of before has nothing more for the console", func() bool {
		return !c.connected(t, s.nodes[owner])
	})
	// When the servers meet again they may elect a leader once more. That takes longer than these leases last, so that the
	// console may have another owner then; at most one in any case.
	natstest.Eventually(t, "all nodes say that the console has one owner", func() bool {
		ids := map[string]bool{}
		for _, name := range names {
			r := s.at(name, device, c)
			ids[r.SessionID] = r.ErrorCode == ""
		}
		for _, ok := range ids {
			return ok && len(ids) == 1
		}
		return false
	})
	t.Logf("%v: the console has one owner everywhere; %d writes before the cut", time.Since(cut), typed)
	if late := c.late(t); late != nil {
		t.Errorf("%s: %q", device, late)
	}
}

// TestLeaderCutOff: the machine with the server that leads the bucket of the consoles is cut off alone. The owner of a
// console keeps it, because its lease lasts longer than the other servers need to elect a leader; a new one can be opened.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	if !inMachines(t) {
		return
	}
	const ttl = 20 * time.Second
	s := newSite(t, int(ttl/time.Millisecond))
	for run, how := range []netns.State{netns.Dropped, netns.Down} {
		leader := names[slices.Index(s.servers, natstest.Leader(t, s.servers, "KV_ptyctl-devices"))]
		owner, c := leader, newCounted(t, s.consoles)
		var open result
		for i := 0; owner == leader; i++ {
			open = s.at(leader, fmt.Sprintf("switch-%d-%d", run, i), c)
			if owner = peers.NodeOf(open.SessionID); s.nodes[owner] == nil {
				t.Fatalf("open = %s", open.text)
			}
		}
		client := s.nodes[owner]
		client.lock(open.SessionID)
		s.lan.Put(t, s.machines[leader], how)
		cut := time.Now()
		s.nodes[leader].gone("ptyctl_session_io", looking(open.SessionID), "NODE_SILENT", "NODE_UNREACHABLE")
		typed := 0
		for ; time.Since(cut) < ttl+5*time.Second; time.Sleep(10 * time.Millisecond) { // longer than without a renewal
			if r := client.tool("ptyctl_session_io", typing(open.SessionID)); r.ErrorCode != "" {
				t.Fatalf("%v after the leader was cut off: write = %s", time.Since(cut), r.text)
			}
			typed++
		}
		natstest.Eventually(t, "another console can be opened", func() bool {
			r := s.at(owner, fmt.Sprintf("new-%d", run), newCounted(t, s.consoles))
			return r.ErrorCode == "" && peers.NodeOf(r.SessionID) != leader
		})
		s.lan.Put(t, s.machines[leader], netns.Joined)
		natstest.Eventually(t, "the machine of the leader of before takes part again", func() bool {
			return s.nodes[leader].tool("ptyctl_session_io", looking(open.SessionID)).ErrorCode == ""
		})
		if r := client.tool("ptyctl_session_io", typing(open.SessionID)); r.ErrorCode != "" {
			t.Errorf("write afterwards = %s", r.text)
		}
		t.Logf("%s had its console for %v, and %d writes", owner, time.Since(cut), typed)
	}
}
