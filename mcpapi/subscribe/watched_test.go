package subscribe_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/session"
	"ptyctl/term"
)

// mute is a client at another node that ignores notifications and answers no question.
type mute struct{}

func (mute) Notify(string, json.RawMessage) {}
func (mute) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("there is no person")
}

// TestWatchOfNothing: a client of another node that follows a session which does not exist or which it may not see gets
// an answer, and does not keep a call open.
func TestWatchOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := subscribe.NewWatch()
		defer w.Close()
		m := session.NewManager(session.Config{Observers: []term.Observer{w}})
		srv := mcpapi.NewServer(mcpapi.Options{Sessions: m, Watch: w})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		for _, uri := range []string{"ptyctl://sessions/x@fra1", "ptyctl://sessions/x@fra1/tail", "ptyctl://sessions", "x:y"} {
			_, err := srv.ServePeer(ctx, peers.Call{URI: uri, Watch: true}, mute{})
			if !errors.Is(err, term.NotFound) || time.Since(began) > 0 {
				t.Errorf("a watch of %s ends after %v with %v, want NOT_FOUND at once", uri, time.Since(began), err)
			}
		}
	})
}
