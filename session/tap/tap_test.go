package tap_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"ptyctl/session/tap"
)

// TestTap diverts the middle of a stream. The reader leaves a part of it unread.
func TestTap(t *testing.T) {
	var got []byte
	s := tap.New(func(p []byte) { got = append(got, p...) })
	s.Write([]byte("before "))
	if err := s.Open(); err != nil || !errors.Is(s.Open(), tap.ErrOpen) {
		t.Fatalf("Open = %v, and again it succeeds or fails otherwise", err)
	}
	s.Write([]byte("middle rest "))
	p := make([]byte, 7)
	if n, err := s.Read(t.Context(), p, time.Minute); n != 7 || err != nil || string(p) != "middle " {
		t.Errorf("Read = %d %q, %v", n, p, err)
	}
	s.Pass([]byte("passed "))
	s.Close()
	s.Write([]byte("after"))
	if string(got) != "before passed rest after" {
		t.Errorf("the stream is %q", got)
	}
	if n, err := s.Read(t.Context(), p, 0); n != 0 || err != nil {
		t.Errorf("Read of nothing = %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, p, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled Read = %v", err)
	}
	s.End()
	if _, err := s.Read(t.Context(), p, time.Minute); err != io.EOF || s.Open() != io.EOF {
		t.Errorf("at the end Read = %v, want io.EOF", err)
	}
}
