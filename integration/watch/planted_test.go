package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
)

// allText returns all text that a page holds: its text as a person sees it, without line ends, its markup and its
// fields, and the browser's store of it.
const allText = `[document.body.innerText.replace(/\n/g, ''), document.documentElement.outerHTML,
	...[...document.querySelectorAll('.screen, #one-screen, #replay-screen, pre')].map(e => e.textContent),
	...[...document.querySelectorAll('input, textarea')].map(e => e.value),
	JSON.stringify([{...localStorage}, {...sessionStorage}]), document.cookie, document.title, location.href].join('\n')`

// Sixty values that were given at logins and to programs are in nothing that the page shows or its server sends: tiles, the
// large view, calls with their results, a search, questions and recordings.
func TestSixtyPlantedValues(t *testing.T) {
	p := lab.Plant(t, lab.ReadWrite)
	c := p.Connect(t)
	p.Env = nil // the secrets among the variables are those of ptyctl mcp alone
	web := startPage(t, p.Home)
	b := newTab(t, 1280, 860)
	b.open(web.link())
	hidden := func(what string) {
		t.Helper()
		lab.WantHidden(t, what, evaluate[string](b, allText), p.Values...)
	}

	web1 := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`).SessionID
	c.Enter(t, web1, "cat "+p.All+"; echo e''nd\r", "end")
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"channel","max_output_bytes":65536}`, web1, "cat "+p.All)
	b.shows(".tile .screen", "********")
	c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web2"}`)
	b.shows(".question .text", "You have said ********?")
	for i := range 6 {
		c.Call(t, "ptyctl_run", `{"argv":[%s],"stdin_secret":%s}`, p.Reader, fmt.Sprintf("q%d", i))
	}
	hidden("the page with tiles and a question")
	b.picture("watch-planted.png")

	b.run("choose it", evaluateTile(web1))
	b.shows("#one-screen", "end")
	b.shows("#calls pre", "********")
	b.line("#pattern", "1138|planted|8311")
	b.wait("a search", `!document.getElementById('found').hidden`)
	hidden("the large view")

	// The data from its server.
	raw := newRawPage(t, startPage(t, p.Home).link())
	all, one := raw.stream("/api/stream"), raw.stream(fmt.Sprintf("/api/stream?p=%d&session=%s", c.PID, web1))
	lab.Eventually(t, "the stream has a screen and calls", func() bool {
		return strings.Contains(all.String(), `"calls":`) && strings.Contains(one.String(), `"screen":`)
	})
	c.Enter(t, web1, "clear; cat "+p.All+"; echo all-s''ent\r", "all-sent")
	lab.Eventually(t, "the new screen", func() bool { return strings.Contains(one.String(), "all-sent") })
	body, _ := json.Marshal(map[string]any{"p": strconv.Itoa(c.PID), "session": web1, "pattern": "1138|planted|8311|[*]"})
	found := raw.do(http.MethodPost, "/api/search", string(body))
	if !strings.Contains(found, "********") {
		t.Errorf("the search finds %s, want lines with masks", found)
	}
	c.Close(t, web1)
	var list []struct{ File string }
	text := raw.do(http.MethodGet, "/api/recordings", "")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) < 3 {
		t.Fatalf("the recordings are %s, want those of two logins and some programs (%v)", text, err)
	}
	for _, r := range list {
		file := url.QueryEscape(r.File)
		text += raw.do(http.MethodGet, "/api/recording?file="+file, "") +
			raw.do(http.MethodGet, "/api/play?at=0&speed=100&file="+file, "")
	}
	if !strings.Contains(text, "********") {
		t.Error("no recording shows a mask")
	}
	for what, text := range map[string]string{
		"the stream": all.String(), "the stream of a session": one.String(), "the search": found, "the recordings": text,
	} {
		lab.WantHidden(t, what, text, p.Values...)
	}

	// A recording in the page.
	b.click("#recordings")
	b.shows("#replay-list button", web1)
	b.run("play it", chromedp.Evaluate(fmt.Sprintf(
		`[...document.querySelectorAll('#replay-list button')].find(e => e.textContent.includes(%q)).click()`, web1), nil))
	b.shows("#replay-screen", "********")
	hidden("the replay")
	lab.WantHidden(t, "the log of ptyctl watch", web.log.String(), p.Values...)
	p.Proc.WantHidden(t, p.Values...)
}

// A rawPage is a client of a page's server that shows nothing.
type rawPage struct {
	t           *testing.T
	base, token string
}

func newRawPage(t *testing.T, link string) *rawPage {
	t.Helper()
	base, fragment, _ := strings.Cut(link, "/#")
	given, err := url.ParseQuery(fragment)
	if err != nil {
		t.Fatal(err)
	}
	r := &rawPage{t: t, base: base}
	var got struct{ Token string }
	text := r.do(http.MethodPost, "/api/login", `{"ticket":"`+given.Get("ticket")+`"}`)
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Token == "" {
		t.Fatalf("the ticket gives %s, want a token (%v)", text, err)
	}
	r.token = got.Token
	return r
}

// send sends a request and returns the answer.
func (r *rawPage) send(method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Origin", r.base)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s = %+v, %v, want 200", method, path, res, err)
	}
	return res
}

// do returns the whole text of an answer.
func (r *rawPage) do(method, path, body string) string {
	r.t.Helper()
	res := r.send(method, path, body)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return string(text)
}

// stream keeps an answer that goes on, until the test ends.
func (r *rawPage) stream(path string) *lab.Capture {
	r.t.Helper()
	res := r.send(http.MethodGet, path, "") //nolint:bodyclose // it is closed with the test
	seen := lab.NewCapture()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(seen, res.Body) // it ends with the test's context
	}()
	r.t.Cleanup(func() {
		_ = res.Body.Close()
		<-done
	})
	return seen
}
