package httpserve_test

import (
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/httpserve"
)

// Many clients that begin sessions without ending them leave no sessions and no memory behind.
func TestForgottenSessions(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{IdleTTL: 10 * time.Minute})
		s.handler.LimitMCPSessions(clients)
		for range 100 {
			s.initialize("", latest)
		}
		time.Sleep(20 * time.Minute)
		before := heap()
		for range clients {
			s.initialize("", latest)
		}
		most := heap()
		if n := s.handler.MCPSessions(); n != clients {
			t.Errorf("%d sessions, want %d", n, clients)
		}
		oldest, newest := s.initialize("", latest), s.initialize("", latest)
		for i := range clients - 1 {
			if i%100 == 0 {
				oldest.ask("tools/list", "") // a session in use stays
			}
			s.initialize("", latest)
		}
		if n := s.handler.MCPSessions(); n != clients {
			t.Errorf("%d sessions, want %d", n, clients)
		}
		s.refused(newest.ask("tools/list", ""), 404, "no such MCP session")
		if r := oldest.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call in a session in use = %d %s, want success", r.status, r.text)
		}
		if more := heap(); more-before > (most-before)*5/4 {
			t.Errorf("heap = %d KiB with as many sessions as before, then %d KiB; want no more", more>>10, most>>10)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		after := heap()
		t.Logf("heap: %d KiB before, %d KiB with %d sessions, %d KiB after", before>>10, most>>10, clients, after>>10)
		if n := s.handler.MCPSessions(); n != 0 {
			t.Errorf("sessions after their time = %d, want 0", n)
		}
		if left := int64(after) - int64(before); left > int64(most-before)/20 {
			t.Errorf("memory after the sessions = %d of %d bytes, want almost none", left, most-before)
		}
	})
}

// A client that begins ever more MCP sessions ends only those of its own token.
func TestSessionsOfAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{Tokens: allTokens})
		s.handler.LimitMCPSessions(clients)
		quiet, first := s.initialize(otherToken, latest), s.initialize(writeToken, latest)
		status, stream := s.initialize(writeToken, latest).listen(t.Context())
		if status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
		for range clients/len(allTokens) + 100 {
			s.initialize(writeToken, latest)
		}
		if n, most := s.handler.MCPSessions(), clients/len(allTokens); n != most+1 {
			t.Errorf("%d sessions, want %d of one token and one of another", n, most)
		}
		s.refused(first.ask("tools/list", ""), 404, "no such MCP session")
		if r := quiet.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call with another token = %d %s, want success", r.status, r.text)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, stream)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the stream of a session ended, want it to count as use")
		default:
		}
		s.stop()
		<-ended
	})
}
