package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestManyCallsInFlight has 200 calls in flight at once, one of them a read that waits for half a minute and others that
// wait for a second: none is held up by another.
func TestManyCallsInFlight(t *testing.T) {
	const (
		waiting, quick = 100, 99
		longest        = 2 * time.Second
	)
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	for _, transport := range []struct {
		name    string
		connect func(*testing.T) tools
	}{
		{"stdio", func(t *testing.T) tools { return h.connect(t).tools }},
		{"HTTP", func(t *testing.T) tools {
			p, url := h.startHTTP(t)
			return p.dial(t, url, "").tools
		}},
	} {
		t.Run(transport.name, func(t *testing.T) {
			c := transport.connect(t)
			id, other := c.open(t, s), c.open(t, s)
			var long sync.WaitGroup
			var ended time.Time
			long.Go(func() {
				r, err := c.try(
					t.Context(),
					toolIO,
					`{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":30000}`,
					id,
				)
				ended = time.Now()
				if err != nil || !r.EOF {
					t.Errorf("the long read, whose session was closed: %v %s", err, r.text)
				}
			})
			eventually(t, "the long read", func() bool {
				return c.call(t, toolSession, `{"action":"status","session_id":%s}`, id).Session.WaitingReaders == 1
			})
			begin := time.Now()
			each(t, waiting+quick, waiting+quick, func(i int) error {
				arguments, tool := `{"action":"status","session_id":%s}`, toolSession
				if i < waiting {
					arguments, tool = `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":1000}`, toolIO
				}
				_, err := c.try(t.Context(), tool, arguments, other)
				if took := time.Since(begin); err == nil && took > longest {
					err = fmt.Errorf("call %d of %s was answered after %v, want at most %v", i, tool, took, longest)
				}
				return err
			})
			t.Logf("%d calls were answered within %v", waiting+quick, time.Since(begin))
			closed := time.Now()
			c.close(t, id)
			long.Wait()
			if ended.Before(closed) {
				t.Error("the long read was answered before its session was closed")
			}
			c.close(t, other)
		})
	}
}
