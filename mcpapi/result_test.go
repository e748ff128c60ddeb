package mcpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/term"
)

func TestStructuredContent(t *testing.T) {
	for _, tt := range []struct {
		revision string
		option   bool
		want     bool
	}{
		{"2024-11-05", true, false},
		{"2025-03-26", true, false},
		{"2025-06-18", true, true},
		{"2025-11-25", true, true},
		{"2025-06-18", false, false},
		{"2025-11-25", false, false},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.revision, tt.option), func(t *testing.T) {
			a := newAgent(
				t,
				NewServer(Options{Sessions: session.NewManager(session.Config{}), Structured: tt.option}),
				tt.revision,
			)
			for _, r := range []reply{a.ok(sessionTool.Name, `{"action":"list"}`), a.call(sessionTool.Name, `{"action":"<&>"}`)} {
				if got := r.structured != nil; got != tt.want {
					t.Errorf("structured content is %s", r.structured)
				}
				if tt.want && string(r.structured) != r.text {
					t.Errorf("text and structured content differ:\n%s\n%s", r.text, r.structured)
				}
			}
		})
	}
}

// A client of a stateless revision says in each request which one it speaks.
func TestStructuredContentStateless(t *testing.T) {
	srv := NewServer(Options{Sessions: session.NewManager(session.Config{}), Structured: true})
	a := newAgent(t, srv, "2025-03-26")
	got := a.request(
		"tools/call",
		`{"name":"ptyctl_session","arguments":{"action":"list"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`,
	)
	if got.Error != nil {
		t.Fatal(got.Error)
	}
	if r := a.read(got.Result); r.isError {
		t.Error(r.text)
	}
}

func TestFailures(t *testing.T) {
	e := &encoder{Log: slog.New(slog.DiscardHandler)}
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
			`{"error_code":"ALREADY_CLOSED","message":"it has ended","retryable":false,"details":{"session_id":"web-1"}}`,
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
			r, err := e.failure(context.Background(), tt.err)
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

func TestStreamOut(t *testing.T) {
	// More than the engine keeps of the start of a stream, so that a rune lies across the seam of its two parts.
	long := strings.Repeat("é", 40_000)
	tests := []struct {
		name     string
		in       session.Output
		text     string
		encoding string
		cut      *omitted
	}{
		{"nothing", session.Output{}, "", "", nil},
		{"text", session.Output{Head: []byte("abc"), Total: 3, TailStart: 3}, "abc", "", nil},
		{"in two parts", session.Output{Head: []byte("ab"), Tail: []byte("c"), Total: 3, TailStart: 2}, "abc", "", nil},
		{"a rune across the seam", session.Output{Head: []byte(long[:65_537]), Tail: []byte(long[65_537:]), Total: 80_000, TailStart: 65_537}, long, "", nil},
		{"cut", session.Output{Head: []byte("ab"), Tail: []byte("yz"), Total: 26, TailStart: 24}, "ab\n[... 22 bytes left out ...]\nyz", "", &omitted{At: 2, Bytes: 22, Cursor: "2"}},
		{"bytes", session.Output{Head: []byte("a\xff"), Total: 2, TailStart: 2}, "Yf8=", "base64", nil},
		{"bytes, cut", session.Output{Head: []byte("a\xff"), Tail: []byte("b"), Total: 9, TailStart: 8}, "Yf9i", "base64", &omitted{At: 2, Bytes: 6, Cursor: "2"}},
		{"NUL is text", session.Output{Head: []byte("a\x00"), Total: 2, TailStart: 2}, "a\x00", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, encoding, total, cut := streamOut(tt.in)
			if text != tt.text || encoding != tt.encoding || total != tt.in.Total || !reflect.DeepEqual(cut, tt.cut) {
				t.Errorf("got %.100q, %q, %d, %+v", text, encoding, total, cut)
			}
		})
	}
}

// allBytes has every byte value; none may be lost on the way.
var allBytes = func() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

func TestBase64BothWays(t *testing.T) {
	l := newLab(t, labConfig{ssh: sshserver.Config{Handler: echo}})
	l.open("")
	data := base64.StdEncoding.EncodeToString(allBytes)

	r := l.ok(execTool.Name, `{"session_id":"$S","cmd":"cat","stdin":"`+data+`","stdin_encoding":"base64"}`)
	if r.Stdout != data || r.StdoutEncoding != "base64" || r.StdoutBytes != 256 {
		t.Errorf("exec: got %q, %q", r.Stdout, r.StdoutEncoding)
	}
	w := l.ok(ioTool.Name, `{"action":"write","session_id":"$S","data":"`+data+`","encoding":"base64"}`)
	if w.BytesWritten == nil || *w.BytesWritten != 256 || w.Cursor != "0" {
		t.Errorf("write: got %s", w.text)
	}
	var got []byte
	for cursor := "0"; len(got) < 256; {
		r := l.ok(ioTool.Name, `{"action":"read","session_id":"$S","cursor":"`+cursor+`","timeout_ms":5000}`)
		if r.TimedOut {
			t.Fatalf("after %d bytes: %s", len(got), r.text)
		}
		part := []byte(r.Chunk)
		if r.Encoding == "base64" {
			part, _ = base64.StdEncoding.DecodeString(r.Chunk)
		}
		got, cursor = append(got, part...), r.NextCursor
	}
	if !bytes.Equal(got, allBytes) {
		t.Errorf("read back %q", got)
	}
	r = l.ok(ioTool.Name, `{"action":"read","session_id":"$S","cursor":"65","max_bytes":3,"encoding":"base64"}`)
	if r.Chunk != "QUJD" || r.Encoding != "base64" || r.NextCursor != "68" {
		t.Errorf("asked for base64, got %s", r.text)
	}
	l.fails(
		ioTool.Name,
		`{"action":"write","session_id":"$S","data":"not base64!","encoding":"base64"}`,
		term.InvalidArgument,
		"data is not valid base64",
	)
	l.fails(
		execTool.Name,
		`{"session_id":"$S","cmd":"cat","stdin":"Yf8","stdin_encoding":"base64"}`,
		term.InvalidArgument,
		"stdin is not valid base64",
		"padding",
	)
}
