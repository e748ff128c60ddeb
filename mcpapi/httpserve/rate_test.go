package httpserve_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/tools"
)

// Each token has its own rate, and a refusal says when the next request may come.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{Tokens: allTokens, RateLimit: 2})
		a := s.modern(writeToken)
		for i := range 10 {
			if r := a.ask("tools/list", ""); r.status != 200 {
				t.Fatalf("request %d = %d %s, want success", i+1, r.status, r.text)
			}
		}
		for range 3 { // refused requests do not count
			r := a.ask("tools/list", "")
			s.refused(r, 429, "wait 501ms")
			if got := r.header.Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After = %q, want the seconds to wait", got)
			}
		}
		if r := s.modern(readToken).ask("tools/list", ""); r.status != 200 {
			t.Errorf("request with another token = %d %s, want success", r.status, r.text)
		}
		time.Sleep(time.Second)
		for range 2 {
			if r := a.ask("tools/list", ""); r.status != 200 {
				t.Errorf("request after Retry-After = %d %s, want success", r.status, r.text)
			}
		}
		s.refused(a.ask("tools/list", ""), 429, "wait")
	})
}

// Without tokens each connection has a rate of its own, and with them each token.
func TestRateWithoutTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := newBubbleSite(t, httpserve.Options{RateLimit: 2})
		for range 50 {
			s.client = &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
			a := s.modern("")
			for range 10 {
				if r := a.ask("tools/list", ""); r.status != 200 {
					t.Fatalf("request of a client within its rate = %d %s, want success", r.status, r.text)
				}
			}
			s.refused(a.ask("tools/list", ""), 429, "wait")
			s.client.CloseIdleConnections()
		}
	})
}

// No rate refuses the end of a terminal session.
func TestRateDoesNotRefuseClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, begin := range map[string]func(*site) agent{
			"legacy": func(s *site) agent { return s.initialize(writeToken, latest) },
			"modern": func(s *site) agent { return s.modern(writeToken) },
		} {
			s, _ := newBubbleSite(t, httpserve.Options{Tokens: allTokens, RateLimit: 1, Unlimited: tools.Closes})
			a := begin(s)
			id := a.open()
			for a.ask("tools/list", "").status != 429 {
			}
			for _, args := range []string{
				`{"action":"status","session_id":"` + id + `"}`,
				`{"action":"status","session_id":"` + id + `","x":"` + strings.Repeat("close", 1000) + `"}`,
				`{"action":"close","session_id":"` + id + `","x":"` + strings.Repeat("x", 5000) + `"}`,
			} {
				s.refused(a.ask("tools/call", calling("ptyctl_session", args)), 429, "wait")
			}
			s.refused(a.ask("tools/call", calling("ptyctl_session_io", `{"action":"close"}`)), 429, "wait")
			if r := a.call("ptyctl_session", `{"action":"close","session_id":"`+id+`"}`); r.ErrorCode != "" {
				t.Errorf("%s: close above the rate = %s, want success", name, r.text)
			}
			s.stop()
		}
	})
}

// At the limit one more request is refused. Streams and calls have separate limits.
func TestMaxCalls(t *testing.T) {
	s := newSite(t, httpserve.Options{MaxCalls: 2})
	a := s.initialize("", latest)
	id := a.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		if status, _ := a.listen(ctx); status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
	}
	m := a.message
	m.method = http.MethodGet
	s.refused(s.send(m), 503, "limits.max_in_flight")

	wait := a.asking(
		"tools/call",
		calling("ptyctl_session_io", `{"action":"read","session_id":"`+id+`","until_regex":"never","timeout_ms":40000}`),
	)
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			resp, err := s.client.Do(s.request(ctx, wait))
			if err == nil {
				resp.Body.Close()
			}
			ended <- err
		}()
	}
	for {
		x, err := s.sessions.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if x.Info().Readers == 2 {
			break
		}
	}
	r := a.ask("tools/list", "")
	s.refused(r, 503, "limits.max_in_flight")
	if n, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || n < 1 {
		t.Errorf("Retry-After = %q, want 1", r.header.Get("Retry-After"))
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// A large request is refused under its own id while there is no room for it, and a small one is served.
func TestRoomForRequests(t *testing.T) {
	const large = 200 << 10
	room := jsonrpc.NewRoom(large + large/2)
	s := newSite(t, httpserve.Options{Room: room})
	a := s.initialize("", jsonrpc.BatchRevision)
	list := func(size int) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"x":"` + strings.Repeat("x", size) + `"}}`
	}
	for range 2 {
		if r := a.post(list(large)); r.status != 200 {
			t.Fatalf("large request = %d %s, want success", r.status, r.text)
		}
		leave, ok := room.Take(large)
		if !ok {
			t.Fatal("there is no room after the answer, want it back")
		}
		r := a.post(list(large))
		s.refused(r, 503, "wait for an answer")
		if !strings.Contains(r.text, `"id":7`) {
			t.Errorf("refusal = %s, want the id of the request", r.text)
		}
		if r := a.post(list(10)); r.status != 200 {
			t.Errorf("small request = %d %s, want success", r.status, r.text)
		}
		leave()
		if got := a.batch(list(large/2), strings.Replace(list(large/2), `"id":7`, `"id":8`, 1)); len(got) != 2 ||
			got["7"].Error != nil || got["8"].Error != nil {
			t.Errorf("large batch = %+v, want two results", got)
		}
	}
}
