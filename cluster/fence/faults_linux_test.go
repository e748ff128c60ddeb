package fence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
)

// short is the TTL of the leases in these tests, and longer that of those that must not end before an owner is stopped.
const (
	short  = 2 * time.Second
	longer = 6 * time.Second
)

// runs returns how often a test is repeated: often with PTYCTL_LONG, as in task test:long.
func runs(often, rarely int) int {
	if os.Getenv("PTYCTL_LONG") != "" {
		return often
	}
	return rarely
}

// names returns the names of the consoles of one run: some are read, and others are not.
func names(run string) []string {
	return []string{"fast1-" + run, "fast2-" + run, "slow1-" + run, "slow2-" + run}
}

// cut waits until the connections of owners have ended. A connection that was cut before it named its owner is not
// known.
func (j *judge) cut(tb testing.TB, opened map[string]report) {
	tb.Helper()
	for device, r := range opened {
		j.has(tb, device, "the connection of the former owner has ended", func(c *console) bool {
			return c.ended[r.Token] || c.conns[r.Token] == nil
		})
	}
}

// innocent fails the test for each byte of a former owner.
func (j *judge) innocent(tb testing.TB) {
	tb.Helper()
	_, faults := j.late()
	for _, f := range faults {
		tb.Error(f)
	}
}

// TestOwnerPaused: an owner is stopped while it types, for longer than its leases, and other nodes get its consoles.
// Its connections are cut while it is stopped. When it goes on, its sessions end, and say why. No byte of it arrives
// after another node has a console.
func TestOwnerPaused(t *testing.T) {
	t.Parallel()
	const seed = 28
	j := newJudge(t)
	c := nodeConfig{Servers: natstest.URLs(natstest.Start(t, 3)), TTL: short, Judge: j.addr}
	c.Name = "owner"
	owner := startNode(t, c)
	c.Name = "heir"
	heir := startNode(t, c)
	random := rand.New(rand.NewPCG(seed, seed))
	count := runs(1000, 3)
	for run, done := 0, 0; done < count; run++ {
		if run == 10*count {
			t.Fatalf("in %d of %d runs a lease has ended before its owner had typed, or was cut before its end", run-done, run)
		}
		devices := names(fmt.Sprint(run))
		owner.do(t, command{Do: "open", Devices: devices})
		first := owner.take(t, "opened", len(devices))
		heir.do(t, command{Do: "open", Devices: devices})
		counts := j.typing(t, owner, first)                        // else another run does
		time.Sleep(time.Duration(random.Int64N(int64(short / 4)))) // before or after a renewal, anywhere in a write
		signalTo(t, owner.cmd.Process.Pid, syscall.SIGSTOP)
		second := heir.take(t, "opened", len(devices))
		for device, r := range second {
			if r.Token <= first[device].Token {
				t.Errorf("%s: the tokens are %d and then %d", device, first[device].Token, r.Token)
			}
		}
		j.read(devices) // bytes that the kernels still had would arrive now
		j.cut(t, first)
		counts = j.typing(t, heir, second) && counts
		signalTo(t, owner.cmd.Process.Pid, syscall.SIGCONT)
		if owner.lose(t, first) && counts {
			done++
		}
		heir.release(t)
		owner, heir = heir, owner
	}
	j.innocent(t)
	t.Logf("%d runs of %d consoles", count, len(names("")))
}

// TestWithoutFence lets the judge see the faults that the fence prevents, because a judge that finds nothing proves
// nothing.
func TestWithoutFence(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	c := nodeConfig{Servers: natstest.URLs(natstest.Start(t, 1)), TTL: short, Judge: j.addr, NoFence: true}
	var owner, heir *node
	var devices []string
	var first map[string]report
	for run := 0; ; run++ {
		c.Name = fmt.Sprint("owner", run)
		owner = startNode(t, c)
		c.Name = fmt.Sprint("heir", run)
		heir = startNode(t, c)
		devices = names(fmt.Sprint("without", run))
		owner.do(t, command{Do: "open", Devices: devices})
		first = owner.take(t, "opened", len(devices))
		heir.do(t, command{Do: "open", Devices: devices})
		counts := j.typing(t, owner, first) // else another run does
		signalTo(t, owner.cmd.Process.Pid, syscall.SIGSTOP)
		if second := heir.take(t, "opened", len(devices)); j.typing(t, heir, second) && counts {
			break
		}
		if run == 10 {
			t.Fatal("in each run a lease has ended before its owner had typed")
		}
		owner.kill()
		heir.kill()
	}
	for device, r := range first {
		j.mu.Lock()
		ended := j.of(device).ended[r.Token]
		j.mu.Unlock()
		if ended {
			t.Errorf("%s: something has cut the connection", device)
		}
	}
	j.read(devices)
	signalTo(t, owner.cmd.Process.Pid, syscall.SIGCONT)
	if !owner.lose(t, first) {
		t.Error("a session did not know that it had lost its lease")
	}
	j.cut(t, first)
	if late, faults := j.late(); late < 2 {
		t.Errorf("the judge has found only %q, and nothing of what the kernel had", faults)
	}
}

