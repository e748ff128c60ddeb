package shells

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/term"
)

// openInProcess opens a session with a shell of this process's own SSH server.
func openInProcess(t *testing.T) *session.Session {
	t.Helper()
	server, err := sshserver.Listen(
		sshserver.Config{Passwords: map[string]string{"demo": "volume-1138"}, Shell: "/bin/dash", MaxSessions: 64},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	o := new(lab.Namespace).Operator(t) // needs nothing of a lab but its way to open sessions
	o.Knows(server.KnownHostsLine() + "\n")
	s := o.MustOpen(
		term.Target{
			Protocol: "ssh",
			Host:     "127.0.0.1",
			Port:     server.Port(),
			User:     "demo",
			Auth:     term.Auth{Password: "volume-1138"},
		},
	)
	lab.ReadUntil(t, s, 0, `[$#] $`)
	return s
}

// TestScenarioThousandRuns runs a thousand commands through each lane: no command loses a byte, gets another's, or a
// wrong code.
func TestScenarioThousandRuns(t *testing.T) {
	const runs = 1000
	for _, lane := range []session.Lane{session.LaneTerminal, session.LaneChannel} {
		t.Run(string(lane), func(t *testing.T) {
			s := openInProcess(t)
			workers := 1
			if lane == session.LaneChannel {
				workers = 8
			}
			began := time.Now()
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := w; i < runs; i += workers {
						// The status alone would not show a lost line end.
						command := session.ExecRequest{
							Command: fmt.Sprintf("echo a line %d; (exit %d)", i, i%256),
							Lane:    lane,
							Timeout: lab.Patience,
						}
						r, err := s.Exec(t.Context(), command)
						// On a busy machine the server may send the output too long after the status. The result says so.
						for tries := 0; err == nil && r.Exit.Background && tries < 10; tries++ {
							r, err = s.Exec(t.Context(), command)
						}
						if err != nil {
							t.Errorf("run %d: %v", i, err)
							return
						}
						if got, want := string(r.Stdout.Bytes()), fmt.Sprintf("a line %d\n", i); got != want || !r.Exit.Known ||
							r.Exit.Code != i%256 ||
							r.ID != "" ||
							r.Lane != lane {
							t.Errorf("run %d: stdout %q, exit %+v (%s, %s, id %q), waiting %+v, screen %q", i, got, r.Exit, r.Done, r.ExitReason, r.ID, r.WaitingFor, lab.Screenful(s))
						}
					}
				})
			}
			wg.Wait()
			t.Logf(
				"%d runs through the %s lane, %d at a time: %s each",
				runs,
				lane,
				workers,
				(time.Since(began) / runs).Round(10*time.Microsecond),
			)
		})
	}
}

// TestScenarioNumbers prints two megabytes: more than an exec keeps.
func TestScenarioNumbers(t *testing.T) {
	s := openInProcess(t)
	var all bytes.Buffer
	for i := range 300000 {
		fmt.Fprintln(&all, i+1)
	}
	expected := func(from, to int64) []byte { return all.Bytes()[from:to] }
	for _, budget := range []int{0, 100, 4 << 10, 200 << 10} {
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{
				Command:   "seq 1 300000; (exit 3)",
				Lane:      session.LaneTerminal,
				Timeout:   2 * lab.Patience,
				MaxOutput: budget,
			},
		)
		if err != nil {
			lab.Fatal(t, err)
		}
		if budget == 0 {
			budget = 16 << 10
		}
		wantVolume(t, s, r, int64(all.Len()), budget, expected)
		if !r.Exit.Known || r.Exit.Code != 3 {
			t.Errorf("ended with %+v (%s, %s); want code 3", r.Exit, r.Done, r.ExitReason)
		}
	}
	lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
}

