package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// connectPerson is connect for a client with a person who answers questions as answer does.
func connectPerson(tb testing.TB, h *lab.Home, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *lab.Client {
	tb.Helper()
	return h.Start(tb).ShakeHands(tb, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(r.Params), nil
		},
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
	})
}

// TestPersonLogsIn: the person at the client trusts the host's key, gives a name, and types the password on a page, while
// the task that opens has the lock. Neither the client nor any log has seen the password.
func TestPersonLogsIn(t *testing.T) {
	const password = "page-password-1138"
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Name: ", "Password: "}, []bool{true, false})
		if err != nil {
			return err
		}
		if len(answers) != 2 || answers[0] != "zaphod" || answers[1] != password {
			return errors.New("wrong answers")
		}
		return nil
	}})
	asked := make(chan string, 10)
	c := connectPerson(t, lab.NewHome(t, `host_key_policy = "ask"`), func(q *mcp.ElicitParams) *mcp.ElicitResult {
		asked <- q.Mode + " " + q.Message
		switch {
		case q.Mode == "url":
			go typeOnPage(t, q.URL, password)
			return &mcp.ElicitResult{Action: "accept"}
		case strings.Contains(q.Message, ssh.FingerprintSHA256(s.HostKey())):
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"trust": true}}
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "zaphod"}}
	})
	c.Hide(password)
	r := c.Call(t, lab.ToolSession, strings.TrimSuffix(lab.OpenSSH, "}")+`,"acquire_lock":true,"task_id":"t1"}`, s.Port(), "alice")
	if r.State != "open" {
		t.Fatalf("open: %s", r.Text)
	}
	var via []string
	for _, line := range lab.AuditLines(t, c.Audit, "answer") {
		via = append(via, line.Actor.Transport)
	}
	if !slices.Contains(via, "page") {
		t.Errorf("the audit log says that the answers came by %q, want one by page", via)
	}
	if len(asked) != 3 {
		t.Errorf("the person got %d questions", len(asked))
	}
	if r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo in","task_id":"t1"}`, r.SessionID); r.Stdout != "in\n" {
		t.Errorf("exec: %s", r.Text)
	}
}

// typeOnPage answers on a page of ptyctl's, as a browser does.
func typeOnPage(tb testing.TB, address, text string) {
	tb.Helper()
	send := func(method, body string) string {
		req, err := http.NewRequestWithContext(tb.Context(), method, address, strings.NewReader(body))
		if err != nil {
			tb.Error(err)
			return ""
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			tb.Error(err)
			return ""
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			tb.Error(err)
		}
		return string(page)
	}
	field := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(send(http.MethodGet, ""))
	if field == nil {
		tb.Error("the page has no form")
		return
	}
	if page := send(http.MethodPost, url.Values{"form": {field[1]}, "answer": {text}}.Encode()); !strings.Contains(
		page,
		"Done",
	) {
		tb.Errorf("the page says %s", page)
	}
}

// TestJSONRPCErrors: with the flag, a failed call is a JSON-RPC error with the payload of error_code.
func TestJSONRPCErrors(t *testing.T) {
	c := lab.NewHome(t).Connect(t, "--jsonrpc-errors")
	_, err := c.Try(t.Context(), lab.ToolSession, `{"action":"status","session_id":"nowhere-1"}`)
	var e *jsonrpc.Error
	var data struct {
		ErrorCode string `json:"error_code"`
	}
	if !errors.As(err, &e) || e.Code != 1010 || json.Unmarshal(e.Data, &data) != nil || data.ErrorCode != "NOT_FOUND" {
		t.Errorf("got %v", err)
	}
}
