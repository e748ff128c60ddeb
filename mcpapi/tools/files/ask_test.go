//go:build unix

package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/crypto/ssh"

	"ptyctl/fsx"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/term"
)

// numbers is a server that asks each user for a number, with echo.
var numbers = sshserver.Config{KeyboardInteractive: func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
	got, err := challenge("", "", []string{"Number: "}, []bool{true})
	if err != nil || !slices.Equal(got, []string{"7"}) {
		return term.AuthFailed
	}
	return nil
}}

// A person at the client answers the login questions of both hosts of a copy. A question that they dismiss goes to the
// caller.
func TestCopyAsksThePerson(t *testing.T) {
	mcptest.ForEachClient(t, func(t *testing.T, revision string, connect mcptest.Connect) {
		for name, tt := range map[string]struct {
			answers []string // of the person, to one question after the other
			asks    string   // the user of the login that asks the caller
		}{
			"both answered":    {[]string{"accept", "accept"}, ""},
			"first dismissed":  {[]string{"cancel"}, "demo"},
			"second dismissed": {[]string{"accept", "cancel"}, "alice"},
		} {
			t.Run(name, func(t *testing.T) {
				var mu sync.Mutex
				var asked []string
				options := sdk.ClientOptions{
					Capabilities: &sdk.ClientCapabilities{
						Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
					},
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						mu.Lock()
						defer mu.Unlock()
						asked = append(asked, r.Params.Message)
						action := tt.answers[min(len(asked), len(tt.answers))-1]
						return &sdk.ElicitResult{Action: action, Content: map[string]any{"answer": "7"}}, nil
					},
				}
				config := mcptest.Config{SSH: numbers}
				config.Options.Elicitation = true
				var l *mcptest.Lab
				var client *mcptest.Official
				files := filesLabOf(t, config, fsx.Limits{}, func(c mcptest.Config) *mcptest.Lab {
					l, client = connect(t, c, revision, options)
					return l
				})
				write(t, filepath.Join(files.far, "source"), []byte("text"), 0o600)
				args := fmt.Sprintf(`{"action":"copy","from":{"host":"demo@127.0.0.1:%[1]d","path":"%[2]s/source"},`+
					`"to":{"host":"alice@127.0.0.1:%[1]d","path":"%[2]s/copy"}}`, l.SSH.Port(), files.far)
				r := client.Call(mcptest.FilesTool, args)
				if tt.asks != "" {
					if r.State != "authenticating" || r.Prompt == nil || r.Prompt.User != tt.asks || len(r.Warnings) != 1 ||
						!strings.HasPrefix(r.Warnings[0], "nothing was copied: the login asks") {
						t.Fatalf("the question of %s was dismissed: %s", tt.asks, r.Text)
					}
					client.Call(mcptest.IOTool, fmt.Sprintf(`{"action":"write","session_id":%q,"data":"7"}`, r.SessionID))
					if tt.asks == "demo" { // then the other login asks, and the person answers
						tt.answers = append(tt.answers, "accept")
					}
					r = client.Call(mcptest.FilesTool, args)
				}
				if got, err := os.ReadFile(filepath.Join(files.far, "copy")); err != nil || string(got) != "text" || len(r.Warnings) > 0 {
					t.Errorf("%s; the copy has %q, %v; want the source, and no warning", r.Text, got, err)
				}
				if n := l.SSH.Stats().Authenticated; len(asked) != 2 || n != 2 {
					t.Errorf("the person was asked %q, and %d logins were made; want two of each", asked, n)
				}
			})
		}
	})
}
