package lease_test

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// A stroke is one write of a node to a console or, with Acquired, the report that the node has just acquired it. Times
// are of CLOCK_MONOTONIC, which all processes share, in nanoseconds.
type stroke struct {
	Device   string
	Token    uint64
	Acquired int64 `json:",omitempty"` // after Acquire has returned
	Checked  int64 `json:",omitempty"` // before the check
	Until    int64 `json:",omitempty"` // the end of the lease, as the owner saw it between the check and the write
}

// A judge is the server of all consoles, which counts the strokes of each owner.
//
// It checks two rules. No owner may pass a check after another has acquired the console. And no node may acquire a
// console before the time until which an owner that it has replaced took its lease to last.
//
// It cannot demand that no stroke arrives late: a process that was stopped between the check and the write types it
// when it goes on. Such strokes are counted, and with them those that the judge was too slow to read in time.
type judge struct {
	addr string

	mu       sync.Mutex // guards the following
	consoles map[string]*console
	faults   []string
	late     int // strokes of former owners that were checked in time
}

type console struct {
	owner    uint64 // the greatest token so far
	acquired int64
	until    map[uint64]int64
	first    map[uint64]int64 // the first one of until
	strokes  map[uint64]int
}

// newJudge starts a judge. Its findings fail the test, at the end.
func newJudge(tb testing.TB) *judge {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	j := &judge{addr: l.Addr().String(), consoles: make(map[string]*console)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := make(map[net.Conn]bool)
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() { j.read(c) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
		for i, f := range j.faults {
			if tb.Error(f); i == 10 {
				tb.Errorf("and %d more", len(j.faults)-i-1)
				break
			}
		}
		tb.Logf("%d consoles; %d strokes of former owners were read late, all checked before the take-over", len(j.consoles), j.late)
	})
	return j
}

func (j *judge) read(c net.Conn) {
	lines := json.NewDecoder(c)
	for {
		var s stroke
		if lines.Decode(&s) != nil {
			return
		}
		j.see(s)
	}
}

func (j *judge) see(s stroke) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.consoles[s.Device]
	if c == nil {
		c = &console{until: make(map[uint64]int64), first: make(map[uint64]int64), strokes: make(map[uint64]int)}
		j.consoles[s.Device] = c
	}
	fault := func(format string, args ...any) {
		j.faults = append(j.faults, s.Device+": "+fmt.Sprintf(format, args...))
	}
	if s.Acquired != 0 {
		for token, until := range c.until {
			if token < s.Token && until > s.Acquired {
				fault("token %d has it %v before the end of the lease of token %d", s.Token, time.Duration(until-s.Acquired), token)
			}
		}
		if s.Token > c.owner {
			c.owner, c.acquired = s.Token, s.Acquired
		}
		return
	}
	if c.strokes[s.Token]++; c.strokes[s.Token] == 1 {
		c.first[s.Token] = s.Until
	}
	c.until[s.Token] = max(c.until[s.Token], s.Until)
	switch {
	case s.Token > c.owner:
		fault("token %d types before it was acquired", s.Token)
	case s.Token == c.owner:
	case s.Checked > c.acquired:
		fault("token %d has passed a check %v after token %d had the console", s.Token, time.Duration(s.Checked-c.acquired), c.owner)
	case s.Until > c.acquired:
		fault("token %d has it %v before the end of the lease of token %d", c.owner, time.Duration(s.Until-c.acquired), s.Token)
	default:
		j.late++
	}
}

// typed waits until a token has typed into a console.
func (j *judge) typed(tb testing.TB, device string, token uint64) {
	tb.Helper()
	j.await(tb, device, token, func(c *console) bool { return c.strokes[token] > 0 })
}

// renewed waits until a token has typed into a console after a renewal of its lease.
func (j *judge) renewed(tb testing.TB, device string, token uint64) {
	tb.Helper()
	// The times that an owner reports for one end differ by the time between two readings of the clock.
	j.await(tb, device, token, func(c *console) bool {
		return c.strokes[token] > 0 && c.until[token]-c.first[token] > int64(short/12)
	})
}

func (j *judge) await(tb testing.TB, device string, token uint64, is func(*console) bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		j.mu.Lock()
		c := j.consoles[device]
		ok := c != nil && is(c)
		j.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("token %d has not typed into %s, or not after a renewal", token, device)
		}
	}
}

// TestJudge shows the judge each fault, because a judge that finds nothing proves nothing.
func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		strokes []stroke
		faults  int
		late    int
	}{
		"one after the other": {[]stroke{{Token: 1, Acquired: 10}, {Token: 1, Checked: 11, Until: 20}, {Token: 2, Acquired: 21}, {Token: 2, Checked: 22, Until: 40}}, 0, 0},
		"late":                {[]stroke{{Token: 1, Acquired: 10}, {Token: 2, Acquired: 21}, {Token: 1, Checked: 19, Until: 20}}, 0, 1},
		"checked afterwards":  {[]stroke{{Token: 1, Acquired: 10}, {Token: 2, Acquired: 21}, {Token: 1, Checked: 22, Until: 20}}, 1, 0},
		"taken too early":     {[]stroke{{Token: 1, Acquired: 10}, {Token: 1, Checked: 11, Until: 20}, {Token: 2, Acquired: 19}}, 1, 0},
		"seen too late":       {[]stroke{{Token: 1, Acquired: 10}, {Token: 2, Acquired: 19}, {Token: 1, Checked: 11, Until: 20}}, 1, 0},
		"without a lease":     {[]stroke{{Token: 1, Checked: 11, Until: 20}}, 1, 0},
	} {
		j := &judge{consoles: make(map[string]*console)}
		for _, s := range tt.strokes {
			j.see(s)
		}
		if len(j.faults) != tt.faults || j.late != tt.late {
			t.Errorf("%s: faults %q and %d late, want %d and %d", name, j.faults, j.late, tt.faults, tt.late)
		}
	}
}
