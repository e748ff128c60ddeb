package soak

import (
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// How long the soak goes on, and how much it does at least.
var (
	soakTime   = flag.Duration("soak", 24*time.Second, "how long TestSoak opens and closes sessions")
	soakCycles = flag.Int("soak.cycles", 0, "the fewest sessions that TestSoak opens, however long that takes")
	soakSeed   = flag.Uint64("soak.seed", 0, "what TestSoak's choices follow from; 0 takes one from the clock")
)

// The growth that is allowed between the warm-up and the end. Descriptors and goroutines have no allowance.
const (
	// The collector lets the heap double before it runs, and gives memory back when it pleases.
	soakMoreMemory = 12 << 10 // KiB
	// The runtime starts one when all others are in a system call, and never ends it. A leak grows with the cycles.
	soakMoreThreads = 8
)

const (
	soakWorkers = 4 // each has servers of its own, so that it can kill them
	soakRound   = 6 // cycles of each worker; killed servers are started again between rounds
)

// A soak is one ptyctl and the workers that load it.
type soak struct {
	*lab.Client
	workers []*soakWorker
}

// TestSoak opens, uses and closes sessions of both protocols in one ptyctl. Meanwhile shells, connections, whole
// servers and waiting calls are killed at random. At the end the program must hold no more than after the warm-up.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("the choices are those of -soak.seed=%d", seed)
	s := startSoak(t, seed)
	home := s.connectSoak(t)
	fresh := goroutinesOf(t, home)

	// The first user of some resources makes them once: the poller, threads, pools, the heap's size.
	began := time.Now()
	for _, f := range soakFates {
		s.round(t, f)
	}
	for time.Since(began) < *soakTime/4 {
		s.round(t, "")
	}
	warm := s.rest(t)
	before := s.cycles()

	began = time.Now()
	for time.Since(began) < *soakTime || s.cycles()-before < *soakCycles {
		s.round(t, "")
	}
	took := time.Since(began)
	s.compare(t, warm)
	time.Sleep(2 * time.Second) // workers wait for further calls for a second
	left := goroutinesOf(t, s.Client)
	for creator, n := range left {
		if n > fresh[creator] {
			t.Errorf(
				"goroutines leaked: %d that %s, and %d in a program that has opened two sessions",
				n,
				creator,
				fresh[creator],
			)
		}
	}
	t.Logf("%d cycles in %v after a warm-up of %d; goroutines: %d, in a fresh program %d",
		s.cycles()-before, took.Round(time.Second), before, total(left), total(fresh))
	for _, w := range s.workers {
		t.Logf("worker %d: %v", w.number, w.met)
	}
}

// startSoak starts the servers, and the program.
func startSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{}
	for i := range soakWorkers {
		w := &soakWorker{number: i, met: make(map[string]int), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		w.ssh, w.telnet = lab.StartSSHD(t), lab.StartBusybox(t)
		s.workers = append(s.workers, w)
	}
	s.Client = s.start(t)
	for _, w := range s.workers {
		w.Client = s.Client
	}
	return s
}

// start starts a ptyctl that trusts all servers. It is built without the race detector, which would add its own memory.
func (s *soak) start(t *testing.T) *lab.Client {
	t.Helper()
	var servers []*lab.SSHD
	for _, w := range s.workers {
		servers = append(servers, w.ssh)
	}
	h := lab.HomeFor(t, servers, "[session]\nclosed_retention_ms = 5000")
	// A server that was killed comes back on another port, with the same key.
	h.Write(t, h.KnownHosts, "")
	for _, server := range servers {
		h.Trust(t, "[127.0.0.1]:* "+server.HostKey.Public())
	}
	h.Program = lab.PlainBinary
	c := h.Connect(t, "--log-level", "error")
	c.Hide(lab.TelnetPassword)
	return c
}

// connectSoak starts another ptyctl, which has opened and closed a session of each protocol.
func (s *soak) connectSoak(t *testing.T) *lab.Client {
	t.Helper()
	c := s.start(t)
	w := s.workers[0]
	id := c.Open(t, w.ssh)
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello"}`, id)
	c.Close(t, id)
	id, _ = c.OpenTelnet(t, w.telnet, "")
	c.LoginTelnet(t, w.telnet, id)
	c.Close(t, id)
	forgotten(t, c)
	return c
}

// round lets each worker go through its cycles, all with the same fate if it is not "", and restarts the servers that
// they have killed.
func (s *soak) round(t *testing.T, fate string) {
	t.Helper()
	var wg sync.WaitGroup
	for _, w := range s.workers {
		wg.Go(func() {
			if err := w.round(t.Context(), fate); err != nil {
				t.Errorf("worker %d, cycle %d: %v", w.number, w.cycles, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, w := range s.workers {
		if w.killedSSH {
			w.ssh.MustStart(t)
		}
		if w.killedTelnet {
			<-w.telnet.Process.Ended
			w.telnet = lab.StartBusybox(t)
		}
		w.killedSSH, w.killedTelnet = false, false
	}
}

func (s *soak) cycles() int {
	n := 0
	for _, w := range s.workers {
		n += w.cycles
	}
	return n
}

// A usage counts the resources of a program that could leak.
type usage struct {
	memory  int // VmRSS in KiB
	threads int
	files   []string
}

// rest waits until the sessions are gone, here and at the servers, and returns the program's usage then.
func (s *soak) rest(t *testing.T) usage {
	t.Helper()
	forgotten(t, s.Client)
	for _, w := range s.workers {
		w.ssh.WaitIdle(t)
		lab.Eventually(
			t,
			"the end of every login at telnetd",
			func() bool { return len(lab.Descendants(t, w.telnet.Process.PID)) == 0 },
		)
	}
	return usage{lab.StatusField(t, s.PID, "VmRSS"), lab.StatusField(t, s.PID, "Threads"), lab.OpenFiles(t, s.PID)}
}

// forgotten waits until the program lists no session.
func forgotten(t *testing.T, c *lab.Client) {
	t.Helper()
	lab.Eventually(t, "the end of every session's retention", func() bool {
		return len(c.Call(t, lab.ToolSession, `{"action":"list"}`).Sessions) == 0
	})
}

// compare fails the test for each thing that the program has more of than after the warm-up.
func (s *soak) compare(t *testing.T, warm usage) {
	t.Helper()
	now := s.rest(t)
	for end := time.Now().Add(lab.Patience); len(now.files) > len(warm.files) && time.Now().Before(end); now = s.rest(t) {
		time.Sleep(100 * time.Millisecond) // the kernel's end of a connection
	}
	t.Logf("after the warm-up and at the end: memory %d and %d KiB, threads %d and %d, descriptors %d and %d",
		warm.memory, now.memory, warm.threads, now.threads, len(warm.files), len(now.files))
	if n := now.memory - warm.memory; n > soakMoreMemory {
		t.Errorf("memory leaked: %d KiB more than after the warm-up, and %d are allowed", n, soakMoreMemory)
	}
	if n := now.threads - warm.threads; n > soakMoreThreads {
		t.Errorf("threads leaked: %d more than after the warm-up, and %d are allowed", n, soakMoreThreads)
	}
	if len(now.files) > len(warm.files) {
		t.Errorf(
			"descriptors leaked: %d, and %d after the warm-up\nnow: %q\nthen: %q",
			len(now.files),
			len(warm.files),
			now.files,
			warm.files,
		)
	}
	if left := lab.Descendants(t, s.PID); len(left) > 0 {
		t.Errorf("processes leaked: %v", left)
	}
}

func total(goroutines map[string]int) int {
	n := 0
	for _, m := range goroutines {
		n += m
	}
	return n
}
