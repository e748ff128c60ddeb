package watch

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// A portal is the page at the HTTP port of a ptyctl with its agent at stdio.
type portal struct {
	t      *testing.T
	c      *lab.Client
	tokens string // the file of them
	base   string // address of the page
	http   *http.Client

	ann, bob, agent string // tokens: of one who watches, of one who may step in, of an agent
}

// pageAndTokens is a configuration with the page, and the file of its tokens.
func pageAndTokens(t *testing.T) (table, file string) {
	file = filepath.Join(t.TempDir(), "tokens")
	return "[server.http]\nwatch = true\ntokens_file = '" + file + "'\n", file
}

// startPortal starts ptyctl with the page at all addresses, over TLS, and a configuration besides.
func startPortal(t *testing.T, servers []*lab.SSHD, tables string) (*portal, *lab.Home) {
	t.Helper()
	table, file := pageAndTokens(t)
	h := lab.HomeFor(t, servers, tables+"\n"+table)
	p := &portal{
		t: t, tokens: file, agent: leaktest.Secret(t, "agent-5a0c1f6e-1138"),
		ann: leaktest.Secret(t, "ann-0c77d1e2c3b4-1138"), bob: leaktest.Secret(t, "bob-9b3da5c1f6e0-1138"),
		http: &http.Client{Timeout: lab.Patience, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a certificate of this test
		}},
	}
	h.Secrets = append(h.Secrets, p.ann, p.bob, p.agent)
	p.write(h, "agent:write:"+p.agent, "ann:watch:"+p.ann, "bob:operate:"+p.bob)
	p.c = h.Connect(t, "--transport", "both", "--listen", "0.0.0.0:0", "--tls-self-signed")
	_, port, _ := strings.Cut(strings.TrimPrefix(p.c.URL(), "https://"), ":")
	p.base = "https://127.0.0.1:" + strings.TrimSuffix(port, "/mcp") + "/watch/"
	t.Cleanup(p.http.CloseIdleConnections)
	return p, h
}

// write writes the file of tokens.
func (p *portal) write(h *lab.Home, lines ...string) {
	p.t.Helper()
	h.Write(p.t, p.tokens, strings.Join(lines, "\n")+"\n")
	if err := os.Chmod(p.tokens, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// tab opens the page in the browser.
func (p *portal) tab() *tab {
	p.t.Helper()
	b := newTab(p.t, 1000, 700)
	b.URL = p.base
	b.run("open the page", security.SetIgnoreCertificateErrors(true), chromedp.Navigate(p.base))
	b.wait("the field for the token", `!document.getElementById('login').hidden`)
	return b
}

// send sends a request of the page, and returns its answer.
func (p *portal) send(method, path, token, body string) (status int, text string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", strings.TrimSuffix(p.base, "/watch/"))
	}
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	return res.StatusCode, string(all)
}

// A person on the network logs in with a token of their own, agrees to a call of the agent, and takes its terminal over.
// The audit log has their token's name and address. When the token is withdrawn, the page shows nothing any more.
func TestOverTheNetwork(t *testing.T) {
	sshd := lab.StartSSHD(t)
	p, h := startPortal(t, []*lab.SSHD{sshd}, "[policy]\nask = ['touch *']\nconsent = 'person'\ntyping = 'allow'\n")
	c := p.c
	id, shell := c.Open(t, sshd), openLocal(t, c, "bash", "--norc")
	b := p.tab()
	for token, want := range map[string]string{"no-such-token-at-all": "no such token", p.agent: "is an agent's"} {
		b.line("#token", token)
		b.shows("#notice", want)
	}
	b.line("#token", p.bob)
	b.shows("#mode", "may step in")
	b.shows(".tile .name", id)

	// A program that ptyctl has started is refused, also with that token.
	script := filepath.Join(t.TempDir(), "login.py")
	h.Write(t, script, asProgram)
	c.Enter(t, shell, "clear; python3 "+script+" "+p.base+" "+p.tokens+"\r", `answer: 403 .*started by this`)

	file := filepath.Join(t.TempDir(), "agreed")
	agreed := make(chan lab.Result, 1)
	go func() {
		r, err := c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"channel"}`, id, "touch "+file)
		if err != nil {
			t.Error(err)
		}
		agreed <- r
	}()
	b.shows(".question .text", "touch")
	b.click(".question .main")
	if r := <-agreed; r.ErrorCode != "" {
		t.Errorf("the command that was agreed to: %s, want that it runs", r.Text)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the command that was agreed to has made no file: %v", err)
	}

	b.run("choose the shell", chromedp.Evaluate(
		`[...document.querySelectorAll('.tile')].find(e => e.innerText.includes('`+shell+`')).click()`, nil))
	b.shows("#one-name", shell)
	b.shows("#one-screen", "bash-") // until it is drawn, the button below it moves
	b.click("#take")
	b.shows("#one-holder", "you type")
	r := c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"agent types\r"}`, shell)
	if !strings.Contains(r.Text, "bob (watch page, from 127.0.0.1)") {
		t.Errorf("the refusal is %s, want the person's name and address", r.Text)
	}
	b.line("#keys", "echo by-hand")
	b.shows("#one-screen", "\nby-hand")
	b.clean()

	// The token is withdrawn while the terminal is taken.
	p.write(h, "agent:write:"+p.agent, "ann:watch:"+p.ann)
	if err := c.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	b.wait("that the page asks for a token", `!document.getElementById('login').hidden`)
	if text := evaluate[string](b, `document.querySelector('main').innerText`); strings.TrimSpace(text) != "" {
		t.Errorf("the page of a withdrawn token shows %q, want nothing", text)
	}
	// The agent gets LOCKED until the terminal is given back, and once because a person has typed.
	for end := time.Now().Add(lab.Patience); ; time.Sleep(10 * time.Millisecond) {
		r, err := c.Try(t.Context(), lab.ToolIO, `{"action":"write","session_id":%s,"data":"\r"}`, shell)
		if err != nil || r.ErrorCode != "LOCKED" || time.Now().After(end) {
			break
		}
	}
	c.Enter(t, shell, "echo agent-again\r", "agent-again")
	b.line("#token", p.bob)
	b.shows("#notice", "no such token")
	b.clean()
	checkAudit(t, h.Audit)
}

