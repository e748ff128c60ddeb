package elicit_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/elicit"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// A person answers the client's questions, and keeps them.
type person struct {
	t      *testing.T
	answer func(p *sdk.ElicitParams) *sdk.ElicitResult

	mu    sync.Mutex
	asked []*sdk.ElicitParams
}

func (p *person) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Params)
	p.mu.Unlock()
	return p.answer(r.Params), nil
}

// questions returns the questions so far.
func (p *person) questions() []*sdk.ElicitParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// options returns the options of the person's client, with the capabilities given.
func (p *person) options(can *sdk.ElicitationCapabilities) sdk.ClientOptions {
	return sdk.ClientOptions{ElicitationHandler: p.elicit, Capabilities: &sdk.ClientCapabilities{Elicitation: can}}
}

var (
	onlyForms = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
	alsoPages = &sdk.ElicitationCapabilities{
		Form: &sdk.FormElicitationCapabilities{},
		URL:  &sdk.URLElicitationCapabilities{},
	}
)

func accept(content map[string]any) func(*sdk.ElicitParams) *sdk.ElicitResult {
	return func(*sdk.ElicitParams) *sdk.ElicitResult {
		return &sdk.ElicitResult{Action: "accept", Content: content}
	}
}

func saying(action string) func(*sdk.ElicitParams) *sdk.ElicitResult {
	return func(*sdk.ElicitParams) *sdk.ElicitResult { return &sdk.ElicitResult{Action: action} }
}

// withElicitation makes the lab's server ask the person.
func withElicitation(c mcptest.Config) mcptest.Config {
	c.Options.Elicitation = true
	return c
}

func TestElicitHostKey(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			for name, c := range map[string]struct {
				answer func(*sdk.ElicitParams) *sdk.ElicitResult
				kind   term.Kind // of the failure
				state  string
			}{
				"trusted":     {accept(map[string]any{"trust": true}), "", "open"},
				"not trusted": {accept(map[string]any{"trust": false}), term.HostKeyUnknown, ""},
				"declined":    {saying("decline"), term.HostKeyUnknown, ""},
				"dismissed":   {saying("cancel"), "", "authenticating"},
			} {
				t.Run(name, func(t *testing.T) {
					p := &person{t: t, answer: c.answer}
					l, client := connect(t, withElicitation(mcptest.Config{Stranger: true}), revision, p.options(onlyForms))
					r := client.Call(mcptest.SessionTool, l.OpenArgs(`,"ssh_options":{"host_key_policy":"ask"}`))
					if r.ErrorCode != c.kind || r.State != c.state || (r.Prompt != nil) != (c.state == "authenticating") {
						t.Errorf("open: %s", r.Text)
					}
					asked := p.questions()
					if len(asked) != 1 || asked[0].Mode == "url" ||
						!strings.Contains(asked[0].Message, "ptyctl logs in to demo@127.0.0.1:") ||
						!strings.Contains(asked[0].Message, ssh.FingerprintSHA256(l.SSH.HostKey())) {
						t.Fatalf("asked: %+v", asked)
					}
					if c.state != "authenticating" {
						return
					}
					// A question that the person dismissed goes to the caller.
					if r = client.Call(mcptest.IOTool,
						`{"action":"write","session_id":"`+r.SessionID+`","data":"yes\r"}`); r.State != "open" {
						t.Errorf("answered by a write: %s", r.Text)
					}
				})
			}
		},
	)
}

// asks is a server that asks the questions given, with echo, and wants the answers given.
func asks(questions map[string]string) sshserver.Config {
	return sshserver.Config{KeyboardInteractive: func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
		for _, q := range slices.Sorted(maps.Keys(questions)) {
			answers, err := challenge("", "", []string{q}, []bool{true})
			if err != nil || len(answers) != 1 || answers[0] != questions[q] {
				return term.AuthFailed
			}
		}
		return nil
	}}
}

