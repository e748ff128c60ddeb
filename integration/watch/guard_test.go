package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// ask sends a request to the page's server and returns the status and the text of the answer.
func ask(t *testing.T, method, address, body string, headers ...string) (status int, text string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: lab.Patience}
	res, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	return res.StatusCode, string(all), res.Header
}

// Only the page itself gets an answer: not a request with a used ticket, from another origin, by another name, without
// a token, or with one of another server.
func TestRefusals(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "cat")
	link := startPage(t, h).link()
	other := startPage(t, h).link()
	base, fragment, _ := strings.Cut(link, "/#")
	given, err := url.ParseQuery(fragment)
	if err != nil {
		t.Fatal(err)
	}
	ticket := `{"ticket":"` + given.Get("ticket") + `"}`
	own := []string{"Origin", base, "Content-Type", "application/json"}
	foreign, _, _ := strings.Cut(other, "/#")
	name := "http://rebound.example:" + base[strings.LastIndex(base, ":")+1:]
	rebound := strings.TrimPrefix(name, "http://")
	for what, headers := range map[string][]string{
		"a foreign origin":          {"Origin", "https://evil.example", "Content-Type", "application/json"},
		"the page of another port":  {"Origin", foreign, "Content-Type", "application/json"},
		"no origin":                 {"Content-Type", "application/json"},
		"the origin of a sandbox":   {"Origin", "null", "Content-Type", "application/json"},
		"a rebinding name":          {"Origin", name, "Host", rebound, "Content-Type", "application/json"},
		"another name, own origin":  {"Origin", base, "Host", "rebound.example", "Content-Type", "application/json"},
		"a form of another page":    {"Origin", base, "Content-Type", "text/plain"},
		"another site, as told":     {"Origin", base, "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"},
		"another port, as told":     {"Origin", base, "Content-Type", "application/json", "Sec-Fetch-Site", "same-site"},
		"the name of all addresses": {"Origin", base, "Host", "0.0.0.0", "Content-Type", "application/json"},
	} {
		status, text, headers := ask(t, http.MethodPost, base+"/api/login", ticket, headers...)
		if status < 400 || strings.Contains(text, `"token"`) || headers.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s gets %d %s, want a refusal", what, status, text)
		}
	}
	// None of them has used the ticket up.
	status, text, _ := ask(t, http.MethodPost, base+"/api/login", ticket, own...)
	if status != http.StatusOK || !strings.Contains(text, `"token"`) {
		t.Fatalf("the ticket = %d %s, want a token", status, text)
	}
	_, token, _ := strings.Cut(text, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	if status, text, _ := ask(t, http.MethodPost, base+"/api/login", ticket, own...); status != http.StatusUnauthorized {
		t.Errorf("the same ticket once more = %d %s, want 401", status, text)
	}
	for what, headers := range map[string][]string{
		"no token":         {},
		"another token":    {"Authorization", "Bearer " + strings.Repeat("x", 43)},
		"the ticket":       {"Authorization", "Bearer " + given.Get("ticket")},
		"a foreign origin": {"Authorization", "Bearer " + token, "Origin", "https://evil.example"},
		"a rebinding name": {"Authorization", "Bearer " + token, "Host", rebound},
		"another site":     {"Authorization", "Bearer " + token, "Sec-Fetch-Site", "cross-site"},
		"a cookie":         {"Cookie", "token=" + token},
	} {
		if status, text, _ := ask(t, http.MethodGet, base+"/api/recordings", "", headers...); status < 400 {
			t.Errorf("with %s the API answers %d %s, want a refusal", what, status, text)
		}
	}
	status, text, _ = ask(t, http.MethodGet, foreign+"/api/recordings", "", "Authorization", "Bearer "+token)
	if status < 400 {
		t.Errorf("the token of another server = %d %s, want a refusal", status, text)
	}
	auth := append([]string{"Authorization", "Bearer " + token}, own...)
	status, text, got := ask(t, http.MethodGet, base+"/api/recordings", "", auth...)
	if status != http.StatusOK {
		t.Errorf("the page itself gets %d %s, want 200", status, text)
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if !strings.HasPrefix(got.Get(header), want) {
			t.Errorf("%s: %q, want %q", header, got.Get(header), want)
		}
	}
	if got.Get("Set-Cookie") != "" {
		t.Errorf("the server sets the cookie %q, want none", got.Get("Set-Cookie"))
	}
	// Names of files lead nowhere else, and input needs a terminal that was taken.
	for _, file := range []string{"../audit.jsonl", "%2e%2e%2faudit.jsonl", "/etc/passwd", ".", ""} {
		if status, text, _ := ask(t, http.MethodGet, base+"/api/recording?file="+file, "", auth...); status < 400 {
			t.Errorf("the recording %q = %d %s, want a refusal", file, status, text)
		}
	}
	status, text, _ = ask(t, http.MethodPost, base+"/api/type", `{"hold":"x","data":"echo\r"}`, auth...)
	if status != http.StatusConflict {
		t.Errorf("input without a terminal = %d %s, want 409", status, text)
	}
	if r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","timeout_ms":1}`, id); r.Chunk != "" {
		t.Errorf("the session has the output %q, want none", r.Chunk)
	}
}

