package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A person at the page types input that the rules deny to agents if the control socket has a token, and sees the rule
// if it has no token.
func TestTakeOverPastRules(t *testing.T) {
	for name, tt := range map[string]struct {
		token  string
		status int
		says   string
	}{
		"with a token": {"control_auth_token = 'page-token-1138'", http.StatusOK, ""},
		"without one":  {"", http.StatusForbidden, "typing is denied by policy.typing"},
	} {
		t.Run(name, func(t *testing.T) {
			h := lab.NewHome(t, "[policy]\nallow = ['cat']\n"+lab.ReadWrite+"\n"+tt.token)
			c := h.Connect(t)
			id := openLocal(t, c, "cat")
			base, token := visit(t, startPage(t, h).link())
			_, leave := follow(t, base, token, false)
			defer leave()
			post := func(path string, body map[string]any) (int, string) {
				sent, _ := json.Marshal(body)
				status, text, _ := ask(t, http.MethodPost, base+path, string(sent),
					"Origin", base, "Content-Type", "application/json", "Authorization", "Bearer "+token)
				return status, text
			}
			status, text := post("/api/take", map[string]any{"p": fmt.Sprint(c.PID), "session": id})
			if status != tt.status || !strings.Contains(text, tt.says) {
				t.Fatalf("taking the terminal = %d %s, want %d and %q", status, text, tt.status, tt.says)
			}
			if status != http.StatusOK {
				return
			}
			var held struct{ Hold string }
			_ = json.Unmarshal([]byte(text), &held)
			if status, text := post("/api/type", map[string]any{"hold": held.Hold, "data": "by-a-person\r"}); status != http.StatusOK {
				t.Errorf("typing = %d %s, want 200", status, text)
			}
			c.Call(t, lab.ToolIO,
				`{"action":"read","session_id":%s,"cursor":"0","until_regex":"by-a-person\\s+by-a-person","timeout_ms":20000}`, id)
			post("/api/give", map[string]any{"hold": held.Hold})
			c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x\r"}`, id) // a person has typed
			c.DeniedBy(t, "policy.typing", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x\r"}`, id)
		})
	}
}
