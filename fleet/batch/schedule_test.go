package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/fleet/batch"
)

// hosts returns n gates without a name.
func hosts(n int) []string { return make([]string, n) }

// behind returns n gates with this name.
func behind(gate string, n int) []string { return slices.Repeat([]string{gate}, n) }

// A trace is the record of a simulated run.
type trace struct {
	waves [][]int // hosts, in the order in which they began, by the time at which they did
	most  int     // hosts at a time
	ran   []int
	why   string
}

// simulate runs all hosts in a bubble: each takes a second, or as long as takes says, and fails if fails has it.
func simulate(t *testing.T, r batch.Rules, gates []string, fails []int, takes map[int]time.Duration) (tr trace) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := batch.New(r, gates)
		ends := make(chan int)
		begin := time.Now()
		last := time.Duration(-1)
		for !s.Over() {
			for i, ok := s.Next(); ok; i, ok = s.Next() {
				if at := time.Since(begin); at != last {
					last = at
					tr.waves = append(tr.waves, nil)
				}
				tr.waves[len(tr.waves)-1] = append(tr.waves[len(tr.waves)-1], i)
				tr.ran = append(tr.ran, i)
				go func() {
					time.Sleep(max(takes[i], time.Second))
					ends <- i
				}()
			}
			tr.most = max(tr.most, s.Running())
			if s.Running() == 0 {
				t.Fatalf("no host runs, and the run is not over: %v of %d hosts have run", tr.ran, len(gates))
			}
			i := <-ends
			s.Done(i, slices.Contains(fails, i))
			// Others that end at the same moment must count before another host begins.
			synctest.Wait()
			for more := true; more; {
				select {
				case i := <-ends:
					s.Done(i, slices.Contains(fails, i))
					synctest.Wait()
				default:
					more = false
				}
			}
		}
		tr.why = s.Stopped()
	})
	slices.Sort(tr.ran)
	if len(slices.Compact(slices.Clone(tr.ran))) != len(tr.ran) {
		t.Errorf("hosts %v have run, one of them twice", tr.ran)
	}
	return tr
}

// waves writes the hosts of each moment down as "0 | 1-4 | 5-9".
func (tr trace) String() string {
	var all []string
	for _, w := range tr.waves {
		slices.Sort(w)
		if last := w[len(w)-1]; len(w) > 2 && last-w[0] == len(w)-1 {
			all = append(all, fmt.Sprintf("%d-%d", w[0], last))
			continue
		}
		all = append(all, strings.Trim(fmt.Sprint(w), "[]"))
	}
	return strings.Join(all, " | ")
}

