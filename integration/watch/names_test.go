package watch

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// evil is markup that would act, sequences that would, and letters that turn the text around.
const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>\x1b[2J\x1b]0;t\a\u202e"

// Every text of a caller or a host is text in the page: the name of the client, the task that holds the lock, commands,
// results, questions, matches of a search, and names of recordings.
func TestHostileNames(t *testing.T) {
	sshd := lab.StartSSHD(t)
	server := lab.ServeSSH(t, sshserver.Config{
		KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			_, err := ask("name "+evil, "instruction "+evil, []string{"question " + evil + strings.Repeat("wide", 2500)}, []bool{true})
			return err
		},
	})
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[policy]\nask = ['touch *']\nconsent = 'person'\ntyping = 'allow'\n"+
		"[session]\nread_timeout_ms = 100\n[limits]\nmax_wait_ms = 1000\n"+lab.ReadWrite)
	h.Trust(t, server.KnownHostsLine())
	p := h.Start(t)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client " + evil, Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: io.NopCloser(p.Answers()), Writer: p.Stdin}, nil)
	if err != nil {
		t.Fatalf("the handshake failed: %v; its log:\n%s", err, p.Log)
	}
	t.Cleanup(func() { client.Close() })
	call := func(tool string, arguments map[string]any) (r struct {
		SessionID string `json:"session_id"`
		Text      string
	}) {
		t.Helper()
		got, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s %v: %v", tool, arguments, err)
		}
		r.Text = got.Content[0].(*mcp.TextContent).Text
		_ = json.Unmarshal([]byte(r.Text), &r) // a failure is looked at by those that want one
		return r
	}
	open := map[string]any{"action": "open", "protocol": "ssh", "host": "127.0.0.1", "port": sshd.Port, "username": sshd.User}
	id := call(lab.ToolSession, open).SessionID
	call(lab.ToolExec, map[string]any{
		"session_id": id, "lane": "channel", "format": "raw",
		"cmd": "printf '%s\\n' 'result " + strings.ReplaceAll(evil, "\a", "") + "'",
	})
	call(lab.ToolSession, map[string]any{"action": "lock", "session_id": id, "task_id": "task " + evil})
	h.Write(t, filepath.Join(h.Recordings, "name <img src=x onerror=alert(1)>.cast"), "{}\n")

	b := newTab(t, 1280, 860)
	b.open(startPage(t, h).link())
	const img, script = "<img src=x onerror=alert(1)>", "<script>alert(2)</script>"
	b.shows(".tile .meta", "client "+img)
	b.shows(".tile .call", img+script)
	b.shows(".tile .badge", "task "+img)
	asking := call(lab.ToolSession, map[string]any{
		"action": "open", "protocol": "ssh", "host": "127.0.0.1", "port": server.Port(), "username": "a",
	})
	b.shows(".question .text", "question "+img)
	call(lab.ToolRun, map[string]any{"argv": []string{"touch", h.Dir + "/" + img}})
	b.shows(".question .text", h.Dir+"/"+img)
	b.run("choose it", evaluateTile(id))
	b.shows("#calls", "result "+img+script)
	b.line("#pattern", "nothing|"+regexpOf(img))
	b.wait("an answer to the search", `!document.getElementById('found').hidden`)
	b.click("#recordings")
	b.shows("#replay-list", "name "+img)
	got := evaluate[map[string]any](b, `(() => ({
		elements: document.querySelectorAll('main img, main script, .question img, .question script').length,
		title: document.title, overflow: document.documentElement.scrollWidth > innerWidth,
		control: /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/.test(document.body.innerText),
	}))()`)
	for name, want := range map[string]any{"elements": 0.0, "title": "ptyctl", "overflow": false, "control": false} {
		if got[name] != want {
			t.Errorf("of the hostile names, %s = %v, want %v", name, got[name], want)
		}
	}
	b.clean()
	for _, s := range []string{id, asking.SessionID} {
		call(lab.ToolSession, map[string]any{"action": "close", "session_id": s, "task_id": "task " + evil})
	}
}

// regexpOf quotes a text for RE2.
func regexpOf(text string) string {
	return strings.NewReplacer("(", `\(`, ")", `\)`).Replace(text)
}
