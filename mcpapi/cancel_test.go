package mcpapi_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// TestCancelLeavesTheCommand: a client that gives up waiting is rid of the call at once, and the command goes on.
func TestCancelLeavesTheCommand(t *testing.T) {
	for lane, class := range map[string]string{"channel": "", "terminal": `,"class":"posix"`} {
		t.Run(lane, func(t *testing.T) {
			l := mcptest.NewLab(t, mcptest.Config{})
			l.OpenShell()
			// From here on the shell is known.
			l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"`+lane+`"`+class+`,"cmd":"true"}`)
			goOn := filepath.Join(t.TempDir(), "go-on")
			id, answer := l.Start("tools/call", l.Params(mcptest.ExecTool, `{"session_id":"$S","lane":"`+lane+`"`+class+
				`,"cmd":"until [ -e `+goOn+` ]; do sleep 0.05; done; echo after"}`))
			running := l.WaitRunning(lane)
			l.Write(mcptest.CancelCall(id))
			l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","timeout_ms":0}`) // the session is there for others
			if lane == "channel" {
				if r := l.OK(mcptest.ExecTool,
					`{"session_id":"$S","lane":"channel","cmd":"echo meanwhile"}`); r.Stdout != "meanwhile\n" {
					t.Errorf("another command: %s", r.Text)
				}
			}
			// All that was answered while the command waits.
			if err := os.WriteFile(goOn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			// Its id is in status, before its end and after, and its output is not lost.
			for r := l.OK(mcptest.SessionTool,
				`{"action":"status","session_id":"$S"}`); len(r.Session.Unfetched) == 0; r = l.OK(
				mcptest.SessionTool, `{"action":"status","session_id":"$S"}`) {
				if ids := r.Session.Running; len(ids) > 1 || len(ids) == 1 && ids[0] != running ||
					time.Since(began) > time.Minute {
					t.Fatalf("running: %q, fetched by nobody: %q", r.Session.Running, r.Session.Unfetched)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+running+`"}`); r.Stdout != "after\n" ||
				r.ExitCode == nil ||
				*r.ExitCode != 0 {
				t.Errorf("the command: %s", r.Text)
			}
			select {
			case a := <-answer:
				t.Errorf("a cancelled call was answered: %+v", a)
			default:
			}
		})
	}
}

func TestCancelStopsTheCommand(t *testing.T) {
	for lane, class := range map[string]string{"channel": "", "terminal": `,"class":"posix"`} {
		t.Run(lane, func(t *testing.T) {
			l := mcptest.NewLab(t, mcptest.Config{})
			l.OpenShell()
			// From here on the shell is known.
			l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"`+lane+`"`+class+`,"cmd":"true"}`)
			id, _ := l.Start(
				"tools/call",
				l.Params(
					mcptest.ExecTool,
					`{"session_id":"$S","stop_on_cancel":true,"lane":"`+lane+`"`+class+`,"cmd":"sleep 600; echo after"}`,
				),
			)
			running := l.WaitRunning(lane)
			l.Write(mcptest.CancelCall(id))
			if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+running+`"}`); r.DoneReason != "timeout" ||
				strings.Contains(r.Stdout, "after") ||
				r.ExitCodeReason == nil && r.ExitCode == nil {
				t.Errorf("the command: %s", r.Text)
			}
			if r := l.OK(mcptest.ExecTool,
				`{"session_id":"$S","lane":"`+lane+`"`+class+`,"cmd":"echo next"}`); r.Stdout != "next\n" {
				t.Errorf("the next command: %s", r.Text)
			}
		})
	}
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.Fails(
		mcptest.ExecTool,
		`{"session_id":"$S","stop_on_cancel":true,"request_id":"r","cmd":"true"}`,
		term.InvalidArgument,
		"request_id",
		"outlives",
	)
	l.Fails(
		mcptest.ExecTool,
		`{"session_id":"$S","stop_on_cancel":true,"exec_id":"x"}`,
		term.InvalidArgument,
		"stop_on_cancel",
	)
}

