package term_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"ptyctl/term"
)

func TestErrorIsItsKind(t *testing.T) {
	cause := io.ErrUnexpectedEOF
	err := fmt.Errorf(
		"while opening: %w",
		&term.Error{Op: "open", Session: "web1-aaaaaaaa", Kind: term.ConnectFailed, Msg: "refused", Err: cause},
	)
	if !errors.Is(err, term.ConnectFailed) {
		t.Error("not recognised by its kind")
	}
	if errors.Is(err, term.AuthFailed) {
		t.Error("recognised as another kind")
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if got := term.KindOf(err); got != term.ConnectFailed {
		t.Errorf("KindOf = %q", got)
	}
	if got := term.KindOf(cause); got != term.Internal {
		t.Errorf("KindOf of a foreign error = %q", got)
	}
	if got := term.KindOf(nil); got != "" {
		t.Errorf("KindOf(nil) = %q", got)
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  *term.Error
		want string
	}{
		{&term.Error{Kind: term.Busy}, "BUSY"},
		{&term.Error{Kind: term.Busy, Err: io.EOF}, "EOF"},
		{&term.Error{Kind: term.Busy, Msg: "m", Err: io.EOF}, "m"},
		{&term.Error{Op: "exec", Kind: term.Busy, Msg: "m"}, "exec: m"},
		{&term.Error{Op: "exec", Session: "s", Kind: term.Busy, Msg: "m"}, "exec s: m"},
		{term.Errorf(term.IOError, "read: %w", io.EOF), "read: EOF"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.err, got, c.want)
		}
	}
	if err := term.Errorf(term.IOError, "read: %w", io.EOF); !errors.Is(err, io.EOF) {
		t.Error("Errorf lost the cause given by the w verb")
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	const plain = "hunter2"
	type carrier struct{ Password term.Secret }
	c := carrier{Password: plain}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", c.Password, "in", c)
	js, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", c), "%s": fmt.Sprintf("%s", c),
		"%q": fmt.Sprintf("%q", c.Password), "json": string(js), "slog": log.String(),
	} {
		if strings.Contains(shown, plain) {
			t.Errorf("%s shows the secret: %s", name, shown)
		}
	}
	if c.Password.Reveal() != plain {
		t.Error("Reveal does not")
	}
	var back carrier
	if err := json.Unmarshal([]byte(`{"Password":"hunter2"}`), &back); err != nil || back.Password.Reveal() != plain {
		t.Errorf("decoded %q, %v", back.Password.Reveal(), err)
	}
}

func TestActorTravelsInContext(t *testing.T) {
	if got := term.ActorFrom(context.Background()); got != (term.Actor{}) {
		t.Errorf("actor of an empty context: %+v", got)
	}
	want := term.Actor{Transport: "stdio", Task: "t1"}
	if got := term.ActorFrom(term.WithActor(context.Background(), want)); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestPTYDefaults(t *testing.T) {
	if got, want := (term.PTY{}).OrDefault(), (term.PTY{Term: "xterm-256color", Cols: 120, Rows: 40}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (term.PTY{Cols: 80, Rows: 24, Term: "vt100"}).OrDefault(); got.Cols != 80 || got.Rows != 24 ||
		got.Term != "vt100" {
		t.Errorf("overwrote what was given: %+v", got)
	}
}
