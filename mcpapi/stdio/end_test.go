package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/mcpgo"
	"ptyctl/term"
)

func TestAnswersAllAtEndOfInput(t *testing.T) {
	srv, _ := newTestServer(t)
	var in strings.Builder
	const n = 200
	for i := range n {
		in.WriteString(call(fmt.Sprint(i), "echo", `"text":"x"`) + "\n")
	}
	in.WriteString(call(`"last"`, "echo", `"text":"no newline"`))
	var out bytes.Buffer
	if err := Serve(context.Background(), srv, strings.NewReader(in.String()), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != n+1 {
		t.Fatalf("%d answers, want %d", got, n+1)
	}
	if !strings.Contains(out.String(), "no newline") {
		t.Fatal("the last line was lost")
	}
}

func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		end        func(c *conn)
		release    time.Duration // when the calls may end on their own; 0: never
		took       time.Duration
		answer     string // "" for an error
		cause      error
	}{
		{"end of input, in time", "block", func(c *conn) { c.in.Close() }, 2 * time.Second, 2 * time.Second, "released", nil},
		{"end of input, too slow", "block", func(c *conn) { c.in.Close() }, 0, 3 * time.Second, "cancelled", errInputEnded},
		{"end of input, goes on", "block", func(c *conn) { c.in.Close() }, 0, 3 * time.Second, "cancelled", errInputEnded},
		{"context, goes on", "block", func(c *conn) { c.cancel() }, 0, 0, "cancelled", context.Canceled},
		{"end of input, deaf", "deaf", func(c *conn) { c.in.Close() }, 0, 5 * time.Second, "", nil},
		{"end of input, deaf but soon ready", "deaf", func(c *conn) { c.in.Close() }, 4 * time.Second, 4 * time.Second, "too late", nil},
		{"context", "block", func(c *conn) { c.cancel() }, 0, 0, "cancelled", context.Canceled},
		{"context, deaf", "deaf", func(c *conn) { c.cancel() }, 0, 2 * time.Second, "", nil},
		{"context while draining", "block", func(c *conn) { c.in.Close(); time.Sleep(time.Second); c.cancel() }, 0, time.Second, "cancelled", context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, tt := newTestServer(t)
				goesOn := strings.HasSuffix(tc.name, "goes on")
				c := serve(t, srv, Options{GoesOn: goesOn})
				c.send(call("1", tc.tool, ""), call("2", tc.tool, ""))
				synctest.Wait()
				if tc.release > 0 {
					time.AfterFunc(tc.release, func() { close(tt.release) })
				} else {
					defer close(tt.release)
				}
				begin := time.Now()
				tc.end(c)
				<-c.done
				if took := time.Since(begin); c.err != nil || took != tc.took {
					t.Fatalf("returned %v after %v, want nil after %v", c.err, took, tc.took)
				}
				ids := map[string]bool{}
				for a := range c.answers {
					ids[string(a.ID)] = true
					if tc.answer == "" {
						if a.Error == nil || a.Error.Code != mcp.INTERNAL_ERROR || !strings.Contains(a.Error.Message, "shut down") {
							t.Errorf("answer = %+v, want an internal error that says shut down", a)
						}
					} else if got := a.text(t); got != tc.answer {
						t.Errorf("got %q, want %q", got, tc.answer)
					}
				}
				if len(ids) != 2 {
					t.Errorf("answered: %v", ids)
				}
				if tc.cause != nil {
					got := tt.cause.Load().(causeBox).err
					stopping := tc.cause == context.Canceled || !goesOn
					if !errors.Is(got, tc.cause) || errors.Is(got, term.ErrStopping) != stopping {
						t.Errorf("cause %v, want %v, and that the program is stopping: %t", got, tc.cause, stopping)
					}
				}
			})
		})
	}
}

func TestListenDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		)
		if a := c.next(); a.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("first line = %+v, want notifications/subscriptions/acknowledged", a)
		}
		begin := time.Now()
		c.in.Close()
		if a := c.next(); string(a.ID) != "1" || a.Error != nil {
			t.Fatalf("answer at the end of input = %+v, want the result of request 1", a)
		}
		c.wantEnd(nil)
		if d := time.Since(begin); d != 0 {
			t.Fatalf("waited %v", d)
		}
	})
}

func TestPanic(t *testing.T) {
	srv, _ := newTestServer(t)
	var logged bytes.Buffer
	c := serve(t, srv, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	c.send(call("1", "panic", ""))
	a := c.next()
	if a.Error == nil || a.Error.Code != mcp.INTERNAL_ERROR || strings.Contains(a.Error.Message, "secret") {
		t.Fatalf("error of a panic = %+v, want an internal error without the panic's text", a.Error)
	}
	c.send(call("1", "echo", `"text":"alive"`))
	c.wantText("1", "alive")
	c.wantEnd(nil)
	if s := logged.String(); !strings.Contains(s, "secret-in-a-panic") || !strings.Contains(s, "newTestServer") {
		t.Fatalf("log without panic or stack: %s", s)
	}
}

func TestAnswerThatIsNotJSON(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine)
	c.next()
	srv.SendNotificationToAllClients("notifications/x", map[string]any{"x": func() {}})
	c.send(call("1", "unmarshalable", ""))
	c.wantError("1", mcp.INTERNAL_ERROR, "cannot be written as JSON")
	c.wantEnd(nil)
}

