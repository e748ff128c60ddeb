package httpserve_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

// Every id comes back as it was sent, also a number that no float64 can hold.
func TestIDsComeBack(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	talkative(s, 3)
	for _, id := range []string{
		"0", "-1", "999999999999999", "9007199254740993", "18446744073709551617", "-9007199254740993",
		strings.Repeat("9", 35), strings.Repeat("9", 64), `"9007199254740993"`, `""`,
	} {
		legacy, modern := s.initialize("", latest), s.modern("")
		for name, m := range map[string]message{
			"legacy":           legacy.asking("tools/list", ""),
			"first call":       legacy.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`)),
			"call":             legacy.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`)),
			"call of no tool":  legacy.asking("tools/call", calling("none", `{}`)),
			"legacy stream":    legacy.asking("tools/call", `{"_meta":{"progressToken":"t"},"name":"talk","arguments":{}}`),
			"no such resource": legacy.asking("resources/read", `{"uri":"ptyctl://none"}`),
			"modern":           modern.asking("tools/list", ""),
			"modern call":      modern.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`)),
			"unknown method":   modern.asking("no/such", ""),
		} {
			m.body = strings.Replace(m.body, `"id":2`, `"id":`+id, 1)
			r := s.send(m)
			if !strings.Contains(r.text, `"id":`+id+",") || strings.Contains(r.text, "ptyctl-") {
				t.Errorf("answer to %s with the id %s = %d %s, want that id", name, id, r.status, r.text)
			}
		}
	}
	m := s.modern("").asking("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	m.body = strings.Replace(m.body, `"id":2`, `"id":9007199254740993`, 1)
	status, stream := s.stream(t.Context(), m)
	lines := bufio.NewScanner(stream)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if text := lines.Text(); status != http.StatusOK || !strings.Contains(text, ":9007199254740993}") {
		t.Errorf("first event of subscriptions/listen = %d %s, want the request's id in it", status, text)
	}
}

// A refusal has the id of its request, also that of a message which is too large to be read.
func TestRefusalHasTheID(t *testing.T) {
	s := newSite(t, httpserve.Options{MaxBody: 10_000})
	a := s.initialize("", latest)
	long := strings.Repeat("x", 20_000)
	tail := func(id string) string {
		return `{"jsonrpc":"2.0","method":"x","params":{"x":"` + long + `"},"id":` + id + `}`
	}
	for name, c := range map[string]struct {
		body   string
		status int
		id     any
	}{
		"too large, id first":       {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"x":"` + long + `"}}`, 413, "a"},
		"too large, id last":        {tail(`"a"`), 413, "a"},
		"too large, number last":    {tail("77"), 413, 77.0},
		"too large, id of no one":   {tail("[77]"), 413, nil},
		"too large, a notification": {strings.Replace(tail("1"), `,"id":1`, "", 1), 413, nil},
		"params of wrong type":      {`{"jsonrpc":"2.0","id":"a","method":"x","params":7}`, 400, "a"},
	} {
		for _, chunked := range []bool{false, true} {
			req := s.request(t.Context(), message{session: a.session, revision: latest, body: c.body})
			if chunked {
				req.ContentLength = -1
			}
			r := s.do(req)
			if r.status != c.status || r.Error == nil || r.ID != c.id {
				t.Errorf("%s, chunked %t: %d %s, want %d with the id %v", name, chunked, r.status, r.text, c.status, c.id)
			}
			if c.status == 413 && (r.Error == nil || !strings.Contains(r.Error.Message, "at most 10000 bytes")) {
				t.Errorf("%s: %s, want the limit in it", name, r.text)
			}
		}
	}
	if r := a.ask("tools/list", ""); r.status != 200 {
		t.Errorf("call after the refusals = %d %s, want success", r.status, r.text)
	}
}
