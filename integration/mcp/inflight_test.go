package mcp

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// TestManyCallsInFlight has 200 calls in flight at once, one of them a read that waits for half a minute and others
// that wait for a second: no call delays another.
func TestManyCallsInFlight(t *testing.T) {
	const (
		waiting, quick = 100, 99
		// Behind the long read a call would take 30 s, and one behind another the waiting ones would take 100 s.
		longest = 20 * time.Second
	)
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	for _, transport := range []struct {
		name    string
		connect func(*testing.T) lab.Tools
	}{
		{"stdio", func(t *testing.T) lab.Tools { return h.Connect(t).Tools }},
		{"HTTP", func(t *testing.T) lab.Tools {
			p, url := h.StartHTTP(t)
			return p.Dial(t, url, "").Tools
		}},
	} {
		t.Run(transport.name, func(t *testing.T) {
			c := transport.connect(t)
			id, other := c.Open(t, s), c.Open(t, s)
			var long sync.WaitGroup
			var ended time.Time
			long.Go(func() {
				r, err := c.Try(
					t.Context(),
					lab.ToolIO,
					`{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":30000}`,
					id,
				)
				ended = time.Now()
				if err != nil || !r.EOF {
					t.Errorf("the long read of a closed session: %v %s", err, r.Text)
				}
			})
			lab.Eventually(t, "the long read", func() bool {
				return c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).Session.WaitingReaders == 1
			})
			begin := time.Now()
			lab.ForEach(t, waiting+quick, waiting+quick, func(i int) error {
				arguments, tool := `{"action":"status","session_id":%s}`, lab.ToolSession
				if i < waiting {
					arguments, tool = `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":1000}`, lab.ToolIO
				}
				_, err := c.Try(t.Context(), tool, arguments, other)
				if took := time.Since(begin); err == nil && took > longest {
					err = fmt.Errorf("call %d of %s was answered after %v, want at most %v", i, tool, took, longest)
				}
				return err
			})
			t.Logf("%d calls were answered within %v", waiting+quick, time.Since(begin))
			closed := time.Now()
			c.Close(t, id)
			long.Wait()
			if ended.Before(closed) {
				t.Error("the long read was answered before its session was closed")
			}
			c.Close(t, other)
		})
	}
}