// No rule lets a host begin that it must keep back, whatever fails.
func TestRules(t *testing.T) {
	n, pct := func(n int) batch.Count { return batch.Count{N: n} }, func(p int) batch.Count { return batch.Count{Percent: p} }
	slow := func(i int, s int) map[int]time.Duration {
		return map[int]time.Duration{i: time.Duration(s) * time.Second}
	}
	for _, tt := range []struct {
		name  string
		rules batch.Rules
		gates []string
		fails []int
		takes map[int]time.Duration
		waves string
		why   string // in why the run has stopped; empty: it has not
	}{
		{"no host", batch.Rules{}, hosts(0), nil, nil, "", ""},
		{"one host", batch.Rules{}, hosts(1), nil, nil, "0", ""},
		{"sixteen at a time", batch.Rules{}, hosts(40), nil, nil, "0-15 | 16-31 | 32-39", ""},
		{"as many as there are", batch.Rules{MaxParallel: 100}, hosts(40), nil, nil, "0-39", ""},
		{"one at a time", batch.Rules{MaxParallel: 1}, hosts(3), nil, nil, "0 | 1 | 2", ""},
		{"failures stop nothing", batch.Rules{MaxParallel: 2}, hosts(6), []int{0, 1, 2, 3, 4, 5}, nil, "0 1 | 2 3 | 4 5", ""},
		{"a slow host keeps one place", batch.Rules{MaxParallel: 2}, hosts(5), nil, slow(0, 3), "0 1 | 2 | 3 | 4", ""},
		{"canary, then all", batch.Rules{Canary: 1}, hosts(10), nil, nil, "0 | 1-9", ""},
		{"canary fails", batch.Rules{Canary: 1}, hosts(10), []int{0}, nil, "0", "canary"},
		{"two canaries, the second fails", batch.Rules{Canary: 2}, hosts(10), []int{1}, nil, "0 1", "canary"},
		{"two canaries, the first fails before the second ends", batch.Rules{Canary: 2}, hosts(10), []int{0}, slow(1, 5), "0 1", "canary"},
		{"three canaries one at a time, the first fails", batch.Rules{Canary: 3, MaxParallel: 1}, hosts(10), []int{0}, nil, "0", "canary"},
		{"as many canaries as hosts", batch.Rules{Canary: 4}, hosts(4), nil, nil, "0-3", ""},
		{"more canaries than hosts", batch.Rules{Canary: 9}, hosts(4), []int{3}, nil, "0-3", "canary"},
		{"canary tolerates what others may", batch.Rules{Canary: 1, StopOnFailures: n(5)}, hosts(10), []int{0}, nil, "0", "canary"},
		{"batches", batch.Rules{Size: n(4)}, hosts(10), nil, nil, "0-3 | 4-7 | 8 9", ""},
		{"a batch waits for its slowest host", batch.Rules{Size: n(2)}, hosts(4), nil, slow(1, 9), "0 1 | 2 3", ""},
		{"canary, then batches", batch.Rules{Canary: 1, Size: n(4)}, hosts(10), nil, nil, "0 | 1-4 | 5-8 | 9", ""},
		{"percent", batch.Rules{Size: pct(25)}, hosts(10), nil, nil, "0 1 | 2 3 | 4 5 | 6 7 | 8 9", ""},
		{"percent of few hosts is one", batch.Rules{Size: pct(10)}, hosts(3), nil, nil, "0 | 1 | 2", ""},
		{"100 percent", batch.Rules{Size: pct(100)}, hosts(5), nil, nil, "0-4", ""},
		{"canary, then percent of all", batch.Rules{Canary: 2, Size: pct(50)}, hosts(8), nil, nil, "0 1 | 2-5 | 6 7", ""},
		{"a batch above the parallel limit", batch.Rules{Size: n(4), MaxParallel: 3}, hosts(8), nil, nil, "0-2 | 3 | 4-6 | 7", ""},
		{"stop at the first failure", batch.Rules{StopOnFailures: n(1), MaxParallel: 2}, hosts(8), []int{1}, nil, "0 1", "1 failed"},
		{"stop at the second", batch.Rules{StopOnFailures: n(2), MaxParallel: 2}, hosts(8), []int{1, 2}, nil, "0 1 | 2 3", "2 failed"},
		{"one less than the limit", batch.Rules{StopOnFailures: n(3), MaxParallel: 4}, hosts(8), []int{0, 7}, nil, "0-3 | 4-7", ""},
		{"stop within a batch", batch.Rules{Size: n(6), StopOnFailures: n(1), MaxParallel: 2}, hosts(12), []int{2}, nil, "0 1 | 2 3", "1 failed"},
		{"stop while others run", batch.Rules{StopOnFailures: n(1), MaxParallel: 3}, hosts(9), []int{0}, slow(1, 4), "0-2", "1 failed"},
		{"failures of batches add up", batch.Rules{Size: n(2), StopOnFailures: n(2)}, hosts(8), []int{0, 3}, nil, "0 1 | 2 3", "2 failed"},
		{"the last host fails", batch.Rules{StopOnFailures: n(1)}, hosts(3), []int{2}, nil, "0-2", "1 failed"},
		{"stop at 10 percent", batch.Rules{Size: n(5), StopOnFailures: pct(10)}, hosts(20), []int{0, 6}, nil, "0-4 | 5-9", "2 failed, of the 2"},
		{"10 percent of few hosts is one", batch.Rules{Size: n(1), StopOnFailures: pct(10)}, hosts(5), []int{1}, nil, "0 | 1", "1 failed"},
		{"all fail at once", batch.Rules{StopOnFailures: n(1), MaxParallel: 4}, hosts(12), []int{0, 1, 2, 3}, nil, "0-3", "failed"},
		{"eight behind a jump host", batch.Rules{}, behind("gate", 20), nil, nil, "0-7 | 8-15 | 16-19", ""},
		{"others go on beside a full jump host", batch.Rules{MaxPerGate: 1}, append(behind("gate", 3), "", "", "other"), nil, nil, "0 3 4 5 | 1 | 2", ""},
		{"two jump hosts", batch.Rules{MaxPerGate: 2}, append(behind("a", 3), behind("b", 3)...), nil, nil, "0 1 3 4 | 2 5", ""},
		{"a jump host and a batch", batch.Rules{MaxPerGate: 1, Size: n(2)}, behind("a", 4), nil, nil, "0 | 1 | 2 | 3", ""},
		{"stop behind a jump host", batch.Rules{MaxPerGate: 1, StopOnFailures: n(1)}, behind("a", 4), []int{1}, nil, "0 | 1", "1 failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := simulate(t, tt.rules, tt.gates, tt.fails, tt.takes)
			if got.String() != tt.waves || (got.why == "") != (tt.why == "") || !strings.Contains(got.why, tt.why) {
				t.Errorf("%+v with failures of %v: hosts %s, stopped %q; want %s, %q",
					tt.rules, tt.fails, got, got.why, tt.waves, tt.why)
			}
			if most := max(tt.rules.MaxParallel, 0); most > 0 && got.most > most {
				t.Errorf("%d hosts at a time, want at most %d", got.most, most)
			}
			if got.why == "" && len(got.ran) != len(tt.gates) {
				t.Errorf("hosts %v have run, want all %d", got.ran, len(tt.gates))
			}
		})
	}
}