// asProgram logs in with the token of a file.
const asProgram = `import re, ssl, sys, urllib.error, urllib.request
token = re.search("operate:(.*)", open(sys.argv[2]).read()).group(1)
request = urllib.request.Request(sys.argv[1] + "api/login", b"{}", {"Authorization": "Bearer " + token,
    "Content-Type": "application/json", "Origin": sys.argv[1].removesuffix("/watch/")})
try:
    print("answer:", urllib.request.urlopen(request, context=ssl._create_unverified_context()).status)
except urllib.error.HTTPError as e:
    print("answer:", e.code, e.read().decode())
`

// checkAudit checks that the audit log names the users of the page, and their addresses.
func checkAudit(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	want := map[string]bool{"watch": true, "consent": true, "take_over": true, "write": true, "unlock": true}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Event   string
			Refused bool
			Actor   struct{ Transport, Token, Client string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Actor.Transport != "page" {
			continue
		}
		if e.Refused && e.Event == "watch" {
			refused++
		}
		if e.Actor.Token != "bob" || e.Actor.Client != "ptyctl watch page from 127.0.0.1" {
			t.Errorf("the audit log has %s, want the token's name and the address", line)
		}
		delete(want, e.Event)
	}
	if len(want) > 0 || refused != 1 {
		t.Errorf("the audit log has no line of a person at the page for %v, and %d of a refused login; want 1:\n%s", want,
			refused, text)
	}
}

