package notify

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/term"
)

// hostile is a text of a caller or a host that would do harm in a shell or a terminal.
const hostile = "web1\x1b[2J$(touch pwned)\n\"}"

func question() term.Event {
	return term.Event{
		Time: time.Now(), Verb: term.VerbQuestion, Session: "web1-k3f9q2zd", Protocol: "ssh", Host: hostile, Detail: "password",
		Command: "mysql -psecret-1138",
	}
}

func start(t *testing.T, o Options) *Notifier {
	t.Helper()
	n, err := New(o)
	if err != nil {
		t.Fatalf("New(%+v) = %v, want no error", o, err)
	}
	t.Cleanup(n.Close)
	return n
}

// waitFor waits until the file is there and complete.
func waitFor(t *testing.T, path string) string {
	t.Helper()
	for range 1000 {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "\n") {
			return string(text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the program has not written %s", path)
	return ""
}

func readNotice(t *testing.T, text string) Notice {
	t.Helper()
	var n Notice
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("the notice %q is no JSON: %v", text, err)
	}
	return n
}

// The events that people are told of, and nothing of what they must not be told.
func TestNotices(t *testing.T) {
	for name, tt := range map[string]struct {
		event term.Event
		want  Notice
		none  bool
	}{
		"login": {question(), Notice{Event: "question", Kind: "password", Answer: "ptyctl answer web1-k3f9q2zd"}, false},
		"terminal": {
			term.Event{Verb: term.VerbQuestion, Session: "s-1", Detail: "terminal password"},
			Notice{Event: "question", Kind: "terminal password", Answer: "ptyctl attach --take s-1"}, false,
		},
		"consent": {
			term.Event{Verb: term.VerbConsent, State: "asked", Consent: "policy.ask", Command: "mysql -psecret-1138"},
			Notice{Event: "question", Kind: "consent", Rule: "policy.ask", Answer: "ptyctl answer"}, false,
		},
		"answered": {term.Event{Verb: term.VerbConsent, State: "agreed"}, Notice{}, true},
		"ended": {
			term.Event{Verb: term.VerbState, State: "error", Err: term.Errorf(term.RemoteClosed, "secret-1138")},
			Notice{Event: "ended", State: "error", Code: "REMOTE_CLOSED"}, false,
		},
		"opened": {term.Event{Verb: term.VerbState, State: "open"}, Notice{}, true},
		"output": {term.Event{Verb: term.VerbOutput}, Notice{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := noticeOf(tt.event)
			if ok == tt.none {
				t.Fatalf("noticeOf(%s) = %t, want %t", tt.event.Verb, ok, !tt.none)
			}
			text, _ := json.Marshal(got)
			if strings.Contains(string(text), "secret-1138") || strings.Contains(string(text), `\u001b`) {
				t.Errorf("the notice holds a secret or a control character: %s", text)
			}
			if got.Event != tt.want.Event || got.Kind != tt.want.Kind || got.Answer != tt.want.Answer ||
				got.Rule != tt.want.Rule || got.State != tt.want.State || got.Code != tt.want.Code {
				t.Errorf("noticeOf(%s) = %+v, want %+v", tt.event.Verb, got, tt.want)
			}
		})
	}
}

// A program gets the notice on its input, and nothing of the host in its arguments or variables.
func TestProgram(t *testing.T) {
	t.Setenv("PTYCTL_CONTROL_AUTH_TOKEN", "secret-1138")
	dir := t.TempDir()
	script := `cat >in; (env; echo "$@") >rest; echo done >ready`
	n := start(t, Options{Command: []string{"sh", "-c", "cd " + dir + "; " + script, "sh", "argument"}})
	n.Observe(question())
	waitFor(t, filepath.Join(dir, "ready"))
	in, _ := os.ReadFile(filepath.Join(dir, "in"))
	if got := readNotice(t, string(in)); got.Session != "web1-k3f9q2zd" || got.Kind != "password" || got.PID != os.Getpid() ||
		!strings.Contains(got.Host, `\x1b[2J`) {
		t.Errorf("the program has got %s, want the notice of the question", in)
	}
	rest, _ := os.ReadFile(filepath.Join(dir, "rest"))
	if strings.Contains(string(rest), "web1") || strings.Contains(string(rest), "secret") ||
		!strings.HasSuffix(string(rest), "argument\n") || !strings.Contains(string(rest), "PATH=") {
		t.Errorf("arguments and variables of the program:\n%s\nwant neither host nor secret", rest)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a shell has read the name of the host")
	}
}

// A program that takes too long is ended, with its children.
func TestProgramTimeout(t *testing.T) {
	dir := t.TempDir()
	n := start(t, Options{
		CommandTimeout: 100 * time.Millisecond, AtOnce: 1,
		Command: []string{"sh", "-c", "cd " + dir + "; (sleep 600; echo late >late) & echo $! >>pids; cat >/dev/null; wait"},
	})
	for range 1000 {
		// One that was ended before it said that it runs proves nothing. The next can only run when the first has ended.
		n.Observe(question())
		if pids, _ := os.ReadFile(filepath.Join(dir, "pids")); strings.Count(string(pids), "\n") >= 2 {
			return // leaktest finds children that are left
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the second program does not run: the first was not ended")
}

// A slow program delays no caller. What does not fit into the queue is counted.
func TestNeverBlocks(t *testing.T) {
	n := start(t, Options{Command: []string{"sh", "-c", "exec sleep 600"}, AtOnce: 2, Queue: 3})
	const many = 1000
	for range many {
		n.Observe(question()) // one that waited for a program would take ten minutes
	}
	if got := n.Dropped(); got < many-2-3-2 || got > many-3 {
		t.Errorf("Dropped() = %d of %d, want all but those that run (2) or wait (3)", got, many)
	}
}

// A webhook gets the notice, with the token of the file.
func TestWebhook(t *testing.T) {
	var tries atomic.Int32
	got := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) <= 2 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.Header.Get("Authorization") + " " + string(body)
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-1138\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := newHook(Options{Webhook: srv.URL + "/hook", TokenFile: file, Tries: 3, WebhookTimeout: time.Minute})
	if err != nil {
		t.Fatalf("newHook = %v, want no error", err)
	}
	defer h.client.CloseIdleConnections()
	h.pause = time.Millisecond
	if err := h.post(t.Context(), []byte(`{"event":"question"}`)); err != nil {
		t.Errorf("post = %v, want no error at the third try", err)
	}
	if text := <-got; text != `POST Bearer token-1138 {"event":"question"}` {
		t.Errorf("the webhook has got %q, want the notice with the token", text)
	}
}

// Failures that do not pass are not tried again, and no failure is tried for ever.
func TestWebhookFails(t *testing.T) {
	for status, want := range map[int]int32{400: 1, 403: 1, 410: 1, 408: 3, 429: 3, 500: 3, 503: 3} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var tries atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				w.WriteHeader(status)
			}))
			defer srv.Close()
			h, err := newHook(Options{Webhook: srv.URL, Tries: 3, WebhookTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer h.client.CloseIdleConnections()
			h.pause = time.Millisecond
			if err := h.post(t.Context(), []byte(`{}`)); err == nil || tries.Load() != want {
				t.Errorf("status %d: error %v after %d tries, want one after %d", status, err, tries.Load(), want)
			}
		})
	}
}

