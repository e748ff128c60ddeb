package watch

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

//go:embed testdata/host.html
var hostPage []byte

//go:embed testdata/sandbox.html
var sandboxPage []byte

// strictest is the policy that the specification of MCP Apps sets for a page which declares no domains.
const strictest = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"

// The extension, and the page that ptyctl has for it.
const (
	appsExtension = "io.modelcontextprotocol/ui"
	appsURI       = "ui://ptyctl/screen"
)

// A chat is a host of MCP Apps in a browser, with an MCP client of the built program.
type chat struct {
	*tab
	client *lab.Client
	html   string

	mu       sync.Mutex                         // guards the following
	contexts []runtime.ExecutionContextID       // of the frames
	frames   map[int]runtime.ExecutionContextID // of the views, by their number
}

// appsClient are the options of a client that draws pages.
func appsClient() *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]any{
		appsExtension: map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}},
	}}}
}

// newChat opens a host in the browser that calls the tools of c.
func newChat(t *testing.T, c *lab.Client) *chat {
	t.Helper()
	h := &chat{client: c, frames: make(map[int]runtime.ExecutionContextID)}
	read, err := c.Session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: appsURI})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].MIMEType != "text/html;profile=mcp-app" {
		t.Fatalf("resources/read %s = %+v, %v; want one page", appsURI, read, err)
	}
	h.html = read.Contents[0].Text

	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(hostPage)
	})
	mux.HandleFunc("POST /call", h.call)
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", strictest)
		_, _ = w.Write(sandboxPage)
	}))
	t.Cleanup(proxy.Close)

	h.tab = newTab(t, 800, 1400)
	chromedp.ListenTarget(h.ctx, func(event any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExecutionContextCreated:
			h.contexts = append(h.contexts, e.Context.ID)
		case *runtime.EventExecutionContextDestroyed:
			h.contexts = slices.DeleteFunc(h.contexts, func(id runtime.ExecutionContextID) bool { return id == e.ExecutionContextID })
		}
	})
	h.run("open the host", chromedp.Navigate(site.URL+"/?sandbox="+url.QueryEscape(proxy.URL+"/")))
	return h
}

// call passes a call of a view on, as a host does: the tools that are for the model alone are refused.
func (h *chat) call(w http.ResponseWriter, r *http.Request) {
	refuse := func(text string) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(text)
	}
	var params struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
		refuse(err.Error())
		return
	}
	list, err := h.client.Session.ListTools(r.Context(), nil)
	if err != nil {
		refuse(err.Error())
		return
	}
	for _, tool := range list.Tools {
		ui, _ := tool.Meta["ui"].(map[string]any)
		who, _ := ui["visibility"].([]any)
		if tool.Name != params.Name || !slices.Contains(who, any("app")) {
			continue
		}
		result, err := h.client.Session.CallTool(r.Context(), &mcp.CallToolParams{Name: params.Name, Arguments: params.Arguments})
		if err != nil {
			refuse(err.Error())
			return
		}
		_ = json.NewEncoder(w).Encode(result)
		return
	}
	refuse("the view may not call " + params.Name)
}

// model makes a call as the model does, and returns its arguments and result as the host shows them to a view.
func (h *chat) model(tool, format string, values ...any) (input, result string) {
	h.t.Helper()
	for i := range values {
		values[i] = quoted(values[i])
	}
	input = fmt.Sprintf(format, values...)
	got, err := h.client.Session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
	if err != nil {
		h.t.Fatalf("%s %s: %v", tool, input, err)
	}
	return input, quoted(got)
}

// quoted is a value as JSON.
func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// show shows a view beside a call, and returns its number.
func (h *chat) show(input, result, options string) int {
	h.t.Helper()
	return evaluate[int](h.tab, fmt.Sprintf(`show(%s, %s, %s, %s)`, quoted(h.html), input, result, options))
}

// inside evaluates an expression in the document of a view.
func inside[T any](h *chat, view int, expression string) (value T) {
	h.t.Helper()
	h.run("evaluate "+expression, chromedp.Evaluate(expression, &value, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithContextID(h.frame(view)).WithAwaitPromise(true)
	}))
	return value
}

// frame returns the context of the document of a view: the one that is not yet that of an earlier view.
func (h *chat) frame(view int) (id runtime.ExecutionContextID) {
	h.t.Helper()
	find := func() bool {
		h.mu.Lock()
		all, known := slices.Clone(h.contexts), h.frames[view]
		taken := make(map[runtime.ExecutionContextID]bool)
		for _, other := range h.frames {
			taken[other] = true
		}
		h.mu.Unlock()
		if known != 0 {
			id = known
			return true
		}
		for _, c := range all {
			var is bool
			err := chromedp.Run(h.ctx, chromedp.Evaluate(`!!document.getElementById('view') && document.readyState === 'complete'`, &is,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithContextID(c) }))
			if err == nil && is && !taken[c] {
				h.mu.Lock()
				h.frames[view] = c
				h.mu.Unlock()
				id = c
				return true
			}
		}
		return false
	}
	lab.Eventually(h.t, "the document of the view", find)
	return id
}

// until waits until an expression in a view is true.
func (h *chat) until(view int, what, expression string) {
	h.t.Helper()
	deadline := time.Now().Add(lab.Patience)
	for !inside[bool](h, view, expression) {
		if time.Now().After(deadline) {
			h.t.Fatalf("the view does not show %s; it shows\n%s\nthe browser says %q", what,
				inside[string](h, view, `document.getElementById('state').textContent + '\n' + `+rows), h.complaints())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// rows are the rows that a view shows, without blanks at their ends.
const rows = `[...document.querySelectorAll('.row')].map(e => e.textContent.trimEnd()).join('\n').trimEnd()`

// shows waits until the rows of a view have a text.
func (h *chat) showsRow(view int, text string) {
	h.t.Helper()
	h.until(view, fmt.Sprintf("%q in its rows", text), fmt.Sprintf(`(%s).includes(%q)`, rows, text))
}

// says waits until a view says something of its state.
func (h *chat) says(view int, text string) {
	h.t.Helper()
	h.until(view, fmt.Sprintf("%q as its state", text), fmt.Sprintf(`document.getElementById('state').textContent.includes(%q)`, text))
}

// untroubled checks that nothing has broken the policy of the host or failed in the view, and that the view has called no
// tool but its own.
func (h *chat) untroubled() {
	h.t.Helper()
	if wrongs := h.complaints(); len(wrongs) > 0 {
		h.t.Errorf("the browser complains: %q, want nothing", wrongs)
	}
	if refused := evaluate[string](h.tab, `views.flatMap(v => v.refused).join('; ')`); refused != "" {
		h.t.Errorf("the host has refused %s, want only calls that it passes on", refused)
	}
	h.tab.mu.Lock()
	defer h.tab.mu.Unlock()
	for _, address := range h.sent {
		if u, err := url.Parse(address); err == nil && u.Host != "" && !strings.HasPrefix(u.Host, "127.0.0.1:") {
			h.t.Errorf("the browser has asked for %s, want nothing but the host's two sites", address)
		}
	}
}
