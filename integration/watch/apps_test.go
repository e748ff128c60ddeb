package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// overHTTP starts ptyctl with its HTTP transport, and returns a client that draws pages.
func overHTTP(t *testing.T, h *lab.Home, token string, args ...string) *lab.Client {
	t.Helper()
	p, url := h.StartHTTP(t, args...)
	return p.ConnectOver(t, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: lab.Bearer(token)},
	}, appsClient())
}

// screenOf returns the rows of a session's screen, as format screen has them, without blanks at their ends. Programs of
// these tests draw no lines, which that form folds.
func screenOf(t *testing.T, c *lab.Client, id string) string {
	t.Helper()
	text := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","timeout_ms":0}`, id).Chunk
	var all []string
	for line := range strings.Lines(text) {
		n, row := 0, ""
		if _, err := fmt.Sscanf(line, "(%d empty)", &n); err == nil {
		} else if _, err := fmt.Sscanf(line, "(%d row", &n); err == nil { // like the one above
			row = all[len(all)-1]
		} else if head, shown, ok := strings.Cut(line, "|"); ok {
			if _, err := fmt.Sscan(head, new(int)); err == nil {
				n, row = 1, strings.TrimRight(strings.TrimPrefix(shown, " "), " \n")
			}
		}
		for range n {
			all = append(all, row)
		}
	}
	return strings.TrimRight(strings.Join(all, "\n"), "\n ")
}

