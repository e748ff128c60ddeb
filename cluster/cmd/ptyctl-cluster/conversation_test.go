package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/cluster/internal/natstest"
)

// TestCancel: a call that its client cancels at one node ends at the other.
func TestCancel(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, 1)[0].URL
	far := start(t, lines("far", url))
	near := start(t, lines("near", url, entry))
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"cat"}}).SessionID
	waiting := func() int {
		r := far.call(map[string]any{"action": "status", "session_id": id})
		return r.Session.Waiting + r.Waiting
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := near.try(ctx, "ptyctl_session_io", map[string]any{
			"action": "read", "session_id": id, "until_regex": "never", "timeout_ms": 300_000,
		})
		done <- err
	}()
	natstest.Eventually(t, "the read waits at its node", func() bool { return waiting() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled call = %v", err)
	}
	natstest.Eventually(t, "no read waits at its node", func() bool { return waiting() == 0 })
}

// asking answers the questions of a node.
type asking struct {
	mu        sync.Mutex
	questions []string
}

// Elicit implements client.ElicitationHandler.
func (a *asking) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions = append(a.questions, r.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"trust": true},
	}}, nil
}

// TestQuestion: the person at the client is asked a question about a session of another node.
func TestQuestion(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "ask")
	start(t, host+lines("far", url))
	person := new(asking)
	near := start(t, host+lines("near", url, entry), client.WithElicitationHandler(person))
	r := near.call(map[string]any{"action": "open", "protocol": "ssh", "host": "far1"})
	if r.State != "open" || !strings.HasSuffix(r.SessionID, "@far") {
		t.Errorf("open = %s, want an open session of far", r.text)
	}
	person.mu.Lock()
	defer person.mu.Unlock()
	if len(person.questions) != 1 || !strings.Contains(person.questions[0], "SHA256:") {
		t.Errorf("the person was asked %q, want for the host's key", person.questions)
	}
}

// TestProgress: the client gets the progress of a call that another node answers, with the client's own token.
func TestProgress(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, 1)[0].URL
	start(t, lines("far", url))
	near := start(t, lines("near", url, entry))
	told := make(chan mcp.JSONRPCNotification, 100)
	near.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			select {
			case told <- n:
			default:
			}
		}
	})
	id := near.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	var r mcp.CallToolRequest
	r.Params.Name = "ptyctl_session_exec"
	r.Params.Arguments = map[string]any{"session_id": id, "cmd": "sleep 7"} // a call that waits tells every five seconds
	r.Params.Meta = &mcp.Meta{ProgressToken: "mine"}
	if _, err := near.client.CallTool(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var n mcp.JSONRPCNotification
	select {
	case n = <-told:
	default:
		t.Fatal("the client was not told of progress")
	}
	if n.Params.AdditionalFields["progressToken"] != "mine" {
		t.Errorf("progress = %+v, want the token of the call", n.Params.AdditionalFields)
	}
}
