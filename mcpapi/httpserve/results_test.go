package httpserve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

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
