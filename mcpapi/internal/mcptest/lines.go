package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
)

// The lines with which a client begins.
const (
	InitializeLine = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}}`
	InitializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// CancelCall returns the line that cancels the request with that id.
func CancelCall(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

// Lines is a client's end of stdio, line by line.
type Lines struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error // the error of Serve
}

// A Line has the members of a line that a test checks.
type Line struct {
	ID     json.RawMessage
	Method string
}

// ServeLines serves srv on stdio, and returns the client's end. WantEnd ends it.
func ServeLines(t *testing.T, srv *mcpapi.Server) *Lines {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &Lines{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	go func() {
		l.done <- stdio.Serve(context.Background(), srv, inR, outW, stdio.Options{})
		outW.Close()
	}()
	return l
}

// Send sends a line.
func (l *Lines) Send(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, text+"\n"); err != nil {
		l.t.Fatalf("write %.80q: %v", text, err)
	}
}

// Next returns the server's next line; it fails the test if none comes within 20 s.
func (l *Lines) Next() (got Line) {
	l.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { l.in.CloseWithError(io.ErrNoProgress) })
	defer late.Stop()
	if !l.out.Scan() {
		l.t.Fatal("the server has closed its output")
	}
	if err := json.Unmarshal(l.out.Bytes(), &got); err != nil {
		l.t.Fatalf("output is not JSON: %q: %v", l.out.Bytes(), err)
	}
	return got
}

// WantEnd ends the input, and expects that the server ends without an error or a further line.
func (l *Lines) WantEnd() {
	l.t.Helper()
	l.in.Close()
	if l.out.Scan() {
		l.t.Errorf("unexpected line: %s", l.out.Text())
	}
	if err := <-l.done; err != nil {
		l.t.Errorf("Serve = %v, want nil", err)
	}
}
