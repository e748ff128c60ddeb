package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// The official clients learn that a message was over the limit: the answer has the id of the request, wherever that is
// in it. A client without it would never stop waiting.
func TestMessageOverTheLimit(t *testing.T) {
	t.Parallel()
	h := lab.NewHome(t)
	http, url := h.StartHTTP(t)
	big := `{"action":"write","session_id":"none","data":"` + strings.Repeat("x", 9<<20) + `"}`
	for name, connect := range map[string]func(*testing.T) lab.Tools{
		"Go SDK, stdio":           func(t *testing.T) lab.Tools { return h.Connect(t).Tools },
		"Go SDK, HTTP":            func(t *testing.T) lab.Tools { return http.Dial(t, url, "").Tools },
		"TypeScript SDK, stdio":   func(t *testing.T) lab.Tools { return typescript(t, h).Tools },
		"TypeScript SDK, HTTP":    func(t *testing.T) lab.Tools { return startTypescript(t, nil, "http", url).expect("8388608").Tools },
		"TypeScript SDK 2, stdio": func(t *testing.T) lab.Tools { return typescript2(t, h, "auto").Tools },
		"TypeScript SDK 2, HTTP": func(t *testing.T) lab.Tools {
			return startTypescript2(t, "auto", nil, "http", url).expect("8388608").Tools
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t)
			ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
			defer cancel()
			a, err := c.CallTool(ctx, lab.ToolIO, json.RawMessage(big))
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "8388608 bytes") {
				t.Errorf("call over the limit = %+v, %v; want an error that names the limit", a, err)
			}
			if r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"list"}`); err != nil || r.ErrorCode != "" {
				t.Errorf("call after it = %s, %v; want success", r.Text, err)
			}
		})
	}
}
