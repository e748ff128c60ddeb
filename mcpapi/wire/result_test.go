package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/identity"
	"ptyctl/term"
)

// shot is a result with a picture.
type shot struct {
	Rows int `json:"rows"`
	file []byte
}

func (s shot) Picture() []byte { return s.file }

// Each form of a result has the picture after its text.
func TestPicture(t *testing.T) {
	for _, form := range []identity.Results{identity.Compact, identity.Full, identity.Text} {
		e := &Encoder{Results: form, Log: slog.New(slog.DiscardHandler)}
		for _, c := range []struct {
			file []byte
			want string
		}{
			{[]byte("\x89PNG"), `{"type":"image","data":"iVBORw==","mimeType":"image/png"}`},
			{nil, ""},
		} {
			r, err := e.Result(context.Background(), shot{24, c.file})
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			got := ""
			if len(r.Content) > 1 {
				line, err := json.Marshal(r.Content[1])
				if err != nil {
					t.Fatal(err)
				}
				got = string(line)
			}
			if _, text := r.Content[0].(mcp.TextContent); !text || got != c.want {
				t.Errorf("%s, the picture %q: a text first: %v, then %s; want a text, then %s", form, c.file, text, got, c.want)
			}
		}
	}
}

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
		{
			"said in the message", &term.Error{Kind: term.InvalidArgument, Msg: `x must be one of a, b; a correct call: tool {"x":"a"}`, Facts: term.Facts{term.ArgumentFault{Field: "x", Allowed: []string{"a", "b"}, Example: `{"x":"a"}`}}},
			`{"error_code":"INVALID_ARGUMENT","message":"x must be one of a, b; a correct call: tool {\"x\":\"a\"}","retryable":false,"details":{"field":"x","example":"{\"x\":\"a\"}"}}`,
		},
		{
			"not said there", &term.Error{Kind: term.InvalidArgument, Msg: "x is wrong", Facts: term.Facts{term.ArgumentFault{Field: "x", Allowed: []string{"a", "b"}, Example: `{"x":"a"}`}}},
			`{"error_code":"INVALID_ARGUMENT","message":"x is wrong","retryable":false,"details":{"field":"x","allowed":["a","b"],"example":"{\"x\":\"a\"}"}}`,
		},
		{
			"on the way", &term.Error{Kind: term.ConnectFailed, Msg: "refused", Facts: term.Facts{term.ConnectFailure{Ladder: []term.Hop{{Host: "web1", Port: 22, Steps: []term.Step{{Name: "dns", OK: true, DurationMS: 5}, {Name: "tcp", OK: true, DurationMS: 1200}, {Name: "kex", DurationMS: 7}}}}}}},
			`{"error_code":"CONNECT_FAILED","message":"refused","retryable":true,"details":{"ladder":[{"host":"web1","port":22,"steps":[{"name":"tcp","ok":true,"duration_ms":1200},{"name":"kex","ok":false}]}]}}`,
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
