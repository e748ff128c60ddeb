package session

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"ptyctl/internal/bufpipe"
	"ptyctl/term"
)

// A session that has ended is kept, and its transport is not: an SSH connection with its buffers is much larger than
// the session.
func TestTransportIsLetGo(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *Manager, s *Session, far func() error){
		"closed": func(t *testing.T, _ *Manager, s *Session, _ func() error) {
			s.Close(t.Context(), CloseOptions{})
		},
		"forced": func(t *testing.T, _ *Manager, s *Session, _ func() error) {
			s.Close(t.Context(), CloseOptions{Force: true})
		},
		"by the far side": func(t *testing.T, _ *Manager, s *Session, far func() error) {
			if err := far(); err != nil {
				t.Error(err)
			}
			<-s.Ended()
			s.Close(t.Context(), CloseOptions{}) // waits for the goroutines
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewManager(Config{})
			near, far := bufpipe.New(0)
			transport := &rigged{ReadWriteCloser: near}
			held := weak.Make(transport)
			s := newSession(Options{ID: "s", managed: managed{limits: m.limits}}, owner{})
			s.attach(bannered{transport})
			transport = nil
			end(t, m, s, far.Close)
			for range 3 { // of a goroutine that has just ended the stack may still be looked at
				runtime.GC()
			}
			if held.Value() != nil {
				t.Error("the transport is still in memory")
			}
			if got, want := s.Info().About.ServerBanner, (bannered{}).Describe().ServerBanner; got != want {
				t.Errorf("the banner of an ended session = %q, want %q", got, want)
			}
			for op, err := range map[string]error{
				"resize": s.Resize(t.Context(), 80, 24), "signal": s.Signal(t.Context(), "INT"),
			} {
				if e, ok := err.(*term.Error); !ok || e.Kind != term.AlreadyClosed && e.Kind != term.RemoteClosed { //nolint:errorlint // as it is returned
					t.Errorf("%s of an ended session = %v", op, err)
				}
			}
		})
	}
}

type bannered struct{ *rigged }

func (bannered) Describe() term.Description { return term.Description{ServerBanner: "welcome"} }

// However many sessions end within the time of retention, only so many of them are kept.
func TestEndedSessionsAreBounded(t *testing.T) {
	m := NewManager(Config{Retention: time.Hour})
	defer m.Close(t.Context())
	var ids []string
	for range maxExpiring + 10 {
		near, _ := bufpipe.New(0)
		s := newSession(Options{ID: NewID("h"), managed: managed{limits: m.limits}}, owner{ended: m.ended})
		if err := m.add(s); err != nil {
			t.Fatal(err)
		}
		s.attach(&rigged{ReadWriteCloser: near})
		s.Close(t.Context(), CloseOptions{Force: true})
		ids = append(ids, s.ID())
	}
	for limit := time.Now().Add(time.Minute); m.Ended() > maxExpiring; {
		if time.Now().After(limit) {
			t.Fatalf("%d ended sessions are kept, want %d", m.Ended(), maxExpiring)
		}
		runtime.Gosched()
	}
	if _, err := m.Get(ids[0]); err == nil {
		t.Error("the first is still kept")
	}
	if _, err := m.Get(ids[len(ids)-1]); err != nil {
		t.Errorf("the last is not kept: %v", err)
	}
}