// TestCancelStopsTheSteps: steps not begun when the client gave the call up are never typed, and a retry says so.
func TestCancelStopsTheSteps(t *testing.T) {
	for name, id := range map[string]string{"without request_id": "", "with request_id": `,"request_id":"r1"`} {
		t.Run(name, func(t *testing.T) {
			l := mcptest.NewLab(t, mcptest.Config{})
			l.OpenShell()
			args := `{"action":"write","session_id":"$S","steps":[{"data":"echo one; sleep 1\r","until_idle_ms":1500,"timeout_ms":9000},` +
				`{"data":"echo evil\r"}]` + id + `}`
			call, _ := l.Start("tools/call", l.Params(mcptest.IOTool, args))
			l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","format":"raw","cursor":"0","until_regex":"\none\r","timeout_ms":9000}`)
			l.Write(mcptest.CancelCall(call))
			if id != "" {
				r := l.Fails(mcptest.IOTool, args, term.Canceled, "0 of 2 steps were done")
				if r.Details.BytesWritten == nil || *r.Details.BytesWritten == 0 {
					t.Errorf("the retry of canceled steps: %s, want bytes_written", r.Text)
				}
			}
			l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","format":"raw","data":"echo two\r","until_regex":"\\$ two\r\n","timeout_ms":9000}`)
			r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","format":"raw","cursor":"0","until_idle_ms":1000,"timeout_ms":9000}`)
			if strings.Contains(r.Chunk, "evil") || !strings.Contains(r.Chunk, "two\r\n$ ") {
				t.Errorf("after canceled steps the terminal shows %q, want no later step, and the next write", r.Chunk)
			}
		})
	}
}

// TestCancelByTheOfficialClient: on every transport the wait ends when the caller's context does, and the session
// goes on.
func TestCancelByTheOfficialClient(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			l, c := connect(t, mcptest.Config{}, revision, sdk.ClientOptions{})
			id := c.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
			s, err := l.Manager.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for s.Info().Readers == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if _, err := c.Try(ctx, mcptest.IOTool,
				`{"action":"read","session_id":"`+id+`","until_regex":"never","timeout_ms":40000}`); err == nil {
				t.Error("the call was answered")
			}
			for deadline := time.Now().Add(10 * time.Second); s.Info().Readers != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the read still waits")
				}
			}
			if strings.HasPrefix(t.Name(), "TestCancelByTheOfficialClient/http_2026") {
				// This client ends its session when the server refuses its notification, which the transport in
				// front does not.
				return
			}
			if r := c.Call(mcptest.ExecTool, `{"session_id":"`+id+`","cmd":"echo still"}`); r.Stdout != "still\n" {
				t.Errorf("afterwards: %s", r.Text)
			}
		},
	)
}

// A write with a request_id goes on after its client has canceled it, and those behind it wait for it.
func TestOrderBehindACanceledWrite(t *testing.T) {
	judged, goOn := make(chan bool, 1), make(chan bool)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
		if string(a.Data) == "echo first\r" {
			judged <- true
			<-goOn
		}
		return term.Ruling{}, nil
	}}})
	l.OpenShell()
	id, _ := l.Start("tools/call",
		l.Params(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo first\r","request_id":"once"}`))
	<-judged
	l.Write(mcptest.CancelCall(id))
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","timeout_ms":0}`)
	// It has waited for the first one alone, and no longer than its timeout_ms, in any form that a model gives it.
	for _, ms := range []string{`1000`, `10.0`, `"10"`, `"10ms"`} {
		l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo second\r","timeout_ms":`+ms+`}`, term.Busy,
			"an earlier call")
	}
	close(goOn)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo third\r"}`)
	r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"third\\r?\\n"}`)
	if first := strings.Index(r.Chunk, "first"); first < 0 || first > strings.Index(r.Chunk, "third") {
		t.Errorf("the write behind it: %s", r.Text)
	}
}
