package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"ptyctl/term"
)

func TestFailures(t *testing.T) {
	e := &Encoder{Log: slog.New(slog.DiscardHandler)}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{
			"with details", &term.Error{Op: "write", Session: "web-1", Kind: term.Locked, Msg: "task a has it", Facts: term.Facts{term.LockConflict{Holder: "a", Expires: time.UnixMilli(7)}}},
			`{"error_code":"LOCKED","message":"task a has it","retryable":true,"details":{"session_id":"web-1","lock_holder":"a","lock_expires_at":7}}`,
		},
		{
			"with a session", &term.Error{Session: "web-1", Kind: term.AlreadyClosed, Msg: "it has ended"},
			`{"error_code":"ALREADY_CLOSED","message":"it has ended (ptyctl_session_io read; ptyctl_session open)","retryable":false,"details":{"session_id":"web-1"}}`,
		},
		{"bare", term.Errorf(term.Busy, "<later> & again"), `{"error_code":"BUSY","message":"<later> & again","retryable":true}`},
		{"wrapped", fmt.Errorf("x: %w", &term.Error{Kind: term.NotFound, Msg: "none"}), `{"error_code":"NOT_FOUND","message":"none","retryable":false}`},
		{"foreign", errors.New("secret path"), `{"error_code":"INTERNAL","message":"a fault in ptyctl; its log has the cause. Other sessions are not affected","retryable":false}`},
		{
			"internal, from below", &term.Error{Session: "web-1", Kind: term.Internal, Err: errors.New("secret path")},
			`{"error_code":"INTERNAL","message":"a fault in ptyctl; its log has the cause. Other sessions are not affected","retryable":false,"details":{"session_id":"web-1"}}`,
		},
		{"internal, meant for the caller", &term.Error{Kind: term.Internal, Msg: "report the log"}, `{"error_code":"INTERNAL","message":"report the log","retryable":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := e.Failure(context.Background(), tt.err)
			if err != nil || !r.IsError {
				t.Fatalf("got %+v, %v", r, err)
			}
			line, err := json.Marshal(r.Content[0])
			if err != nil {
				t.Fatal(err)
			}
			var content struct{ Text string }
			if err := json.Unmarshal(line, &content); err != nil || content.Text != tt.want {
				t.Errorf("got\n%s\nwant\n%s", content.Text, tt.want)
			}
		})
	}
}
