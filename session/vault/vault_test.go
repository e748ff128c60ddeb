package vault

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// A screen is a terminal that shows the Sight set by a test.
type screen struct {
	now     Sight
	settles int
	nowhere bool
}

func (s *screen) Settle(context.Context) { s.settles++ }
func (s *screen) Look() Sight            { return s.now }
func (s *screen) Peer() (term.Peer, bool) {
	return term.Peer{Protocol: "ssh", Session: "web1-a", Host: "192.0.2.1"}, !s.nowhere
}

// given gives out a value, after a change of the world.
type given struct {
	term.Secrets

	value  string
	err    error
	change func()
	got    term.SecretRequest
}

func (g *given) Release(_ context.Context, r term.SecretRequest) ([]byte, error) {
	g.got = r
	if g.change != nil {
		g.change()
	}
	return []byte(g.value), g.err
}

// The request describes the terminal once it has settled.
func TestRequest(t *testing.T) {
	at := &screen{now: Sight{Line: "Password: ", Echo: term.Yes, Typed: true, Shell: true, FullScreen: true}}
	from := &given{value: "a value-1138"}
	value, still, err := Fetch(t.Context(), at, from, "pw")
	if string(value) != from.value || err != nil || still() != nil || at.settles != 1 {
		t.Fatalf("Fetch = %q, %v, still %v, after %d looks for rest; want the value", value, err, still(), at.settles)
	}
	want := term.SecretRequest{
		Name: "pw", Use: term.SecretTerminal, Prompt: "Password: ", Echo: true, Typed: true, Shell: true, FullScreen: true,
	}
	want.Peer, _ = at.Peer()
	if got := from.got; got.Name != want.Name || got.Use != want.Use || got.Prompt != want.Prompt || got.Wait != 0 ||
		!got.Echo || !got.Typed || !got.Shell || !got.FullScreen || got.Peer.Host != want.Peer.Host {
		t.Errorf("the request is %+v, want %+v", got, want)
	}
	for echo, shown := range map[term.Support]bool{term.Yes: true, term.No: false, term.Maybe: false} {
		at.now.Echo = echo
		if _, _, err := Fetch(t.Context(), at, from, "pw"); err != nil || from.got.Echo != shown {
			t.Errorf("with an echo of %q, the request says %t (%v), want %t", echo, from.got.Echo, err, shown)
		}
	}
}

// After any change meanwhile, nothing may be typed any more, and the error names the change.
func TestChanged(t *testing.T) {
	for what, tt := range map[string]struct {
		change func(*Sight)
		part   string
	}{
		"another question":     {func(s *Sight) { s.Line, s.Received = "PIN: ", 1 }, "the question has changed"},
		"the same, once more":  {func(s *Sight) { s.Received++ }, "has shown something"},
		"a key":                {func(s *Sight) { s.Inputs++ }, "something was typed"},
		"a byte of the engine": {func(s *Sight) { s.Sent++ }, "something was typed"},
		"another screen":       {func(s *Sight) { s.FullScreen = true }, "the terminal has changed"},
		"an echo":              {func(s *Sight) { s.Echo = term.Yes }, "the terminal has changed"},
		"a shell":              {func(s *Sight) { s.Shell = true }, "the terminal has changed"},
	} {
		at := &screen{now: Sight{Line: "Password: ", Echo: term.No}}
		value, still, err := Fetch(t.Context(), at, &given{value: "v-1138", change: func() { tt.change(&at.now) }}, "pw")
		if err != nil || string(value) == "" {
			t.Fatalf("%s: Fetch = %q, %v; want the value", what, value, err)
		}
		if err := still(); !errors.Is(err, term.Busy) || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%s: still = %v, want BUSY and %q", what, err, tt.part)
		}
	}
}

// No value comes with an error, and none that a terminal would take for keys.
func TestNoValue(t *testing.T) {
	at := &screen{}
	refused := &term.Error{Kind: term.PolicyDenied, Msg: "no"}
	for name, tt := range map[string]struct {
		at   *screen
		from term.Secrets
		want term.Kind
	}{
		"no secrets":  {at, nil, term.NotFound},
		"no proof":    {&screen{nowhere: true}, &given{value: "v-1138"}, term.Unsupported},
		"refused":     {at, &given{err: refused}, term.PolicyDenied},
		"ctrl_c":      {at, &given{value: "v\x03-1138"}, term.AuthFailed},
		"a line end":  {at, &given{value: "v\r-1138"}, term.AuthFailed},
		"a backspace": {at, &given{value: "v\x7f-1138"}, term.AuthFailed},
	} {
		value, _, err := Fetch(t.Context(), tt.at, tt.from, "pw")
		if len(value) > 0 || term.KindOf(err) != tt.want {
			t.Errorf("%s: Fetch = %q, %v; want no value and %s", name, value, err, tt.want)
		}
	}
}

// A person is waited for so long that the answer can be given before the caller gives up.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &given{value: "v-1138"}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, _, err := Fetch(ctx, &screen{}, from, "pw")
		if want := 19 * time.Second; err != nil || from.got.Wait != want {
			t.Errorf("with 20 s left a person is waited for %v (%v), want %v", from.got.Wait, err, want)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err = Fetch(short, &screen{}, from, "pw"); err != nil || from.got.Wait <= 0 {
			t.Errorf("with 1 ms left a person is waited for %v (%v), want an instant, and not for ever", from.got.Wait, err)
		}
	})
}