// TestOwnerKilled: the connections of a process that was killed are cut at once, and the unsent data of its kernel is
// discarded.
func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	owner := startNode(t, nodeConfig{Servers: natstest.URLs(natstest.Start(t, 1)), TTL: time.Hour, Name: "owner", Judge: j.addr})
	devices := names("killed")
	owner.do(t, command{Do: "open", Devices: devices})
	first := owner.take(t, "opened", len(devices))
	j.typing(t, owner, first)
	fence := theFence(t, owner.cmd.Process.Pid, 0)
	owner.kill()
	eventually(t, "the end of the fence process", func() bool { return gone(fence) })
	j.read(devices)
	j.cut(t, first)
	for device, r := range first {
		if n := j.of(device).bytes[r.Token]; slow(device) && n >= burst {
			t.Errorf("%s: all %d bytes have arrived", device, n)
		}
	}
}

// TestFenceKilledFirst: an owner that is stopped after its fence process was killed has another one by then.
func TestFenceKilledFirst(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	c := nodeConfig{Servers: natstest.URLs(natstest.Start(t, 1)), TTL: longer, Judge: j.addr}
	c.Name = "owner"
	owner := startNode(t, c)
	c.Name = "heir"
	heir := startNode(t, c)
	devices := names("fence")
	owner.do(t, command{Do: "open", Devices: devices})
	first := owner.take(t, "opened", len(devices))
	heir.do(t, command{Do: "open", Devices: devices})
	j.typing(t, owner, first)
	fence := theFence(t, owner.cmd.Process.Pid, 0)
	signalTo(t, fence, syscall.SIGKILL)
	next := theFence(t, owner.cmd.Process.Pid, fence)
	eventually(t, "the new process has all connections", func() bool { return sockets(next) > len(devices) })
	signalTo(t, owner.cmd.Process.Pid, syscall.SIGSTOP)
	heir.take(t, "opened", len(devices))
	j.read(devices)
	j.cut(t, first)
	signalTo(t, owner.cmd.Process.Pid, syscall.SIGCONT)
	if !owner.lose(t, first) {
		t.Error("a session did not know that it had lost its lease")
	}
	j.innocent(t)
}

// TestBothStopped: if the fence process is stopped as well, nothing cuts the connections of the owner, as the
// documentation says. The fence cuts them as soon as it goes on.
func TestBothStopped(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	c := nodeConfig{Servers: natstest.URLs(natstest.Start(t, 1)), TTL: longer, Judge: j.addr}
	c.Name = "owner"
	owner := startNode(t, c)
	c.Name = "heir"
	heir := startNode(t, c)
	devices := names("both")
	owner.do(t, command{Do: "open", Devices: devices})
	first := owner.take(t, "opened", len(devices))
	heir.do(t, command{Do: "open", Devices: devices})
	j.typing(t, owner, first)
	fence := theFence(t, owner.cmd.Process.Pid, 0)
	signalTo(t, owner.cmd.Process.Pid, syscall.SIGSTOP)
	signalTo(t, fence, syscall.SIGSTOP)
	heir.take(t, "opened", len(devices))
	signalTo(t, fence, syscall.SIGCONT)
	j.read(devices)
	j.cut(t, first)
	signalTo(t, owner.cmd.Process.Pid, syscall.SIGCONT)
	if !owner.lose(t, first) {
		t.Error("a session did not know that it had lost its lease")
	}
}
