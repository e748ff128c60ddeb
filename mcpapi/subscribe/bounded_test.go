package subscribe

import (
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// TestWatchIsBounded: however many sessions change at once, only a fixed number are tracked individually.
func TestWatchIsBounded(t *testing.T) {
	w := &watcher{
		uris: map[string]bool{sessionsURI: true, statusURI("a"): true, tailURI("b"): true},
		list: true,
		due:  make(map[string]time.Time),
	}
	f := &feed{changed: make(map[string]change), wake: make(chan struct{}, 1)}
	f.watching.Store(true)
	f.tails.Store(true)
	for i := range 3 * maxChanged {
		f.note(strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String(), changedOutput)
	}
	if n := len(f.changed); n > maxChanged+1 {
		t.Errorf("%d are kept", n)
	}
	w.mark("", f.changed[""], time.Now())
	if len(w.due) != 4 {
		t.Errorf("when all may have changed, it is told of %v", w.due)
	}
}

// BenchmarkObserve measures the cost to a session of being watched: the observer gets each chunk of output.
func BenchmarkObserve(b *testing.B) {
	for name, uris := range map[string][]string{
		"nobody watches": nil, "the state is watched": {statusURI("s")},
		"the tail is watched": {tailURI("s")},
	} {
		b.Run(name, func(b *testing.B) {
			w := NewWatch()
			defer w.Close()
			w.Serve(server.NewMCPServer("ptyctl", "0"), new(server.Hooks), session.NewManager(session.Config{}), nil)
			f := (*w.feeds.Load())[0]
			f.mu.Lock()
			for _, uri := range uris {
				f.watchers[uri] = &watcher{
					ctx:    b.Context(),
					stream: deafSession{},
					uris:   map[string]bool{uri: true},
					due:    make(map[string]time.Time),
				}
			}
			f.countLocked()
			f.mu.Unlock()
			e := term.Event{Verb: term.VerbOutput, Session: "s", Size: 4096}
			b.ReportAllocs()
			for b.Loop() {
				w.Observe(e)
			}
		})
	}
}

// A deafSession gets no notifications.
type deafSession struct{ server.ClientSession }

func (deafSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