// Of two who take the same terminal the second has it. The input of the first is refused from then on, and so is
// that of one who has given it back.
func TestHolds(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "cat")
	base, fragment, _ := strings.Cut(startPage(t, h).link(), "/#")
	given, err := url.ParseQuery(fragment)
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"Origin", base, "Content-Type", "application/json"}
	post := func(path string, body map[string]any) (int, map[string]string) {
		text, _ := json.Marshal(body)
		status, answer, _ := ask(t, http.MethodPost, base+path, string(text), own...)
		var members map[string]any
		_ = json.Unmarshal([]byte(answer), &members)
		out := make(map[string]string)
		for name, value := range members {
			out[name] = fmt.Sprint(value)
		}
		return status, out
	}
	_, login := post("/api/login", map[string]any{"ticket": given.Get("ticket")})
	own = append(own, "Authorization", "Bearer "+login["token"])
	process := fmt.Sprint(c.PID)
	if status, said := post("/api/take", map[string]any{"p": process, "session": id}); status < 400 {
		t.Errorf("a process that no stream has shown = %d %v, want a refusal", status, said)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+login["token"])
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	take := func() string {
		status, said := post("/api/take", map[string]any{"p": process, "session": id})
		if status != http.StatusOK || said["hold"] == "" {
			t.Fatalf("take = %d %v, want a hold", status, said)
		}
		return said["hold"]
	}
	types := func(hold, text string) int {
		status, _ := post("/api/type", map[string]any{"hold": hold, "data": text})
		return status
	}
	first := take()
	if status := types(first, "one\r"); status != http.StatusOK {
		t.Errorf("input of the holder = %d, want 200", status)
	}
	second := take()
	if status := types(first, "wrong\r"); status != http.StatusConflict {
		t.Errorf("input of one who has lost the terminal = %d, want 409", status)
	}
	if status := types(second, "two\r"); status != http.StatusOK {
		t.Errorf("input of the second holder = %d, want 200", status)
	}
	if status, said := post("/api/give", map[string]any{"hold": second}); status != http.StatusOK {
		t.Errorf("giving back = %d %v, want 200", status, said)
	}
	if status := types(second, "wrong\r"); status != http.StatusConflict {
		t.Errorf("input after giving back = %d, want 409", status)
	}
	r := c.Call(t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"two\\s+two","timeout_ms":20000}`, id)
	if strings.Contains(r.Chunk, "wrong") || !strings.Contains(r.Chunk, "one") {
		t.Errorf("the terminal shows %q, want the input of the holders alone", r.Chunk)
	}
}

// A program that ptyctl has started does not watch for a person, not by asking for the stream itself either.
func TestOwnPrograms(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "bash", "--norc")
	socket := filepath.Join(h.RuntimeDir, "ptyctl", fmt.Sprintf("%d.sock", c.PID))
	c.Enter(t, id, h.Program+" watch --print-url --config "+h.Config+" --socket "+socket+"\r", "was started by this")
	const get = `import socket,sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(b"GET /watch/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"); print("answer:", s.recv(12).decode())
`
	script := filepath.Join(h.Dir, "get.py")
	h.Write(t, script, get)
	c.Enter(t, id, "clear; python3 "+script+" "+socket+"\r", "answer: HTTP/1.1 403")
}

// A link in a browser works once. Its ticket is not in the address afterwards, and a page that was loaded again has
// nothing.
func TestLinkWorksOnce(t *testing.T) {
	h := lab.NewHome(t)
	h.Connect(t)
	link := startPage(t, h).link()
	b := newTab(t, 800, 600)
	b.open(link)
	b.clean()
	again := newTab(t, 800, 600)
	again.run("open it again", navigate(link))
	again.shows("#notice", "was used")
	if text := evaluate[string](again, `document.getElementById('tiles').innerText`); text != "" {
		t.Errorf("a page without a token shows %q, want nothing", text)
	}
	b.run("load it again", reload())
	b.shows("#notice", "no link")
}

// A token ends with the command, and so does every stream. The page says that the ptyctl which it shows has ended.
func TestEnd(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Connect(t)
	p := startPage(t, h)
	b := newTab(t, 800, 600)
	b.open(p.link())
	began := time.Now()
	p.stop()
	b.wait("that the link is gone", `document.getElementById('link').textContent !== ''`)
	if took := time.Since(began); took > lab.Patience/2 {
		t.Errorf("ptyctl watch ended after %v, want it to end its streams", took)
	}
	other := newTab(t, 800, 600)
	other.open(startPage(t, h).link())
	c.Finish()
	other.shows("#link", "has ended")
}

// Closing the terminal window ends ptyctl watch, and a terminal that was taken is free at once, not only after the
// lease.
func TestHangup(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "cat")
	p := startPage(t, h)
	base, token := visit(t, p.link())
	_, leave := follow(t, base, token, false)
	defer leave()
	status, text, _ := ask(t, http.MethodPost, base+"/api/take", fmt.Sprintf(`{"p":"%d","session":%q}`, c.PID, id),
		"Origin", base, "Content-Type", "application/json", "Authorization", "Bearer "+token)
	if status != http.StatusOK {
		t.Fatalf("take = %d %s, want 200", status, text)
	}
	_ = p.cmd.Process.Signal(syscall.SIGHUP)
	p.stop()
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); r.Holder != "" {
		t.Errorf("after the hangup the terminal is held by %s, want it free", r.Holder)
	}
}
