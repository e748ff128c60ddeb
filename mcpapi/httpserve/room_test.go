package httpserve_test

import (
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/jsonrpc"
)

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