func TestElicitText(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			questions := map[string]string{"1. Your\u202e name\x1b[2J: ": "alice", "2. Menu 1 or 2? ": "2"}
			p := &person{t: t}
			p.answer = func(q *sdk.ElicitParams) *sdk.ElicitResult {
				if strings.Contains(q.Message, "Menu") {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "2"}}
				}
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "alice"}}
			}
			l, c := connect(t, withElicitation(mcptest.Config{SSH: asks(questions)}), revision, p.options(onlyForms))
			r := c.Call(mcptest.SessionTool, l.OpenArgs(""))
			if r.State != "open" || r.Prompt != nil || r.Capabilities == nil {
				t.Errorf("open: %s", r.Text)
			}
			asked := p.questions()
			if len(asked) != 2 || strings.ContainsAny(asked[0].Message, "\u202e\x1b") ||
				!strings.Contains(asked[0].Message, `in its own words: 1. Your\u202e name\x1b[2J: `) {
				t.Fatalf("asked: %+v", asked)
			}
			// The login of a session that is reopened asks in the same way.
			l.SSH.DropConnections()
			id := `,"session_id":"` + r.SessionID + `"`
			c.Call(mcptest.IOTool, `{"action":"read","cursor":"0","until_regex":"never","timeout_ms":10000`+id+`}`)
			r = c.Call(mcptest.SessionTool, `{"action":"reopen"`+id+`}`)
			if asked := p.questions(); len(asked) != 4 || r.State != "open" || !strings.Contains(r.Text, `"opens":2`) {
				t.Errorf("reopen, after %d questions: %s", len(asked), r.Text)
			}
		},
	)
}

// TestElicitNothing: without the capability, without the operator's permission, for secrets, and for calls that may
// be retried, the result must not change, and no person is asked.
func TestElicitNothing(t *testing.T) {
	open := map[string]string{"Name: ": "alice"}
	for name, c := range map[string]struct {
		ssh     sshserver.Config
		options mcpapi.Options
		can     *sdk.ElicitationCapabilities
		args    string
	}{
		"a client that cannot": {ssh: asks(open), options: mcpapi.Options{Elicitation: true}},
		"the operator":         {ssh: asks(open), can: alsoPages},
		"a retry":              {ssh: asks(open), options: mcpapi.Options{Elicitation: true}, can: alsoPages, args: `,"request_id":"r"`},
		"a secret":             {ssh: mcptest.TwoQuestions, options: mcpapi.Options{Elicitation: true}, can: onlyForms},
		"a secret shown":       {ssh: asks(map[string]string{"Passcode or option (1-2): ": "1"}), options: mcpapi.Options{Elicitation: true}, can: onlyForms},
		"a secret, no pages":   {ssh: mcptest.TwoQuestions, options: mcpapi.Options{Elicitation: true}, can: alsoPages},
	} {
		t.Run(name, func(t *testing.T) {
			mcptest.ForEachClient(
				t,
				func(t *testing.T, revision string, connect mcptest.Connect) {
					p := &person{t: t, answer: accept(map[string]any{"answer": "alice"})}
					o := p.options(c.can)
					if c.can == nil {
						o.ElicitationHandler = nil
					}
					l, client := connect(t, mcptest.Config{SSH: c.ssh, Options: c.options}, revision, o)
					r := client.Call(mcptest.SessionTool, l.OpenArgs(c.args))
					if r.State != "authenticating" || r.Prompt == nil || !r.WaitingForInput || len(p.questions()) != 0 {
						t.Errorf("asked %d questions; open: %s", len(p.questions()), r.Text)
					}
				},
			)
		})
	}
	// A page on ptyctl's machine is of no use to a client on another machine.
	p := &person{t: t, answer: saying("accept")}
	pages := elicit.NewPages()
	defer pages.Close()
	l, srv := mcptest.NewServer(t,
		mcptest.Config{SSH: mcptest.TwoQuestions, Options: mcpapi.Options{Elicitation: true, Pages: pages}})
	client := mcptest.NewOfficialHTTP(t, srv, "2026-07-28", p.options(alsoPages))
	if r := client.Call(mcptest.SessionTool, l.OpenArgs("")); r.Prompt == nil || len(p.questions()) != 0 {
		t.Errorf("over HTTP: %s", r.Text)
	}
}