// A person with a token that may only watch sees all sessions, and can do nothing: neither type, nor answer, nor agree,
// whatever they send.
func TestWatchOnly(t *testing.T) {
	sshd := lab.StartSSHD(t)
	p, _ := startPortal(t, []*lab.SSHD{sshd}, "[policy]\nask = ['touch *']\nconsent = 'person'\n"+lab.ReadWrite)
	id := p.c.Open(t, sshd)
	b := p.tab()
	b.line("#token", p.ann)
	b.shows("#mode", "watch only")
	b.shows(".tile .name", id)
	denied := make(chan lab.Result, 1)
	go func() {
		r, _ := p.c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"touch /nonexistent/x","lane":"channel"}`, id)
		denied <- r
	}()
	b.shows(".question .text", "touch")
	b.shows(".question", "role operate")
	if n := evaluate[int](b, `document.querySelectorAll('.question button').length`); n > 0 {
		t.Errorf("one who may only watch has %d buttons to answer, want none", n)
	}
	b.run("choose the session", chromedp.Click(".tile", chromedp.ByQuery))
	b.shows("#hint", "role operate")
	if !evaluate[bool](b, `document.getElementById('take').disabled`) {
		t.Error("the button that takes over is enabled for one who may only watch")
	}
	b.clean()

	p.c.Refused(t, "POLICY_DENIED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo agent\r"}`, id)
	_, text := p.send(http.MethodPost, "api/login", p.ann, "{}")
	var in struct{ Token string }
	if err := json.Unmarshal([]byte(text), &in); err != nil || in.Token == "" {
		t.Fatalf("login = %s, want a token", text)
	}
	questions := p.question(in.Token)
	for path, body := range map[string]string{
		"api/take":     `{"p":"this ptyctl","session":"` + id + `"}`,
		"api/question": `{"p":"this ptyctl","answer":{"question_id":"` + questions + `","yes":true}}`,
		"api/answer":   `{"p":"this ptyctl","session":"` + id + `","text":"x"}`,
		"api/type":     `{"hold":"x","data":"x"}`,
	} {
		if status, text := p.send(http.MethodPost, path, in.Token, body); status != http.StatusForbidden &&
			status != http.StatusConflict || !strings.Contains(text, "operate") && path != "api/type" {
			t.Errorf("POST %s of one who may only watch = %d %s, want a refusal", path, status, text)
		}
	}
	// One who may step in denies it, so that the test need not wait. They type, although the rules deny typing to agents.
	_, text = p.send(http.MethodPost, "api/login", p.bob, "{}")
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	p.question(in.Token)
	var taken struct{ Hold string }
	_, text = p.send(http.MethodPost, "api/take", in.Token, `{"p":"this ptyctl","session":"`+id+`"}`)
	if err := json.Unmarshal([]byte(text), &taken); err != nil || taken.Hold == "" {
		t.Errorf("take = %s, want a hold", text)
	}
	if status, text := p.send(http.MethodPost, "api/type", in.Token,
		`{"hold":"`+taken.Hold+`","data":"echo by-''hand\r"}`); status != http.StatusOK {
		t.Errorf("type = %d %s, want 200", status, text)
	}
	b.shows("#one-screen", "by-hand")
	status, text := p.send(http.MethodPost, "api/question", in.Token,
		`{"p":"this ptyctl","answer":{"question_id":"`+questions+`","decline":true}}`)
	if r := <-denied; status != http.StatusOK || r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("deny = %d %s, and the call %s; want POLICY_DENIED", status, text, r.Text)
	}
}

// question returns the id of the question that the stream of a visit shows first.
func (p *portal) question(visit string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+"api/stream", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+visit)
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := json.NewDecoder(res.Body); ; {
		var line struct {
			Questions struct {
				Questions []struct {
					ID string `json:"question_id"`
				}
			}
		}
		if err := lines.Decode(&line); err != nil {
			p.t.Fatalf("the stream shows no question: %v", err)
		}
		if q := line.Questions.Questions; len(q) > 0 {
			return q[0].ID
		}
	}
}

// The page is not served in clear text where others can reach it, nor without a person who could open it.
func TestNotServed(t *testing.T) {
	table, tokens := pageAndTokens(t)
	h := lab.NewHome(t, table)
	secret := leaktest.Secret(t, "person-9b3da5c1f6-1138")
	h.Secrets = append(h.Secrets, secret)
	for _, tt := range []struct{ role, listen, want string }{
		{"operate", "0.0.0.0:0", "without TLS"}, {"write", "127.0.0.1:0", "no token has the role watch or operate"},
	} {
		h.Write(t, tokens, "name:"+tt.role+":"+secret+"\n")
		if err := os.Chmod(tokens, 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr, status := h.Run(t, "mcp", "--config", h.Config, "--transport", "http", "--listen", tt.listen)
		if status == 0 || !strings.Contains(stderr, tt.want) {
			t.Errorf("with a token of the role %s at %s: status %d, %s; want that it does not start: %s", tt.role, tt.listen,
				status, stderr, tt.want)
		}
	}
}
