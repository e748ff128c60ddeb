package sim

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"testing"
	"time"
)

// TestMain collects garbage less often: a history needs little memory, and makes much garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

// runs returns how many histories a test runs: more with PTYCTL_LONG, as in task test:long.
func runs(often, rarely int) int {
	if os.Getenv("PTYCTL_LONG") != "" {
		return often
	}
	return rarely
}

// show describes the sum of the results of n histories.
func show(n int, r Result) string {
	return fmt.Sprintf(
		"%d histories, %d events: %d calls, %d not done; %d acquired, %d lost; %d writes after a take-over, %d of them in spite of a fence; %d violations",
		n, r.Events, r.Calls, r.Unavailable, r.Acquired, r.Lost, r.Late, r.Unfenced, len(r.Violations),
	)
}

// TestFaults: no fault that the rules cover breaks a promise, alone or with others.
func TestFaults(t *testing.T) {
	t.Parallel()
	n := runs(20_000, 40)
	kept := func(name string, c Config) (sum Result) {
		sum = Sum(c, n)
		t.Logf("%-18s %s", name, show(n, sum))
		for i, v := range sum.Violations {
			if t.Errorf("%s, seed %d, after %v: %s", name, v.Seed, v.At, v.What); i == 3 {
				break
			}
		}
		if sum.Acquired < 10*n {
			t.Errorf("%s: only %d consoles were acquired in %d histories", name, sum.Acquired, n)
		}
		return sum
	}
	kept("none", Config{})
	for f := range faults {
		kept(f.String(), Config{Faults: []Fault{f}, Boottime: f == Suspend})
	}
	kept("all", Config{Faults: AllFaults(), Boottime: true})
	kept("one server", Config{Faults: AllFaults(), Boottime: true, Servers: 1})
	kept("five servers", Config{Faults: AllFaults(), Boottime: true, Servers: 5})
	kept("a TTL of 2 s", Config{Faults: AllFaults(), Boottime: true, TTL: 2 * time.Second})
}

// TestKept: a lease of 30 s survives the fault of one server, and an owner that nothing happens to loses none.
func TestKept(t *testing.T) {
	t.Parallel()
	n := runs(5000, 40)
	for _, faults := range [][]Fault{nil, {KillLeader}, {JumpNode}, {JumpServer}, {KillNode}} {
		if r := Sum(Config{Faults: faults}, n); r.Lost != 0 {
			t.Errorf("%v: %d leases were lost", faults, r.Lost)
		}
	}
}

// TestLate: a process that is stopped between its check and its write makes it when it goes on, after others had the
// console. A fence process that is not stopped with it has closed the connection by then.
func TestLate(t *testing.T) {
	t.Parallel()
	n := runs(20_000, 200)
	r := Sum(Config{TTL: 10 * time.Second, Faults: []Fault{StopNode}}, n)
	t.Log(show(n, r))
	if r.Late == 0 || r.Unfenced != 0 {
		t.Errorf("%d writes came late, and a fence has let %d pass; want some and none", r.Late, r.Unfenced)
	}
}

// TestBroken breaks a rule, or a condition of the rules, and the judge must find it.
func TestBroken(t *testing.T) {
	t.Parallel()
	const most = 1000
	for name, c := range map[string]Config{
		// Where two are broken, the rule about expired keys alone would keep the promises.
		"a lease counts from the answer":           {Break: CountFromAnswer | Impatient, Consoles: 2, Agents: 4, Faults: []Fault{SlowNode}},
		"a lease does not end by itself":           {Break: NoEnd, TTL: 10 * time.Second, Faults: []Fault{CutNode}},
		"a key that is held is taken":              {Break: ClaimHeld},
		"the key is freed before the lease ends":   {Break: ReleaseFirst},
		"no margin, and a clock jumps 3 s":         {Break: Impatient, Margin: -1, Jump: 3 * time.Second, Faults: []Fault{JumpServer, CutNode}},
		"an expired key is taken at once":          {Break: Impatient, Jump: 20 * time.Second, Faults: []Fault{JumpServer, CutNode}},
		"a suspended machine's clock stands still": {Break: Impatient, Faults: []Fault{Suspend}},
	} {
		found := 0
		for seed := range uint64(most) {
			c.Seed = seed
			if r := Run(c); len(r.Violations) != 0 {
				found++
				t.Logf("%s: seed %d, after %v: %s", name, seed, r.Violations[0].At, r.Violations[0].What)
				break
			}
		}
		if found == 0 {
			t.Errorf("%s: the judge finds nothing in %d histories", name, most)
		}
	}
}

// TestJumps: a clock of a server may jump by nearly a TTL, because the markers of expired keys last that long, and who
// finds one waits for the length of a lease.
func TestJumps(t *testing.T) {
	t.Parallel()
	for _, faults := range [][]Fault{{JumpServer, CutNode}, {JumpServer, JumpServer, StopNode, KillNode}, {JumpServer, KillLeader, CutNode}} {
		n := runs(20_000, 60)
		r := Sum(Config{Jump: 28 * time.Second, Faults: faults}, n)
		t.Log(show(n, r))
		for _, v := range r.Violations {
			t.Errorf("%v: seed %d, after %v: %s", faults, v.Seed, v.At, v.What)
		}
	}
}

// TestSame: the seed alone decides what happens.
func TestSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		c := Config{Seed: seed, Faults: AllFaults()}
		if a, b := Run(c), Run(c); !reflect.DeepEqual(a, b) {
			t.Errorf("two runs with seed %d differ: %+v and %+v", seed, a, b)
		}
	}
}