// TestElicitOnce: while the person thinks, another caller answers by a write. The person's answer comes too late, and
// must not answer a later question.
func TestElicitOnce(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			var l *mcptest.Lab
			p := &person{t: t}
			p.answer = func(*sdk.ElicitParams) *sdk.ElicitResult {
				s := l.Manager.List()[0]
				found, err := l.Manager.Get(s.ID)
				if err != nil {
					t.Error(err)
					return nil
				}
				if _, err := found.Write(context.Background(), []byte("alice\r"), session.WriteOptions{}); err != nil {
					t.Error(err)
				}
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
					if q := found.Question(); q != nil && strings.Contains(q.Prompt().Text, "Password") ||
						found.State() == session.Open { // open: the caller had the result at once
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("the next question does not come, but %+v; %+v", found.Question(), found.Info())
						return &sdk.ElicitResult{Action: "cancel"}
					}
				}
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "for the first question"}}
			}
			srvConfig := mcptest.Config{SSH: asks(map[string]string{"1. Name: ": "alice", "2. Password: ": "hunter2-1138"})}
			var c *mcptest.Official
			l, c = mcptest.Transports["stdio"](t, withElicitation(srvConfig), revision, p.options(onlyForms))
			r := c.Call(mcptest.SessionTool, l.OpenArgs(""))
			if r.State != "authenticating" || r.Prompt == nil || !strings.Contains(r.Prompt.Text, "2. Password") ||
				len(p.questions()) != 1 {
				t.Fatalf("open: %s", r.Text)
			}
			if r = c.Call(mcptest.IOTool,
				`{"action":"write","session_id":"`+r.SessionID+`","data":"hunter2-1138\r"}`); r.State != "open" {
				t.Errorf("the second question had another answer: %s", r.Text)
			}
		})
	}
}

// TestElicitEnds: the question is not open for longer than the login waits, nor than a call may.
func TestElicitEnds(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		for name, c := range map[string]struct {
			options  mcpapi.Options
			sessions session.Config
			kind     term.Kind
		}{
			"with the login":            {mcpapi.Options{Elicitation: true}, session.Config{PromptTimeout: 200 * time.Millisecond}, term.AuthFailed},
			"with what a call may wait": {mcpapi.Options{Elicitation: true, Limits: toolset.Limits{MaxWait: 300 * time.Millisecond}}, session.Config{}, ""},
		} {
			t.Run(revision+" "+name, func(t *testing.T) {
				answered := make(chan struct{})
				p := &person{t: t}
				p.answer = func(*sdk.ElicitParams) *sdk.ElicitResult {
					<-answered
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "late"}}
				}
				l, client := mcptest.Transports["stdio"](
					t,
					mcptest.Config{SSH: asks(map[string]string{"Name: ": "alice"}), Options: c.options, Sessions: c.sessions},
					revision,
					p.options(onlyForms),
				)
				if revision >= "2026-07-28" { // here the client has the question, and calls again when it likes
					time.AfterFunc(time.Second, func() { close(answered) })
				} else {
					defer close(answered)
				}
				began := time.Now()
				r := client.Call(mcptest.SessionTool, l.OpenArgs(""))
				if time.Since(began) > 5*time.Second {
					t.Errorf("it took %v", time.Since(began))
				}
				switch {
				case c.kind != "" && r.ErrorCode != c.kind, c.kind == "" && revision < "2026-07-28" && r.Prompt == nil:
					t.Errorf("open: %s", r.Text)
				}
			})
		}
	}
}

