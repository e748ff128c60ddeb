//go:build long

package soak

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// The load of TestThousandSessions, and its limits.
const (
	thousand       = 1000
	thousandBlocks = 8
	thousandBlock  = 4 << 10   // bytes, in each direction
	thousandMemory = 150 << 10 // KiB, of idle sessions
	thousandEach   = 12        // goroutines
)

// TestThousandSessions has a thousand terminals, each with a user and a connection of its own, in one program. A block
// of each stream goes up, is checked at the server, and is answered by a block of the stream down, which no other
// session has. The server knows a stream by its login; nothing in the stream says so.
func TestThousandSessions(t *testing.T) {
	var mu sync.Mutex // guards wrong
	var wrong []string
	s := lab.ServeSSH(
		t,
		sshserver.Config{NoAuth: true, Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			for block := range thousandBlocks {
				want := lab.StreamBlock("up-"+r.User, block, thousandBlock)
				got := make([]byte, len(want))
				n, err := io.ReadFull(r.Stdin, got)
				if d := lab.Difference(string(got[:n]), want); d != "" {
					mu.Lock()
					wrong = append(wrong, fmt.Sprintf("%s, block %d (%v): %s", r.User, block, err, d))
					mu.Unlock()
					return sshserver.Exit{Status: 1}
				}
				if _, err := io.WriteString(r.Stdout, lab.StreamBlock("down-"+r.User, block, thousandBlock)); err != nil {
					return sshserver.Exit{Status: 1}
				}
			}
			rest, _ := io.ReadAll(r.Stdin) // until the session is closed
			if len(rest) > 0 {
				mu.Lock()
				wrong = append(wrong, fmt.Sprintf("%s: %d bytes too many: %q", r.User, len(rest), lab.Tail(string(rest), 64)))
				mu.Unlock()
			}
			return sshserver.Exit{}
		}},
	)
	h := lab.NewHome(t, fmt.Sprintf("[session]\nmax_sessions = %d", thousand))
	h.Trust(t, s.KnownHostsLine())
	h.Program = lab.PlainBinary // the race detector's memory is not the program's
	fresh := total(goroutinesOf(t, h.Connect(t, "--log-level", "error")))
	c := h.Connect(t, "--log-level", "error")
	empty := lab.StatusField(t, c.PID, "VmRSS")

	ids, cursors := make([]string, thousand), make([]string, thousand)
	user := func(i int) string { return fmt.Sprintf("user%d", i) }
	began := time.Now()
	lab.ForEach(t, thousand, 32, func(i int) error {
		r, err := c.Try(t.Context(), lab.ToolSession, lab.OpenSSH, s.Port(), user(i))
		if ids[i], cursors[i] = r.SessionID, r.Cursor; err == nil && r.State != "open" {
			err = fmt.Errorf("open: %s", r.Text)
		}
		return err
	})
	t.Logf("%d sessions opened in %v", thousand, time.Since(began).Round(time.Millisecond))
	if n := s.Stats(); n.Open != thousand || n.SessionsOpen != thousand {
		t.Errorf("the server has %d connections and %d sessions, want %d of each", n.Open, n.SessionsOpen, thousand)
	}

	idle := lab.StatusField(t, c.PID, "VmRSS")
	t.Logf("memory: %d KiB empty, %d KiB with %d idle sessions", empty, idle, thousand)
	if idle > thousandMemory {
		t.Errorf("%d idle sessions take %d KiB, want at most %d", thousand, idle, thousandMemory)
	}

	// All sessions have sent block n before the first sends the next, so that all are under way at any time.
	began = time.Now()
	for block := range thousandBlocks {
		lab.ForEach(t, thousand, 64, func(i int) error {
			r, err := c.Try(
				t.Context(),
				lab.ToolIO,
				`{"action":"write","session_id":%s,"data":%s}`,
				ids[i],
				lab.StreamBlock("up-"+user(i), block, thousandBlock),
			)
			if err == nil && r.ErrorCode != "" {
				err = fmt.Errorf("write: %s", lab.Tail(r.Text, 512))
			}
			return err
		})
		lab.ForEach(t, thousand, 64, func(i int) error {
			want := lab.StreamBlock("down-"+user(i), block, thousandBlock)
			got, next, err := c.Take(t.Context(), ids[i], cursors[i], len(want))
			cursors[i] = next
			if d := lab.Difference(got, want); err == nil && d != "" {
				err = fmt.Errorf("block %d: %s", block, d)
			}
			return err
		})
	}
	t.Logf(
		"%d blocks of %d bytes each way in %v",
		thousand*thousandBlocks,
		thousandBlock,
		time.Since(began).Round(time.Millisecond),
	)

	// Once more, whole: the buffers hold each stream, and nothing besides.
	var mubuf sync.Mutex // guards buffered
	var buffered int
	lab.ForEach(t, thousand, 64, func(i int) error {
		var want strings.Builder
		for block := range thousandBlocks {
			want.WriteString(lab.StreamBlock("down-"+user(i), block, thousandBlock))
		}
		r, err := c.Try(t.Context(), lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","max_bytes":1000000,"format":"raw"}`, ids[i])
		if d := lab.Difference(r.Chunk, want.String()); err == nil && d != "" {
			err = fmt.Errorf("the whole stream: %s", d)
		}
		mubuf.Lock()
		buffered += int(r.BufferedBytes)
		mubuf.Unlock()
		return err
	})
	memory := lab.StatusField(t, c.PID, "VmRSS")
	t.Logf(
		"memory: %d KiB empty, %d KiB with %d sessions, whose buffers hold %d KiB",
		empty,
		memory,
		thousand,
		buffered>>10,
	)
	if most := thousandMemory + buffered>>10; memory > most {
		t.Errorf(
			"%d sessions take %d KiB after traffic, want at most %d: what idle ones may take, and the %d KiB that are buffered",
			thousand,
			memory,
			most,
			buffered>>10,
		)
	}
	goroutines := goroutinesOf(t, c)
	all := total(goroutines) - fresh
	t.Logf("goroutines: %d more than in a fresh program, %.2f for each session", all, float64(all)/thousand)
	if all > thousand*thousandEach {
		t.Errorf("more than %d goroutines for each of %d sessions: %v", thousandEach, thousand, goroutines)
	}
	// The program is gone, so that the server has seen all that it sent.
	lab.Eventually(t, "the end of every session", func() bool { return s.Stats().SessionsOpen == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(wrong) > 0 {
		t.Errorf("the server was sent %d wrong streams, among them: %s", len(wrong), wrong[0])
	}
}
