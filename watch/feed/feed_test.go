package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// A line is one line of a stream.
type line struct {
	Hello   *struct{ Mode string }
	Session *info
	Screen  *struct {
		S string
		P struct {
			Full bool
			X, Y int
			L    map[string][][]any
		}
	}
	Calls *struct {
		S    string
		List []struct {
			Verb   string
			Typed  int
			Result []struct{ Text string }
		}
	}
	Gone string
}

// start makes a feed with sessions of this machine.
func start(t *testing.T) (*Feed, *session.Manager) {
	t.Helper()
	f := New(Options{Mode: func(context.Context) string { return "readonly" }})
	host := ptyx.Host{}
	m := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"local": host.Open}, Observers: []term.Observer{f},
	})
	f.Serve(m)
	t.Cleanup(func() { m.Close(context.Background()) })
	return f, m
}

func open(t *testing.T, m *session.Manager, argv ...string) *session.Session {
	t.Helper()
	target := term.Target{Protocol: "local", Local: term.LocalOptions{Argv: argv}, PTY: term.PTY{Cols: 40, Rows: 6}}
	r, err := m.Open(t.Context(), session.OpenRequest{Target: target})
	if err != nil {
		t.Fatalf("opening %q: %v", argv, err)
	}
	return r.Session
}

// follow watches, and returns a function that returns the next line that is wanted.
func follow(t *testing.T, f *Feed, query string) (next func(about string, want func(line) bool) line) {
	t.Helper()
	srv := httptest.NewServer(f)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(func() { stop(); srv.Close() })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	return func(about string, want func(line) bool) line {
		t.Helper()
		var had []string
		for {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatalf("the stream ended with %v before %s; it had %s", err, about, had)
			}
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatalf("the line %s is no JSON: %v", text, err)
			}
			if want(l) {
				return l
			}
			had = append(had, string(text))
		}
	}
}

// shows reports whether a line has a row of the screen with this text.
func shows(text string) func(line) bool {
	return func(l line) bool {
		if l.Screen == nil {
			return false
		}
		row, _ := json.Marshal(l.Screen.P.L)
		return strings.Contains(string(row), text)
	}
}

// A watcher gets the current state, and then each change; so does another one that comes later.
func TestStream(t *testing.T) {
	f, m := start(t)
	s := open(t, m, "cat")
	next := follow(t, f, "/watch/stream")
	if l := next("the mode", func(l line) bool { return l.Hello != nil }); l.Hello.Mode != "readonly" {
		t.Errorf("hello says the mode %q, want readonly", l.Hello.Mode)
	}
	next("the session", func(l line) bool { return l.Session != nil && l.Session.ID == s.ID() && !l.Session.Typed })
	ctx := term.WithActor(t.Context(), term.Actor{Transport: "stdio", Client: "model", Serial: 77})
	if _, err := s.Write(ctx, []byte("typed words\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	next("the echo", shows("typed words"))
	f.Answered(77, `{"chunk":"as the caller got it"}`, false)
	l := next("the call with its result", func(l line) bool {
		return l.Calls != nil && strings.Contains(toJSON(l.Calls), "as the caller got it")
	})
	if got := toJSON(l.Calls); strings.Contains(got, "typed words") || !strings.Contains(got, `"Typed":12`) {
		t.Errorf("the call = %s, want 12 typed bytes and not the text", got)
	}
	late := follow(t, f, "/watch/stream?session="+s.ID())
	if l := late("the screen", shows("typed words")); !l.Screen.P.Full {
		t.Errorf("the first frame of a late watcher = %+v, want a full one", l.Screen.P)
	}
	late("the whole call", func(l line) bool { return l.Calls != nil && l.Calls.List[len(l.Calls.List)-1].Typed == 12 })
	s.Close(ctx, session.CloseOptions{})
	next("the end", func(l line) bool { return l.Session != nil && l.Session.State == "closed" })
}

func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// A frame between DECSET and DECRST 2026 is not shown before it is complete, or has taken too long.
func TestFrames(t *testing.T) {
	f, m := start(t)
	open(t, m, "sh", "-c", `stty -echo; printf 'before\n'; read x; printf '\033[?2026hhalf'; read x; printf ' whole\033[?2026l'; cat`)
	next := follow(t, f, "/watch/stream")
	next("the first output", shows("before"))
	s := m.List()[0].ID
	enter := func() {
		one, err := m.Get(s)
		if err == nil {
			_, err = one.Write(t.Context(), []byte("\r"), session.WriteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	enter()
	enter()
	next("the complete frame", func(l line) bool {
		if shows("half")(l) && !shows("half whole")(l) {
			// The machine may have stopped the program for a second; after that the frame is shown.
			t.Logf("half of a frame was shown: %s", toJSON(l))
		}
		return shows("half whole")(l)
	})
}

// A stuck is a watcher that takes no line.
type stuck struct {
	*httptest.ResponseRecorder
	wrote   chan int
	release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	select {
	case s.wrote <- len(p):
	default:
	}
	<-s.release
	return len(p), nil
}

// A watcher that does not read costs no memory, and another one sees the end of a flood nevertheless. When the first
// one reads again, it skips to the newest frame.
func TestStuck(t *testing.T) {
	f, m := start(t)
	open(t, m, "sh", "-c", `read x; i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo all-done; cat`)
	w := stuck{httptest.NewRecorder(), make(chan int, 1000), make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/watch/stream", nil)
		f.ServeHTTP(w, r)
	}()
	next := follow(t, f, "/watch/stream")
	<-w.wrote
	one, err := m.Get(m.List()[0].ID)
	if err == nil {
		_, err = one.Write(t.Context(), []byte("\r"), session.WriteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	next("the end of the flood", shows("all-done"))
	if n := len(w.wrote); n != 0 {
		t.Errorf("a watcher that does not read was written to %d times more, want none", n)
	}
	f.mu.Lock()
	for x := range f.watchers {
		x.mu.Lock()
		if len(x.dirty) > 1 {
			t.Errorf("changes of %d sessions are noted, want at most 1", len(x.dirty))
		}
		x.mu.Unlock()
	}
	f.mu.Unlock()
	w.release <- struct{}{}
	if n := <-w.wrote; n > 4<<10 {
		t.Errorf("after the flood of 220 KB it gets %d bytes, want one frame", n)
	}
	stop()
	close(w.release)
	<-served
}

// Refusals.
func TestMethod(t *testing.T) {
	f, _ := start(t)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/watch/stream", nil))
	if text, _ := io.ReadAll(w.Body); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST = %d %s, want 405", w.Code, text)
	}
}

// BenchmarkObserve measures the cost to a session of being watched: each chunk of output is an event.
func BenchmarkObserve(b *testing.B) {
	for name, watched := range map[string]bool{"nobody watches": false, "watched": true} {
		b.Run(name, func(b *testing.B) {
			f := New(Options{})
			if watched {
				defer f.join(f.newWatcher(""))()
			}
			e := term.Event{Verb: term.VerbOutput, Session: "s", Size: 4096}
			b.ReportAllocs()
			for b.Loop() {
				f.Observe(e)
			}
		})
	}
}