// TestElicitState: the state of a question is good once, for the same call, and never for another.
func TestElicitState(t *testing.T) {
	l, srv := mcptest.NewServer(t, withElicitation(mcptest.Config{SSH: asks(map[string]string{"Name: ": "alice"})}))
	l.Agent = mcptest.NewAgent(t, srv, "")
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	ask := func(args, more string) string {
		got := l.Request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,%s%s}`, mcptest.SessionTool, args, meta, more))
		if got.Error != nil {
			t.Fatalf("call %s: error %+v, want a result", args, got.Error)
		}
		return string(got.Result)
	}
	state := regexp.MustCompile(`"requestState":"([A-Z2-7]{26,})"`)
	answer := func(token string) string {
		return `,"requestState":"` + token + `","inputResponses":{"answer":{"action":"accept","content":{"answer":"alice"}}}`
	}
	begin := func() string {
		m := state.FindStringSubmatch(ask(l.OpenArgs(""), ""))
		if m == nil {
			t.Fatal("no question")
		}
		return m[1]
	}
	token := begin()
	for name, got := range map[string]string{
		"made up":         ask(l.OpenArgs(""), answer("AAAAAAAAAAAAAAAAAAAAAAAAAA")),
		"another call":    ask(l.OpenArgs(`,"timeouts":{"idle_timeout_ms":1}`), answer(token)),
		"used up by that": ask(l.OpenArgs(""), answer(token)),
	} {
		if !strings.Contains(got, `INVALID_ARGUMENT`) || !strings.Contains(got, "requestState") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if n := len(l.Manager.List()); n != 1 {
		t.Errorf("%d sessions", n)
	}
	token = begin()
	// The same arguments in another order are the same call.
	if got := ask(fmt.Sprintf(`{"username":"demo","port":%d, "host":"127.0.0.1","protocol":"ssh","action":"open"}`,
		l.SSH.Port()), answer(token)); !strings.Contains(
		got,
		`\"state\":\"open\"`,
	) {
		t.Errorf("the answer: %s", got)
	}
	if got := ask(l.OpenArgs(""), answer(token)); !strings.Contains(got, `INVALID_ARGUMENT`) {
		t.Errorf("a second time: %s", got)
	}
}

// TestElicitSecret: a secret is typed on a page, and only the server sees it.
func TestElicitSecret(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			pages := elicit.NewPages()
			defer pages.Close()
			p := &person{t: t}
			var typing sync.WaitGroup
			p.answer = func(q *sdk.ElicitParams) *sdk.ElicitResult {
				text := "p w\r"
				if len(p.questions()) == 2 {
					text = "123 "
				}
				typing.Go(func() { // the client says that the page is open; the person types later
					if status, page := fillIn(t, q.URL, text); status != http.StatusOK || !strings.Contains(page, "Done") {
						t.Errorf("the page said %d %s", status, page)
					}
				})
				return &sdk.ElicitResult{Action: "accept"}
			}
			l, c := mcptest.Transports["stdio"](
				t,
				mcptest.Config{
					SSH: sshserver.Config{KeyboardInteractive: func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
						answers, err := challenge(
							"",
							"Two factors.",
							[]string{"Password: ", "Code <b>(shown)</b>: "},
							[]bool{false, true},
						)
						if err != nil || len(answers) != 2 || answers[0] != "p w" || answers[1] != "123 " {
							return term.AuthFailed
						}
						return nil
					}},
					Options: mcpapi.Options{Elicitation: true, Pages: pages},
				},
				revision,
				p.options(alsoPages),
			)
			r := c.Call(mcptest.SessionTool, l.OpenArgs(""))
			if r.State != "open" {
				t.Fatalf("open: %s", r.Text)
			}
			typing.Wait()
			asked := p.questions()
			if len(asked) != 2 || asked[0].Mode != "url" || asked[0].ElicitationID == "" || asked[0].RequestedSchema != nil {
				t.Errorf("asked %+v", asked)
			}
			for _, q := range asked { // with its question, a page is gone
				wantGone(t, q.URL)
			}
		})
	}
}

// formField is the hidden member of a page's form.
var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

// fillIn opens a page and answers on it, as a browser does.
func fillIn(t *testing.T, address, text string) (status int, page string) {
	t.Helper()
	status, page, header := get(t, http.MethodGet, address, nil, nil)
	field := formField.FindStringSubmatch(page)
	if status != http.StatusOK || field == nil || strings.Contains(page, "<b>(shown)") ||
		header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page: %d %v %s", status, header, page)
		return status, page
	}
	status, page, _ = get(
		t,
		http.MethodPost,
		address,
		url.Values{"form": {field[1]}, "answer": {text}},
		map[string]string{"Sec-Fetch-Site": "same-origin"},
	)
	return status, page
}

// wantGone checks that no server listens at an address any longer. The page ends in its own goroutine, after its
// answer.
func wantGone(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		conn, err := d.DialContext(t.Context(), "tcp4", u.Host)
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Errorf("%s is still there 20 s after its question", address)
}