// A view follows a full-screen program over HTTP, row by row as the agent reads it, and its end. The host keeps it in a
// sandbox; nothing that it does breaks the strictest policy.
func TestAppsView(t *testing.T) {
	h := lab.NewHome(t, "[local]", "http = true")
	h.Env = append(h.Env, "PTYCTL_SERVER_HTTP_TOKENS_FILE="+h.TokensFile(t))
	c := overHTTP(t, h, lab.OpsToken)
	chat := newChat(t, c)
	source := h.Dir + "/notes.txt"
	h.Write(t, source, "first line\nsecond line\n")
	input, result := chat.model(lab.ToolSession, `{"action":"open","protocol":"local","argv":%s,"pty":{"cols":80,"rows":24}}`,
		[]string{"vim", "-N", "-u", "NONE", "-c", "syntax off", source})
	var opened mcp.CallToolResult
	if err := json.Unmarshal([]byte(result), &opened); err != nil || opened.IsError {
		t.Fatalf("open = %s, %v", result, err)
	}
	view := chat.show(input, result, `{theme: 'dark'}`)
	chat.showsRow(view, "second line")
	id := inside[string](chat, view, `session`)
	chat.says(view, "Live")
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"Oseen in the chat\u001b"}`, id)
	chat.showsRow(view, "seen in the chat")
	want := screenOf(t, c, id)
	chat.until(view, "the rows of the screen:\n"+want, fmt.Sprintf(`%s === %q`, rows, want))

	if !inside[bool](chat, view, `document.documentElement.classList.contains('dark')`) {
		t.Error("the view is light in a dark host")
	}
	evaluate[bool](chat.tab, `views[0].post({ method: 'ui/notifications/host-context-changed', params: { theme: 'light' } }), true`)
	chat.until(view, "the light theme", `!document.documentElement.classList.contains('dark')`)
	const reads = `document.getElementById('frame').getAttribute('aria-live') === 'off' && !!document.title &&
		document.getElementById('frame').getAttribute('role') === 'region' && document.getElementById('state').getAttribute('role') === 'status'`
	if !inside[bool](chat, view, reads) {
		t.Error("the view lacks its roles or its title, or announces each frame")
	}
	chat.wait("the height of the view", `views[0].heights.at(-1) > 300 && views[0].frame.clientHeight === views[0].heights.at(-1)`)
	chat.picture("apps-view.png")

	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)
	chat.says(view, "Ended")
	chat.showsRow(view, "seen in the chat")
	calls := evaluate[int](chat.tab, `views[0].calls`)
	if calls < 2 || inside[bool](chat, view, `running`) {
		t.Errorf("the view has made %d calls, and goes on: want some, and none after the end", calls)
	}
	chat.untroubled()
	leaktest.Output(t, "view", inside[string](chat, view, `document.documentElement.outerHTML`))
}

// The content of a terminal is text: markup, scripts, links, titles and changes of direction.
func TestAppsHostileText(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Start(t).ShakeHands(t, appsClient())
	chat := newChat(t, c)
	hostile := []string{
		`<img src=x onerror=alert(1)>`, `</script><script>document.title='owned'</script>`, `<style>*{display:none}</style>`,
		`<a href="https://example.net/">link</a>`, `${7*7}`, `{"jsonrpc":"2.0","method":"ui/message"}`,
	}
	script := "printf '%s\\n' '" + strings.ReplaceAll(strings.Join(hostile, "' '"), "='owned'", `="owned"`) + "'; " +
		`printf '\033]0;<b>title</b>\007\033]8;;https://example.net/\033\\linked\033]8;;\033\\\n\033[31mred\033[m\nlast\n'; cat`
	input, result := chat.model(lab.ToolSession, `{"action":"open","protocol":"local","argv":%s,"pty":{"cols":100,"rows":24}}`,
		[]string{"sh", "-c", script})
	view := chat.show(input, result, `{}`)
	chat.showsRow(view, "last")
	id := inside[string](chat, view, `session`)
	want := screenOf(t, c, id)
	chat.until(view, "the rows of the screen:\n"+want, fmt.Sprintf(`%s === %q`, rows, want))
	if !strings.Contains(want, hostile[0]+"\n") {
		t.Errorf("the screen is\n%s\nwant %s in it", want, hostile[0])
	}
	const elements = `[...document.querySelectorAll('#screen *')].map(e => e.localName).filter(n => n !== 'div' && n !== 'span').join()`
	if got := inside[string](chat, view, elements); got != "" {
		t.Errorf("the screen has the elements %s, want div and span alone", got)
	}
	const others = `document.querySelectorAll('script, style, img, a, iframe, link, object, form').length`
	if got := inside[int](chat, view, others); got != 2 {
		t.Errorf("the view has %d elements that run, draw or lead somewhere, want its own script and style", got)
	}
	if got := inside[string](chat, view, `document.title`); got != "<b>title</b>" {
		t.Errorf("the title is %q, want the terminal's as text", got)
	}
	if got := inside[string](chat, view, `getComputedStyle([...document.querySelectorAll('.row span')].find(e => e.textContent === 'red')).color`); got != "rgb(179, 38, 30)" {
		t.Errorf("red is drawn as %s, want the palette's", got)
	}
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)
	chat.says(view, "Ended")
	chat.untroubled()
}

// A view hears its host alone, and nothing that the host sends breaks it.
func TestAppsHostileMessages(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Start(t).ShakeHands(t, appsClient())
	chat := newChat(t, c)
	input, result := chat.model(lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh","-c","echo genuine; cat"]}`)
	view := chat.show(input, result, `{}`)
	chat.showsRow(view, "genuine")

	// From another window than the host's: the view's own, which has no more right than any other frame.
	const forged = `new Promise(done => {
		const frame = { cols: 20, rows: 2, x: 0, y: 0, full: true, l: { 0: [['forged']] } }
		const answer = JSON.stringify({ session_id: session, state: 'open', version: 1, frame })
		for (const id of [...asked.keys(), lastID, lastID + 1]) {
			postMessage({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: answer }] } }, '*')
		}
		postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: { action: 'list' } } }, '*')
		postMessage({ jsonrpc: '2.0', id: 9, method: 'ui/resource-teardown', params: {} }, '*')
		addEventListener('message', e => { if (e.data === 'done') done(${'%s'}) })
		postMessage('done', '*')
	})`
	if got := inside[string](chat, view, strings.Replace(forged, "${'%s'}", rows+` + ' ' + over + ' ' + document.getElementById('view').hidden`, 1)); got != "genuine false false" {
		t.Errorf("after messages of another window the view shows %q, want it as it was", got)
	}
	// From the host: values that are not messages, an answer to nothing, a method that does not exist.
	evaluate[bool](chat.tab, `(() => {
		const to = views[0].frame.contentWindow
		for (const m of [null, 1, 'text', [], {}, { jsonrpc: '1.0', method: 'ui/resource-teardown' }, { jsonrpc: '2.0' },
			{ jsonrpc: '2.0', id: 1e9, result: {} }, { jsonrpc: '2.0', id: {}, error: null }, { jsonrpc: '2.0', method: 'ui/notifications/tool-result' },
			{ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [null, 5], structuredContent: [] } },
			{ jsonrpc: '2.0', method: 'ui/notifications/host-context-changed', params: { theme: '"><script>', styles: { css: { fonts: '*{}' } } } },
			{ jsonrpc: '2.0', method: '__proto__', params: {} }]) to.postMessage(m, '*')
		views[0].post({ id: 77, method: 'no/such/method' })
		views[0].post({ id: 78, method: 'ping' })
		return true
	})()`)
	chat.wait("answers to the host's requests", `['answer 77', 'answer 78'].every(s => views[0].said.includes(s))`)
	if got := inside[string](chat, view, rows); got != "genuine" {
		t.Errorf("after the host's messages the view shows %q, want it as it was", got)
	}

	// Invalid frames.
	for name, answer := range map[string]string{
		"too many rows":   `{"session_id":"s","version":1,"frame":{"cols":80,"rows":1e9,"x":0,"y":0,"full":true,"l":{}}}`,
		"no rows":         `{"session_id":"s","version":1,"frame":{"cols":80,"rows":24,"x":0,"y":0,"full":true}}`,
		"a row elsewhere": `{"session_id":"s","version":1,"frame":{"cols":80,"rows":2,"x":0,"y":0,"full":true,"l":{"7":[["x"]]}}}`,
		"no text":         `{"session_id":"s","version":1,"frame":{"cols":80,"rows":2,"x":0,"y":0,"full":true,"l":{"0":[[{}]]}}}`,
		"another session": `{"session_id":"other","version":1,"frame":{"cols":80,"rows":2,"x":0,"y":0,"full":true,"l":{"0":[["x"]]}}}`,
		"no JSON":         `<html>`,
	} {
		n := chat.show(`{"action":"open"}`, `{"content":[{"type":"text","text":"{\"session_id\":\"s\"}"}]}`,
			fmt.Sprintf(`{answer: {content: [{type: 'text', text: %s}]}}`, quoted(answer)))
		chat.says(n, "cannot be read")
		if got := inside[string](chat, n, rows); got != "" {
			t.Errorf("%s: the view shows %q, want nothing", name, got)
		}
	}
	evaluate[bool](chat.tab, `views[0].post({ id: 79, method: 'ui/resource-teardown', params: { reason: 'done' } }), true`)
	chat.wait("an answer to the teardown", `views[0].said.includes('answer 79')`)
	chat.untroubled()
}