// A stop from outside, as by a person, lets the running hosts end and no other begin.
func TestStop(t *testing.T) {
	s := batch.New(batch.Rules{MaxParallel: 2}, hosts(4))
	s.Next()
	s.Next()
	s.Stop("canceled")
	if i, ok := s.Next(); ok || s.Over() {
		t.Errorf("Next after Stop = %d, %t, over %t; want no host, and the two that run", i, ok, s.Over())
	}
	s.Done(0, true)
	s.Done(1, false)
	if i, ok := s.Next(); ok || !s.Over() || s.Stopped() != "canceled" {
		t.Errorf("after Stop and the end of both: Next = %d, %t, over %t, stopped %q; want over, canceled",
			i, ok, s.Over(), s.Stopped())
	}
}

// Each random run starts no host after the failure that stops it.
func FuzzRules(f *testing.F) {
	f.Add(uint8(20), uint8(1), uint8(25), uint8(2), uint8(3), uint64(0b1010))
	f.Add(uint8(3), uint8(0), uint8(0), uint8(0), uint8(0), uint64(0))
	f.Fuzz(func(t *testing.T, n, canary, size, stop, parallel uint8, fails uint64) {
		r := batch.Rules{
			Canary: int(canary % 8), Size: batch.Count{Percent: int(size % 101)}, StopOnFailures: batch.Count{N: int(stop % 8)},
			MaxParallel: int(parallel % 8),
		}
		s := batch.New(r, hosts(int(n%64)))
		var failed, ran int
		queue := []int{}
		for !s.Over() {
			for i, ok := s.Next(); ok; i, ok = s.Next() {
				if r.StopOnFailures.N > 0 && failed >= r.StopOnFailures.N {
					t.Fatalf("%+v: host %d began after %d failures", r, i, failed)
				}
				if r.Canary > 0 && i >= r.Canary && ran < min(r.Canary, int(n%64)) {
					t.Fatalf("%+v: host %d began after %d of the canaries", r, i, ran)
				}
				queue = append(queue, i)
			}
			if len(queue) == 0 {
				t.Fatalf("%+v: the run is neither over nor under way", r)
			}
			i := queue[0]
			queue = queue[1:]
			bad := fails>>(i%64)&1 == 1
			if s.Done(i, bad); bad {
				failed++
			}
			ran++
		}
		if s.Stopped() == "" && ran != int(n%64) {
			t.Fatalf("%+v: %d of %d hosts have run, and nothing has stopped it", r, ran, n%64)
		}
	})
}
