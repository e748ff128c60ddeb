package elicit_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/internal/mcptest"
)

// If the login of a command's host asks a question, the command runs once the person has answered. If the person
// dismisses the question, it goes to the caller, and no later call asks the person again.
func TestElicitForACommand(t *testing.T) {
	mcptest.ForEachClient(t, func(t *testing.T, revision string, connect mcptest.Connect) {
		for name, answer := range map[string]func(*sdk.ElicitParams) *sdk.ElicitResult{
			"answered": accept(map[string]any{"answer": "7"}), "dismissed": saying("cancel"),
		} {
			t.Run(name, func(t *testing.T) {
				p := &person{t: t, answer: answer}
				l, client := connect(
					t, withElicitation(mcptest.Config{SSH: asks(map[string]string{"Number: ": "7"})}), revision, p.options(onlyForms),
				)
				args := fmt.Sprintf(`{"host":"demo@127.0.0.1:%d","cmd":"echo ran"}`, l.SSH.Port())
				r := client.Call(mcptest.ExecTool, args)
				if name == "dismissed" {
					if again := client.Call(mcptest.ExecTool, args); r.State != "authenticating" || r.Prompt == nil ||
						len(r.Warnings) != 1 || again.SessionID != r.SessionID || again.Prompt == nil {
						t.Errorf("dismissed: %s, and again: %s; want the question of one session", r.Text, again.Text)
					}
					client.Call(mcptest.IOTool, fmt.Sprintf(`{"action":"write","session_id":%q,"data":"7"}`, r.SessionID))
					r = client.Call(mcptest.ExecTool, args)
				}
				if r.Stdout != "ran\n" || r.SessionID == "" || len(r.Warnings) > 0 {
					t.Errorf("%s: %s; want that the command has run, and no warning", name, r.Text)
				}
				if n := len(p.questions()); n != 1 || l.SSH.Stats().Authenticated != 1 {
					t.Errorf("%s: the person was asked %d times, and %d logins were made; want one of each",
						name, n, l.SSH.Stats().Authenticated)
				}
			})
		}
	})
}

// If the login of a write's host asks a question, the write types once the person has answered. If they dismiss the
// question, the result says once that nothing was typed.
func TestElicitForAWrite(t *testing.T) {
	mcptest.ForEachClient(t, func(t *testing.T, revision string, connect mcptest.Connect) {
		for name, answer := range map[string]func(*sdk.ElicitParams) *sdk.ElicitResult{
			"answered": accept(map[string]any{"answer": "7"}), "dismissed": saying("cancel"),
		} {
			t.Run(name, func(t *testing.T) {
				p := &person{t: t, answer: answer}
				l, client := connect(
					t, withElicitation(mcptest.Config{SSH: asks(map[string]string{"Number: ": "7"})}), revision, p.options(onlyForms),
				)
				r := client.Call(mcptest.IOTool, fmt.Sprintf(
					`{"action":"write","host":"demo@127.0.0.1:%d","data":"echo in$((1+1))\r","until_regex":"in2\\s","timeout_ms":20000}`, l.SSH.Port()))
				typed := r.State != "authenticating" && strings.Contains(r.Chunk, "in2") && len(r.Warnings) == 0
				asked := r.State == "authenticating" && r.Prompt != nil && len(r.Warnings) == 1 &&
					strings.HasPrefix(r.Warnings[0], "nothing was typed")
				if name == "answered" && !typed || name == "dismissed" && !asked {
					t.Errorf("%s: %s; want the text typed, or the question with one warning", name, r.Text)
				}
			})
		}
	})
}
