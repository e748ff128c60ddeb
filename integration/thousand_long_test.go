//go:build long

package integration

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
)

// What TestThousandSessions sends, and what it allows.
const (
	thousand       = 1000
	thousandBlocks = 8
	thousandBlock  = 4 << 10   // bytes, in each direction
	thousandMemory = 150 << 10 // KiB, of idle sessions
	thousandEach   = 12        // goroutines
)

// TestThousandSessions has a thousand terminals, each with a user and a connection of its own, in one program. A block
// of each stream goes up, is checked at the server, and is answered by a block of the stream down, which no other
// session has. The server knows a stream by who has logged in; nothing in it says so.
func TestThousandSessions(t *testing.T) {
	var mu sync.Mutex // guards wrong
	var wrong []string
	s := serve(t, sshserver.Config{NoAuth: true, Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
		for block := range thousandBlocks {
			want := streamBlock("up-"+r.User, block, thousandBlock)
			got := make([]byte, len(want))
			n, err := io.ReadFull(r.Stdin, got)
			if d := differ(string(got[:n]), want); d != "" {
				mu.Lock()
				wrong = append(wrong, fmt.Sprintf("%s, block %d (%v): %s", r.User, block, err, d))
				mu.Unlock()
				return sshserver.Exit{Status: 1}
			}
			if _, err := io.WriteString(r.Stdout, streamBlock("down-"+r.User, block, thousandBlock)); err != nil {
				return sshserver.Exit{Status: 1}
			}
		}
		rest, _ := io.ReadAll(r.Stdin) // until the session is closed
		if len(rest) > 0 {
			mu.Lock()
			wrong = append(wrong, fmt.Sprintf("%s: %d bytes too many: %q", r.User, len(rest), tail(string(rest), 64)))
			mu.Unlock()
		}
		return sshserver.Exit{}
	}})
	h := newHome(t, fmt.Sprintf("[session]\nmax_sessions = %d", thousand))
	h.trust(t, s.KnownHostsLine())
	h.program = plainBinary // the race detector's memory is not the program's
	fresh := total(goroutinesOf(t, h.connect(t, "--log-level", "error")))
	c := h.connect(t, "--log-level", "error")
	empty := statusField(t, c.pid, "VmRSS")

	ids, cursors := make([]string, thousand), make([]string, thousand)
	user := func(i int) string { return fmt.Sprintf("user%d", i) }
	began := time.Now()
	each(t, thousand, 32, func(i int) error {
		r, err := c.try(t.Context(), toolSession, openSSH, s.Port(), user(i))
		if ids[i], cursors[i] = r.SessionID, r.Cursor; err == nil && r.State != "open" {
			err = fmt.Errorf("open: %s", r.text)
		}
		return err
	})
	t.Logf("%d sessions opened in %v", thousand, time.Since(began).Round(time.Millisecond))
	if n := s.Stats(); n.Open != thousand || n.SessionsOpen != thousand {
		t.Errorf("the server has %d connections and %d sessions, want %d of each", n.Open, n.SessionsOpen, thousand)
	}

	idle := statusField(t, c.pid, "VmRSS")
	t.Logf("memory: %d KiB empty, %d KiB with %d idle sessions", empty, idle, thousand)
	if idle > thousandMemory {
		t.Errorf("%d idle sessions take %d KiB, want at most %d", thousand, idle, thousandMemory)
	}

	// All sessions have sent block n before the first sends the next, so that all are under way at any time.
	began = time.Now()
	for block := range thousandBlocks {
		each(t, thousand, 64, func(i int) error {
			r, err := c.try(
				t.Context(),
				toolIO,
				`{"action":"write","session_id":%s,"data":%s}`,
				ids[i],
				streamBlock("up-"+user(i), block, thousandBlock),
			)
			if err == nil && r.ErrorCode != "" {
				err = fmt.Errorf("write: %s", tail(r.text, 512))
			}
			return err
		})
		each(t, thousand, 64, func(i int) error {
			want := streamBlock("down-"+user(i), block, thousandBlock)
			got, next, err := c.take(t.Context(), ids[i], cursors[i], len(want))
			cursors[i] = next
			if d := differ(got, want); err == nil && d != "" {
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
	each(t, thousand, 64, func(i int) error {
		var want strings.Builder
		for block := range thousandBlocks {
			want.WriteString(streamBlock("down-"+user(i), block, thousandBlock))
		}
		r, err := c.try(t.Context(), toolIO, `{"action":"read","session_id":%s,"cursor":"0","max_bytes":1000000}`, ids[i])
		if d := differ(r.Chunk, want.String()); err == nil && d != "" {
			err = fmt.Errorf("the whole stream: %s", d)
		}
		mubuf.Lock()
		buffered += int(r.BufferedBytes)
		mubuf.Unlock()
		return err
	})
	memory := statusField(t, c.pid, "VmRSS")
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
	eventually(t, "the end of every session", func() bool { return s.Stats().SessionsOpen == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(wrong) > 0 {
		t.Errorf("the server was sent %d wrong streams, among them: %s", len(wrong), wrong[0])
	}
}