// A redirect to the same host is followed with the notice; one to another host gets neither notice nor token.
func TestWebhookRedirect(t *testing.T) {
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	got := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/other":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/get":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/here":
			body, _ := io.ReadAll(r.Body)
			got <- r.Method + " " + string(body)
		}
	}))
	defer srv.Close()
	post := func(path string) error {
		h, err := newHook(Options{Webhook: srv.URL + path, Tries: 3, WebhookTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer h.client.CloseIdleConnections()
		h.pause = time.Millisecond
		return h.post(t.Context(), []byte(`{"a":1}`))
	}
	if err := post("/same"); err != nil {
		t.Errorf("redirect to the same host: %v, want no error", err)
	} else if text := <-got; text != `POST {"a":1}` {
		t.Errorf("redirect to the same host: it has got %q, want the notice", text)
	}
	if err := post("/other"); err == nil || foreign.Load() != 0 {
		t.Errorf("redirect to another host: error %v, %d requests there; want an error and none", err, foreign.Load())
	}
	if err := post("/get"); err == nil {
		t.Error("redirect that drops the notice: no error, want one")
	}
}

// Close ends a program that runs, and tries no webhook for ever.
func TestClose(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	n, err := New(Options{Command: []string{"sleep", "600"}, CommandTimeout: time.Hour, Webhook: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	n.Observe(question())
	n.Close()             // one that waited for the program would take ten minutes
	n.Observe(question()) // must not panic
	if n.Dropped() != 2 {
		t.Errorf("Dropped() after Close = %d, want 2, one for each way", n.Dropped())
	}
}

// Options that can have no effect, or that would let others read the notices, are refused.
func TestNewFails(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("token"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"event":         {Options{Events: []string{"all"}}, `"all" is no event; give question or ended`},
		"no program":    {Options{Command: []string{"/no/such/program"}}, "give the path of a program"},
		"http afar":     {Options{Webhook: "http://example.net/x"}, "give an https URL, or allow http"},
		"name of a net": {Options{Webhook: "http://127.0.0.1.example.net/x"}, "give an https URL, or allow http"},
		"scheme":        {Options{Webhook: "file:///etc/passwd"}, "it is no URL"},
		"ftp":           {Options{Webhook: "ftp://example.net/"}, `the scheme "ftp" is unknown`},
		"user":          {Options{Webhook: "https://a:secret@example.net/"}, "it names a user"},
		"token file":    {Options{Webhook: "https://example.net/", TokenFile: open}, "others can read the token file"},
		"no token file": {Options{Webhook: "https://example.net/", TokenFile: "/no/such/file"}, "the token file"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := New(tt.o)
			if err == nil {
				n.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("New(%+v) = %v, want %q", tt.o, err, tt.want)
			}
		})
	}
	for _, url := range []string{"http://127.0.0.1:1/x", "http://[::1]:1/x", "http://localhost/x", "https://example.net/x"} {
		start(t, Options{Webhook: url})
	}
	start(t, Options{Webhook: "http://example.net/x", AllowHTTP: true})
}
