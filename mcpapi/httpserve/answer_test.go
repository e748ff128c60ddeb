package httpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
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

// A refusal has the id of its request, even if the message is too large to be read.
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

// A client of HTTP chooses the form of its results, whatever the server's is.
func TestResultsByQuery(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	for name, a := range map[string]agent{"legacy": s.initialize(writeToken, latest), "modern": s.modern(writeToken)} {
		for query, want := range map[string]struct {
			text       string
			structured bool
		}{
			"results=compact": {`{"sessions":[]}`, false},
			"results=text":    {"[sessions []]", false},
			"results=full":    {`{"action":"list","success":true,`, true},
			"":                {`{"action":"list","success":true,`, true}, // as the site's server is set up
		} {
			r := s.request(context.Background(), a.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`)))
			r.URL.RawQuery = query
			got := s.do(r)
			var raw struct {
				Content           []struct{ Text string }
				StructuredContent json.RawMessage
			}
			if err := json.Unmarshal(got.Result, &raw); err != nil || len(raw.Content) != 1 {
				t.Fatalf("%s, %q: answer = %d %s, want a result", name, query, got.status, got.text)
			}
			if !strings.HasPrefix(raw.Content[0].Text, want.text) || (raw.StructuredContent != nil) != want.structured {
				t.Errorf("%s, %q: result = %s, structured %s; want %s, structured %t",
					name, query, raw.Content[0].Text, raw.StructuredContent, want.text, want.structured)
			}
			list := s.request(context.Background(), a.asking("tools/list", ""))
			list.URL.RawQuery = query
			if text := s.do(list).text; strings.Contains(text, `"outputSchema"`) != want.structured {
				t.Errorf("%s, %q: tools/list has output schemas: %t, want %t", name, query, !want.structured, want.structured)
			}
		}
		r := s.request(context.Background(), a.asking("tools/list", ""))
		r.URL.RawQuery = "results=short"
		s.refused(s.do(r), http.StatusBadRequest, "results=compact, full or text")
	}
}