// TestScenarioBase64 prints 64 MiB, while a reader follows the terminal. Memory must not grow with it.
func TestScenarioBase64(t *testing.T) {
	const (
		records = 6213378 // of eight bytes each
		line    = 57      // bytes encoded in one line of base64(1)
		size    = (records*8/line)*77 + (records*8%line+2)/3*4 + 1
	)
	expected := func(from, to int64) []byte {
		var out []byte
		first := from / 77
		for l := first; int64(len(out)) < to-first*77; l++ {
			plain := make([]byte, 0, line)
			for i := l * line; i < min((l+1)*line, records*8); i++ {
				plain = append(plain, fmt.Sprintf("%d\n", 1000000+i/8)[i%8])
			}
			out = append(base64.StdEncoding.AppendEncode(out, plain), '\n')
		}
		return out[from-first*77 : to-first*77]
	}
	s := openInProcess(t)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most uint64
	began := time.Now()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: fmt.Sprintf("seq 1000000 %d | base64; (exit 3)", 1000000+records-1),
			Lane:    session.LaneTerminal,
			Timeout: 3 * lab.Patience,
			Wait:    200 * time.Millisecond,
		},
	)
	for err == nil && r.Done == session.DoneRunning {
		if got := len(r.Stdout.Bytes()); got > 16<<10 {
			t.Fatalf("a result of %d bytes", got)
		}
		runtime.GC() // the amount of uncollected garbage depends on the load
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
		r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: 200 * time.Millisecond})
	}
	if err != nil {
		lab.Fatal(t, err)
	}
	took := time.Since(began)
	if grown := int64(most) - int64(before.HeapAlloc); grown > 40<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	} else {
		t.Logf(
			"%d bytes in %s: %d MiB/s; the heap grew by %d KiB; %d bytes lost", r.Stdout.Total, took.Round(time.Millisecond),
			int64(float64(r.Stdout.Total)/took.Seconds())>>20, grown>>10, r.Lost,
		)
	}
	wantVolume(t, s, r, size, 16<<10, expected)
	if !r.Exit.Known || r.Exit.Code != 3 {
		t.Errorf("ended with %+v (%s, %s); want code 3", r.Exit, r.Done, r.ExitReason)
	}
	lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
}

// wantVolume checks a result that is cut to its budget: its figures for the rest must be true, and the part of the rest
// that is still kept must be readable.
func wantVolume(
	t *testing.T,
	s *session.Session,
	r session.ExecResult,
	size int64,
	budget int,
	expected func(from, to int64) []byte,
) {
	t.Helper()
	o := r.Stdout
	// Bytes that a slow reader of the terminal lost are counted with the CR that the terminal adds to each line end.
	if all := o.Total + r.Lost; all < size || all > size+r.Lost/2 {
		t.Errorf("got %d bytes and %d lost, want the command's %d", o.Total, r.Lost, size)
	}
	if r.Lost > 0 { // after the gap, all offsets are lower
		before := expected
		expected = func(from, to int64) []byte {
			if to <= int64(len(o.Head)) {
				return before(from, to)
			}
			return before(size-o.Total+from, size-o.Total+to)
		}
	}
	// Of the start, 64 KiB are kept.
	if len(o.Head)+len(o.Tail) > budget || len(o.Head) < min(budget/2, 64<<10)-4 || len(o.Tail) < budget/2-4 {
		t.Errorf("%d and %d bytes in a result of at most %d", len(o.Head), len(o.Tail), budget)
	}
	if int64(len(o.Head))+o.Omitted()+int64(len(o.Tail)) != o.Total || o.TailStart+int64(len(o.Tail)) != o.Total {
		t.Errorf(
			"%d bytes, %d left out, %d bytes from %d on: not %d in all",
			len(o.Head),
			o.Omitted(),
			len(o.Tail),
			o.TailStart,
			o.Total,
		)
	}
	if !bytes.Equal(o.Head, expected(0, int64(len(o.Head)))) || !bytes.Equal(o.Tail, expected(o.TailStart, o.Total)) {
		t.Errorf("the result holds %.200q ... %.200q", o.Head, o.Tail)
	}
	if r.ID == "" {
		t.Fatal("nothing names the rest of the output")
	}
	var read, dropped int64
	c, err := s.ReadExec(t.Context(), r.ID, "stdout", session.ReadRequest{Cursor: 0, MaxBytes: 100000, NoWait: true})
	if err != nil || c.Start != 0 || c.Dropped != 0 {
		t.Fatalf("the first read: %d bytes from %d on, %d dropped, %v; want the start", len(c.Data), c.Start, c.Dropped, err)
	}
	for {
		// The gap may lie within the kept part.
		if r.Lost == 0 && !bytes.Equal(c.Data, expected(c.Start, c.Next)) {
			t.Fatalf("from %d to %d: %.200q", c.Start, c.Next, c.Data)
		}
		if read += int64(len(c.Data)); c.EOF {
			break
		}
		next := c.Next
		c, err = s.ReadExec(t.Context(), r.ID, "stdout", session.ReadRequest{Cursor: next, MaxBytes: 100000, NoWait: true})
		// Between the start that is kept and the end there may be one hole.
		hole := dropped == 0 && next == 64<<10
		if err != nil || c.Start != next+c.Dropped || c.Dropped > 0 && !hole || len(c.Data) == 0 {
			t.Fatalf("the read from %d on: %d bytes from %d on, %d dropped, %v", next, len(c.Data), c.Start, c.Dropped, err)
		}
		if dropped += c.Dropped; c.Dropped > 0 && c.Start > o.TailStart {
			t.Errorf("the end is kept from %d on, and the result has it from %d on", c.Start, o.TailStart)
		}
	}
	if dropped+read != o.Total || (size > 1<<20+64<<10) != (dropped > 0) {
		t.Errorf("%d bytes are kept and %d not: not %d in all", read, dropped, o.Total)
	}
}
