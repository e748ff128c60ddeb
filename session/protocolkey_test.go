package session_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/session/keys"
	"ptyctl/term"
)

// A keyed is a shell whose protocol has keys of its own.
type keyed struct {
	shell
	send func(name string) error
}

func (k *keyed) SendKey(_ context.Context, name string) error { return k.send(name) }

// A key that the protocol does not have is not typed: commands still run beside the terminal.
func TestRefusedKeyIsNoTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		k := &keyed{
			shell: shell{plain: plain{ReadWriteCloser: near}},
			send:  func(string) error { return &term.Error{Kind: term.Unsupported, Msg: "SSH has no key ayt"} },
		}
		k.exec = func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{Known: true}, nil
		}
		s := session.New(k, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		put(t, far, "$ ")
		_, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "ayt"})
		wantKind(t, err, term.Unsupported)
		if s.Info().Typed {
			t.Error("typed")
		}
		got, err := s.Exec(t.Context(), session.ExecRequest{Command: "id"})
		if err != nil || got.Lane != session.LaneChannel {
			t.Errorf("lane %s, %v", got.Lane, err)
		}
	})
}

// A key goes out in the form that the program has asked for, and its name is on record.
func TestKeyInTheFormAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, far := start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		press := func(want string) {
			t.Helper()
			r, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "arrow_up"})
			if err != nil || r.Written != len(want) || r.Warnings != nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := take(t, far, len(want)); got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		}
		press("\x1b[A")
		put(t, far, "\x1b[?1h\x1b=") // smkx, as less, vim and readline's callers send it
		press("\x1bOA")
		put(t, far, "\x1b[?1l\x1b>")
		press("\x1b[A")
		if e := seen.of(term.VerbWrite); len(e) != 3 || e[1].Detail != "arrow_up" || string(e[1].Data) != "\x1bOA" {
			t.Errorf("%+v", e)
		}
		e := wantKind(
			t,
			func() error { _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "Ctrl-C"}); return err }(),
			term.InvalidArgument,
		)
		if !strings.Contains(e.Msg, "use ctrl_c") || e.Details.Part != term.FieldKey {
			t.Errorf("%+v", e)
		}
		e = wantKind(
			t,
			func() error { _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "hyper_x"}); return err }(),
			term.InvalidArgument,
		)
		if !strings.Contains(e.Msg, keys.List) {
			t.Errorf("%+v", e)
		}
	})
}
