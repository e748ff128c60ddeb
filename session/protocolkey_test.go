package session_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
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
