package apps_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/apps"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// initialize are the parameters of a client with such capabilities.
const initialize = `{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"chat","version":"1"}}`

// drawing are the capabilities of a client that draws pages.
const drawing = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// A viewed has the members of a ptyctl_view result that tests check.
type viewed struct {
	State   string
	End     string
	Ended   bool
	Version uint64
	Cut     bool
	Frame   *struct {
		Cols, Rows int
		Full       bool
		L          map[string][][]any
	}
}

// rows are the texts of the rows of a frame, joined.
func (v viewed) rows() (text string) {
	if v.Frame == nil {
		return ""
	}
	for y := range v.Frame.Rows {
		for _, run := range v.Frame.L[fmt.Sprint(y)] {
			text += run[0].(string)
		}
		text += "\n"
	}
	return text
}

func view(t *testing.T, a *mcptest.Agent, since uint64, waitMS int) (v viewed) {
	t.Helper()
	r := a.OK(apps.ViewTool, fmt.Sprintf(`{"session_id":"$S","since":%d,"wait_ms":%d}`, since, waitMS))
	a.Decode(json.RawMessage(r.Text), &v)
	return v
}

// until views frame after frame until one shows a text.
func until(t *testing.T, a *mcptest.Agent, v viewed, text string) viewed {
	t.Helper()
	for range 20 {
		if strings.Contains(v.rows(), text) {
			return v
		}
		v = view(t, a, v.Version, 20_000)
	}
	t.Fatalf("no frame shows %q; the last: %+v", text, v)
	return v
}