func get(
	t *testing.T,
	method, address string,
	form url.Values,
	header map[string]string,
) (status int, page string, got http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return 0, "", nil
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		req.Host = host
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, "", nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(text), res.Header
}

// TestPageIsGuarded: only the person at this machine can see a page and answer there.
func TestPageIsGuarded(t *testing.T) {
	pages := elicit.NewPages()
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Passwords: map[string]string{"demo": "hunter2-1138"}}})
	l.Open("")
	s, err := l.Manager.Get(l.Session)
	if err != nil || s.Question() == nil {
		t.Fatalf("no question: %v", err)
	}
	address, err := elicit.OpenPage(t.Context(), pages, s.Question())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() != "127.0.0.1" || len(u.Path) < 50 {
		t.Fatalf("the address is %s, %v", address, err)
	}
	_, page, _ := get(t, http.MethodGet, address, nil, nil)
	field := formField.FindStringSubmatch(page)[1]
	good := url.Values{"form": {field}, "answer": {"hunter2-1138"}}
	for name, c := range map[string]struct {
		method, address string
		form            url.Values
		header          map[string]string
		status          int
	}{
		"another path":        {http.MethodGet, "http://" + u.Host + "/", nil, nil, http.StatusNotFound},
		"a path one off":      {http.MethodGet, address + "x", nil, nil, http.StatusNotFound},
		"another name":        {http.MethodGet, address, nil, map[string]string{"Host": "evil.example:80"}, http.StatusMisdirectedRequest},
		"localhost":           {http.MethodGet, address, nil, map[string]string{"Host": "localhost:" + u.Port()}, http.StatusMisdirectedRequest},
		"a post elsewhere":    {http.MethodPost, "http://" + u.Host + "/", good, nil, http.StatusNotFound},
		"a post by name":      {http.MethodPost, address, good, map[string]string{"Host": "evil.example"}, http.StatusMisdirectedRequest},
		"a foreign origin":    {http.MethodPost, address, good, map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		"a foreign site":      {http.MethodPost, address, good, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"without the form":    {http.MethodPost, address, url.Values{"answer": {"hunter2-1138"}}, nil, http.StatusForbidden},
		"another form":        {http.MethodPost, address, url.Values{"form": {"x"}, "answer": {"hunter2-1138"}}, nil, http.StatusForbidden},
		"a form in the query": {http.MethodPost, address + "?" + good.Encode(), nil, nil, http.StatusForbidden},
		"too much":            {http.MethodPost, address, url.Values{"form": {field}, "answer": {strings.Repeat("x", elicit.PageBody)}}, nil, http.StatusForbidden},
		"another method":      {http.MethodPut, address, good, nil, http.StatusMethodNotAllowed},
	} {
		status, page, header := get(t, c.method, c.address, c.form, c.header)
		if status != c.status || strings.Contains(page, "hunter2-1138") || strings.Contains(page, field) ||
			header.Get("X-Frame-Options") != "DENY" && status != http.StatusForbidden {
			t.Errorf("%s: %d %v %s", name, status, header, page)
		}
	}
	if s.Question() == nil {
		t.Fatal("one of them has answered")
	}
	// The person may also decline, which ends the login.
	if status, _, _ := get(t, http.MethodPost, address, url.Values{"form": {field}, "decline": {"1"}},
		nil); status != http.StatusOK {
		t.Errorf("declined: %d", status)
	}
	<-s.Ended()
	pages.Close()
	if _, err := elicit.OpenPage(t.Context(), pages, nil); err == nil {
		t.Error("a page after the end")
	}
}

// TestPagesEnd: a page does not outlive its owner.
func TestPagesEnd(t *testing.T) {
	pages := elicit.NewPages()
	l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
	l.Open("")
	s, err := l.Manager.Get(l.Session)
	if err != nil {
		t.Fatal(err)
	}
	address, err := elicit.OpenPage(t.Context(), pages, s.Question())
	if err != nil {
		t.Fatal(err)
	}
	pages.Close()
	wantGone(t, address)
	if s.Question() == nil {
		t.Error("the question is gone with it")
	}
}
