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

const (
	InitializeLine = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}}`
	InitializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func CancelCall(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

// lines is a client's end of stdio, line by line.
type lines struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error // what Serve has returned
}

// line has the members of a line that a test checks.
type line struct {
	ID     json.RawMessage
	Method string
}

func ServeLines(t *testing.T, srv *mcpapi.Server) *lines {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &lines{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	go func() {
		l.done <- stdio.Serve(context.Background(), srv, inR, outW, stdio.Options{})
		outW.Close()
	}()
	return l
}

func (l *lines) Send(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, text+"\n"); err != nil {
		l.t.Fatalf("write %.80q: %v", text, err)
	}
}

// Next returns the server's next line; it fails the test if none comes within 20 s.
func (l *lines) Next() (got line) {
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
func (l *lines) WantEnd() {
	l.t.Helper()
	l.in.Close()
	if l.out.Scan() {
		l.t.Errorf("unexpected line: %s", l.out.Text())
	}
	if err := <-l.done; err != nil {
		l.t.Errorf("Serve = %v, want nil", err)
	}
}
