package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A typescriptClient is a client of the official SDK for TypeScript: node/client.mjs, or client2.mjs for its version 2.
type typescriptClient struct {
	lab.Tools
	list     json.RawMessage // the answer to tools/list, as the SDK understood it
	revision string          // in effect, as version 2 of the SDK says

	cmd   *exec.Cmd
	log   *lab.Capture  // its stderr, and the server's, if it has started that
	ended chan struct{} // closed after its last line was read

	mu      sync.Mutex // guards the following, and the writing to in
	in      io.WriteCloser
	lastID  int
	waiting map[int]chan<- typescriptLine
	faults  []string // errors outside any call
	allowed string   // part of errors that are not faults: over HTTP the SDK reports those of calls, too
}

// A typescriptLine is one line of node/client.mjs.
type typescriptLine struct {
	ID       int
	Result   json.RawMessage
	Revision string // of the first line of client2.mjs
	Error    string
	Fault    string
}

// startTypescript starts a client. args are those of node/client.mjs; env is for the server that it starts, if it does.
// The client ends with the test, which fails if there was anything that it could not make sense of.
func startTypescript(tb testing.TB, env []string, args ...string) *typescriptClient {
	tb.Helper()
	return startTypescriptClient(tb, "client.mjs", env, args...)
}

// startTypescript2 starts a client of version 2 of the SDK. mode is that of node/client2.mjs, and the client must have
// agreed on the newest revision.
func startTypescript2(tb testing.TB, mode string, env []string, args ...string) *typescriptClient {
	tb.Helper()
	c := startTypescriptClient(tb, "client2.mjs", env, append([]string{mode}, args...)...)
	if want := "2026-07-28"; c.revision != want {
		tb.Errorf("revision of TypeScript SDK 2 in mode %s = %q, want %q", mode, c.revision, want)
	}
	return c
}

// startTypescriptClient starts a client with one of the scripts in the folder node.
func startTypescriptClient(tb testing.TB, script string, env []string, args ...string) *typescriptClient {
	tb.Helper()
	node := installedNode(tb)
	cmd := node.run(tb, node.script(tb, script), args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = lab.Patience
	c := &typescriptClient{
		cmd:     cmd,
		log:     lab.NewCapture(),
		ended:   make(chan struct{}),
		waiting: make(map[int]chan<- typescriptLine),
	}
	cmd.Stderr = c.log
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	listed := make(chan typescriptLine, 1)
	c.waiting[0] = listed
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go c.read(out)
	tb.Cleanup(func() { c.finish(tb) })
	select {
	case l := <-listed:
		c.list, c.revision = l.Result, l.Revision
	case <-c.ended:
		tb.Fatalf("the TypeScript client could not connect:\n%s", lab.Tail(c.log.String(), 8<<10))
	case <-time.After(lab.Patience):
		tb.Fatalf("the TypeScript client has not connected within %v:\n%s", lab.Patience, lab.Tail(c.log.String(), 8<<10))
	}
	c.Tools = lab.NewTools(tb, c.callTool)
	return c
}

// typescript starts ptyctl through a client of the TypeScript SDK.
func typescript(tb testing.TB, h *lab.Home, args ...string) *typescriptClient {
	tb.Helper()
	cmd := h.Command(append([]string{"mcp", "--transport", "stdio", "--config", h.Config}, args...)...)
	return startTypescript(tb, cmd.Env, append([]string{"stdio"}, cmd.Args...)...)
}

// typescript2 starts ptyctl through a client of version 2 of the TypeScript SDK.
func typescript2(tb testing.TB, h *lab.Home, mode string) *typescriptClient {
	tb.Helper()
	cmd := h.Command("mcp", "--transport", "stdio", "--config", h.Config)
	return startTypescript2(tb, mode, cmd.Env, append([]string{"stdio"}, cmd.Args...)...)
}

func (c *typescriptClient) read(out io.Reader) {
	defer close(c.ended)
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var l typescriptLine
		if err := json.Unmarshal(text, &l); err != nil {
			l.Fault = fmt.Sprintf("%v: %q", err, text)
		}
		c.mu.Lock()
		w := c.waiting[l.ID]
		switch {
		case l.Fault != "" && c.allowed != "" && strings.Contains(l.Fault, c.allowed):
		case l.Fault != "":
			c.faults = append(c.faults, l.Fault)
		case w != nil:
			delete(c.waiting, l.ID)
			w <- l
		}
		c.mu.Unlock()
	}
}

// expect has the client report errors that contain text without failing the test.
func (c *typescriptClient) expect(text string) *typescriptClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = text
	return c
}

// callTool calls the SDK's callTool. The error is the one that the SDK threw.
func (c *typescriptClient) callTool(
	ctx context.Context,
	tool string,
	arguments json.RawMessage,
) (a lab.ToolAnswer, err error) {
	answer := make(chan typescriptLine, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.waiting[id] = answer
	_, err = fmt.Fprintf(c.in, `{"id":%d,"tool":%q,"arguments":%s}`+"\n", id, tool, arguments)
	c.mu.Unlock()
	if err != nil {
		return a, err
	}
	select {
	case l := <-answer:
		if l.Error != "" {
			return a, errors.New(l.Error)
		}
		return a, json.Unmarshal(l.Result, &a)
	case <-c.ended:
		return a, errors.New("the TypeScript client has ended: " + lab.Tail(c.log.String(), 4<<10))
	case <-ctx.Done():
		return a, ctx.Err()
	}
}

// finish ends the client and makes the last checks.
func (c *typescriptClient) finish(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	c.in.Close()
	c.mu.Unlock()
	select {
	case <-c.ended:
	case <-time.After(lab.Patience):
		tb.Errorf("the TypeScript client still runs %v after its input ended", lab.Patience)
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
	if err := c.cmd.Wait(); err != nil {
		tb.Errorf("the TypeScript client ended with %v:\n%s", err, lab.Tail(c.log.String(), 8<<10))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		tb.Errorf("the TypeScript client reports:\n%s", strings.Join(c.faults, "\n"))
	}
}