// A client sees the extension only if it has declared it, and if the operator has enabled it.
func TestDeclared(t *testing.T) {
	_, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Apps: true}})
	_, off := mcptest.NewServer(t, mcptest.Config{})
	want := mcptest.NewAgent(t, off, "2025-11-25").Request("tools/list", `{}`)
	for name, c := range map[string]struct {
		capabilities string
		srv          *mcpapi.Server
		drawn        bool
	}{
		"declared":       {drawing, srv, true},
		"not declared":   {`{}`, srv, false},
		"no types":       {`{"extensions":{"io.modelcontextprotocol/ui":{}}}`, srv, false},
		"another type":   {`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/uri-list"]}}}`, srv, false},
		"no object":      {`{"extensions":{"io.modelcontextprotocol/ui":true}}`, srv, false},
		"experimental":   {`{"experimental":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, srv, false},
		"off by setting": {drawing, off, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := mcptest.NewAgent(t, c.srv, "2025-11-25")
			got := a.Request("initialize", fmt.Sprintf(initialize, c.capabilities))
			if has := strings.Contains(string(got.Result), apps.Extension); has != c.drawn {
				t.Errorf("initialize = %s; it names the extension: %t, want %t", got.Result, has, c.drawn)
			}
			list := a.Request("tools/list", `{}`).Result
			if !c.drawn && string(list) != string(want.Result) {
				t.Errorf("tools/list differs from that of a server without the extension:\n%s\nwant\n%s", list, want.Result)
			}
			if c.drawn {
				checkLinks(t, a, list)
			}
			resources := string(a.Request("resources/list", `{}`).Result)
			page := a.Request("resources/read", `{"uri":"ui://ptyctl/screen"}`)
			if listed := strings.Contains(resources, apps.URI); listed != c.drawn || (page.Error == nil) != c.drawn {
				t.Errorf("the page is listed: %t, and can be read: %t; want %t", listed, page.Error == nil, c.drawn)
			}
			if c.drawn && !strings.Contains(string(page.Result), `"mimeType":"text/html;profile=mcp-app"`) {
				t.Errorf("resources/read = %.300s, want the MIME type of the extension", page.Result)
			}
			called := a.Request("tools/call", `{"name":"ptyctl_view","arguments":{"session_id":"none"}}`)
			if (called.Error == nil) != c.drawn {
				t.Errorf("a call of ptyctl_view = %+v, want an unknown tool: %t", called, !c.drawn)
			}
		})
	}
}

// checkLinks checks which tools the page belongs to, and that it may call its own alone.
func checkLinks(t *testing.T, a *mcptest.Agent, list json.RawMessage) {
	t.Helper()
	var tools struct {
		Tools []struct {
			Name string
			Meta struct {
				UI struct {
					ResourceURI string
					Visibility  []string
				}
			} `json:"_meta"`
		}
	}
	a.Decode(list, &tools)
	linked := 0
	for _, tool := range tools.Tools {
		ui, who := tool.Meta.UI, []string{"model"}
		if tool.Name == apps.ViewTool {
			who = []string{"app"}
		}
		if !slices.Equal(ui.Visibility, who) {
			t.Errorf("%s may be called by %q, want %q", tool.Name, ui.Visibility, who)
		}
		if ui.ResourceURI == apps.URI {
			linked++
		}
	}
	if linked != 2 {
		t.Errorf("%d tools have the page, want ptyctl_session and ptyctl_session_io", linked)
	}
}

// A page gets the whole screen, then the rows that change, then the end with the last screen. It wakes no one who
// compares versions, and its frames have no secret.
func TestView(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Apps: true}})
	l.Request("initialize", fmt.Sprintf(initialize, drawing))
	l.OpenShell()
	v := until(t, l.Agent, view(t, l.Agent, 0, 20_000), "$")
	if !v.Frame.Full || v.State != "open" || v.Version == 0 {
		t.Errorf("the first frame = %+v, want a whole one of an open session", v)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo first; echo second\r","timeout_ms":0}`)
	v = until(t, l.Agent, view(t, l.Agent, v.Version, 20_000), "second")
	if v.Frame.Full {
		t.Errorf("the frame after output = %+v, want the rows that changed", v.Frame)
	}
	for v.Frame != nil { // the prompt may come after the line before it
		v = view(t, l.Agent, v.Version, 300)
	}
	before := v.Version
	if v = view(t, l.Agent, v.Version, 1); v.Frame != nil || v.Version != before {
		t.Errorf("without output: %+v, want no frame and the version %d", v, before)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"hunter2-1138","sensitive":true,"timeout_ms":0}`)
	v = until(t, l.Agent, view(t, l.Agent, v.Version, 20_000), "****")
	if strings.Contains(v.rows(), "hunter2") {
		t.Errorf("a frame shows a secret: %s", v.rows())
	}
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if v = view(t, l.Agent, 0, 20_000); !v.Ended || !strings.Contains(v.rows(), "second") || v.End == "" {
		t.Errorf("after the end: %+v, want the last screen and why it has ended", v)
	}
	l.Fails(apps.ViewTool, `{"session_id":"none-k3f9q2zd"}`, term.NotFound)
	l.Fails(apps.ViewTool, `{"session_id":"$S","wait_ms":20001}`, term.InvalidArgument, "wait_ms")
}

// A page does not have all rows of a cut frame. So its next frame is whole or cut, too, and not a difference: that
// would lack the rows that have not changed since.
func TestCutFrameIsNoBase(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Apps: true, Limits: toolset.Limits{MaxReadBytes: 1 << 10}}})
	l.Request("initialize", fmt.Sprintf(initialize, drawing))
	l.OpenShell()
	v := until(t, l.Agent, view(t, l.Agent, 0, 20_000), "$")
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"clear; seq -f 'row %g of many that have no room' 30\r","timeout_ms":0}`)
	for range 20 {
		if v.Cut {
			break
		}
		v = view(t, l.Agent, v.Version, 20_000)
	}
	if !v.Cut {
		t.Fatalf("the last frame = %+v, want one that is cut", v)
	}
	for v.Cut && v.Frame != nil { // the prompt may come after the rows
		v = view(t, l.Agent, v.Version, 300)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"x","timeout_ms":0}`)
	if v = view(t, l.Agent, v.Version, 20_000); v.Frame == nil || !v.Frame.Full || !v.Cut {
		t.Errorf("the frame after a cut one = %+v, want a whole one, cut again", v)
	}
}

// One that may only read may view, and another's session is not there.
func TestCallers(t *testing.T) {
	l, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Apps: true}})
	as := func(c identity.Caller) *mcptest.Agent {
		a, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), c), srv, "chat", "2025-11-25")
		a.Request("initialize", fmt.Sprintf(initialize, drawing))
		return a
	}
	owner := as(identity.Caller{Transport: "http", Token: "ops", Isolated: true})
	l.Agent = owner
	l.OpenShell()
	until(t, owner, view(t, owner, 0, 20_000), "$")
	reader := as(identity.Caller{Transport: "http", Token: "ci", ReadOnly: true})
	reader.Session = owner.Session
	until(t, reader, view(t, reader, 0, 20_000), "$")
	if !slices.Contains(reader.ToolNames(), apps.ViewTool) {
		t.Errorf("a reader's tools are %q, want %s among them", reader.ToolNames(), apps.ViewTool)
	}
	other := as(identity.Caller{Transport: "http", Token: "other", Isolated: true})
	other.Session = owner.Session
	other.Fails(apps.ViewTool, `{"session_id":"$S"}`, term.NotFound)
}

// Since revision 2026-07-28 each request declares its client's capabilities; those of an earlier request do not count.
func TestDeclaredInRequest(t *testing.T) {
	_, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Apps: true}})
	a := mcptest.NewAgent(t, srv, "2025-11-25")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}`
	for _, c := range []struct {
		capabilities string
		drawn        bool
	}{{drawing, true}, {`{}`, false}} {
		with := fmt.Sprintf(meta, c.capabilities)
		for method, params := range map[string]string{
			"server/discover": `{` + with + `}`,
			"tools/list":      `{` + with + `}`,
			"resources/list":  `{` + with + `}`,
		} {
			want := map[string]string{"server/discover": apps.Extension, "tools/list": apps.ViewTool, "resources/list": apps.URI}[method]
			if got := a.Request(method, params); strings.Contains(string(got.Result), want) != c.drawn || got.Error != nil {
				t.Errorf("%s with %s = %.2000s %+v; want %s in it: %t", method, c.capabilities, got.Result, got.Error, want, c.drawn)
			}
		}
		read := a.Request("resources/read", `{"uri":"ui://ptyctl/screen",`+with+`}`)
		call := a.Request("tools/call", `{"name":"ptyctl_view","arguments":{"session_id":"none"},`+with+`}`)
		if (read.Error == nil) != c.drawn || (call.Error == nil) != c.drawn {
			t.Errorf("with %s the page can be read: %t, and its tool called: %t; want %t", c.capabilities, read.Error == nil, call.Error == nil, c.drawn)
		}
	}
}

// The calls of one caller that wait for their turns hold up no other caller.
func TestTurns(t *testing.T) {
	l, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Apps: true}})
	as := func(token string) *mcptest.Agent {
		a, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), identity.Caller{Transport: "http", Token: token}), srv, "chat", "2025-11-25")
		a.Request("initialize", fmt.Sprintf(initialize, drawing))
		return a
	}
	l.Agent = as("ops")
	l.OpenShell()
	for range 10 { // the last has its turn in nine seconds
		l.Start("tools/call", l.Params(apps.ViewTool, `{"session_id":"$S"}`))
	}
	other := as("ci")
	other.Session = l.Session
	if v := view(t, other, 0, 0); !v.Frame.Full {
		t.Errorf("another caller's view = %+v, want its frame beside the calls that wait", v)
	}
}