// brokenAfter is an output that fails with EPIPE after n writes.
type brokenAfter struct{ n int }

func (b *brokenAfter) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

func TestBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		inR, inW := io.Pipe()
		defer inW.Close()
		done := make(chan error, 1)
		go func() { done <- Serve(context.Background(), srv, inR, &brokenAfter{1}, Options{}) }()
		fmt.Fprintln(inW, call("1", "block", ""))
		fmt.Fprintln(inW, ping("2"))
		fmt.Fprintln(inW, ping("3"))
		if err := <-done; !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("got %v", err)
		}
		if tt.cancelled.Load() != 1 || !errors.Is(tt.cause.Load().(causeBox).err, errOutputBroken) {
			t.Fatalf("the call in flight was not cancelled for the output: %v", tt.cause.Load())
		}
	})
}

func TestOutputThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, srv, inR, outW, Options{}) }()
		fmt.Fprintln(inW, initializeLine)
		if _, err := bufio.NewReader(outR).ReadSlice('\n'); err != nil { // The last line that is read.
			t.Fatal(err)
		}
		fmt.Fprintln(inW, call("1", "progress", `"n":5000`))
		synctest.Wait()
		begin := time.Now()
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "read nothing") {
			t.Fatalf("got %v", err)
		}
		if d := time.Since(begin); d > 2*grace {
			t.Fatalf("took %v", d)
		}
		outR.Close()
		inW.Close()
	})
}

func TestReadError(t *testing.T) {
	srv, _ := newTestServer(t)
	inR, inW := io.Pipe()
	inW.CloseWithError(syscall.EIO)
	if err := Serve(context.Background(), srv, inR, io.Discard, Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
}

// slowConn takes a second to return from a Read.
type slowConn struct {
	net.Conn
	reading atomic.Bool
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.reading.Store(true)
	defer c.reading.Store(false)
	n, err := c.Conn.Read(p)
	time.Sleep(time.Second)
	return n, err
}

// A Read that can be interrupted does not outlive Serve.
func TestInterruptsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		pipe, clientEnd := net.Pipe()
		defer clientEnd.Close()
		serverEnd := &slowConn{Conn: pipe}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, srv, serverEnd, io.Discard, Options{}) }()
		fmt.Fprintln(clientEnd, ping("1"))
		time.Sleep(2 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if serverEnd.reading.Load() {
			t.Fatal("Serve returned while it was reading")
		}
	})
}

func TestServersShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		a, b := serve(t, srv, Options{}), serve(t, srv, Options{})
		a.send(call("1", "block", ""))
		b.send(call("1", "echo", `"text":"b"`))
		b.wantText("1", "b")
		b.send(cancelCall("1"))
		synctest.Wait()
		if tt.cancelled.Load() != 0 {
			t.Fatal("one client cancelled the call of another")
		}
		b.send(strings.Replace(initializeLine, "tester", "other", 1))
		b.next()
		a.send(call("2", "whoami", ""))
		a.wantText("2", "  ")
		close(tt.release)
		a.wantText("1", "released")
		b.wantEnd(nil)
		a.wantEnd(nil)
	})
}

func FuzzServe(f *testing.F) {
	for _, s := range []string{
		initializeLine, initializedLine, call("1", "echo", `"text":"x"`), cancelCall("1"), "[]", "\n\r\n",
		`{"jsonrpc":"2.0","ID":null,"id":1,"method":"ping"}`, call("1", "panic", "") + "\n" + call("1", "panic", ""),
	} {
		f.Add([]byte(s))
	}
	srv, tt := newTestServer(f)
	close(tt.release)
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		if err := Serve(context.Background(), srv, bytes.NewReader(in), &out, Options{MaxMessageBytes: 1024}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var a struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if err := json.Unmarshal(line, &a); err != nil || a.JSONRPC != "2.0" {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}

// The same calls through Serve and through the library's own stdio server, in one run.
func BenchmarkRoundTrip(b *testing.B) {
	servers := []struct {
		name  string
		serve func(srv *server.MCPServer, in io.Reader, out io.Writer) error
	}{
		{"ptyctl", func(srv *server.MCPServer, in io.Reader, out io.Writer) error {
			return Serve(context.Background(), &mcpgo.Server{MCPServer: srv}, in, out, Options{})
		}},
		{"mcp-go", func(srv *server.MCPServer, in io.Reader, out io.Writer) error {
			return server.NewStdioServer(srv).Listen(context.Background(), in, out)
		}},
	}
	for _, size := range []int{2, 64 << 10} {
		// Text as terminals send it: lines, some colour, some HTML-unsafe characters.
		text := strings.Repeat("-rw-r--r-- 1 root root 4096 \x1b[01;34mname\x1b[0m <a> && b\r\n", size/50+1)[:size]
		for _, s := range servers {
			b.Run(fmt.Sprintf("%d/%s", size, s.name), func(b *testing.B) {
				srv := server.NewMCPServer("bench", "1", server.WithToolCapabilities(true))
				srv.AddTool(mcp.NewTool("get"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText(text), nil
				})
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				done := make(chan error, 1)
				go func() { done <- s.serve(srv, inR, outW) }()
				answers := bufio.NewReaderSize(outR, 1<<20)
				request := []byte(call("1", "get", "") + "\n")
				for b.Loop() {
					if _, err := inW.Write(request); err != nil {
						b.Fatal(err)
					}
					if _, err := answers.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
				inW.Close()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
