package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/mcpgo"
)

func TestPipelinedHandshake(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine, initializedLine, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if a := c.next(); string(a.ID) != `"i"` || a.Result.ProtocolVersion != "2025-06-18" {
		t.Fatalf("initialize: %+v", a)
	}
	if a := c.next(); string(a.ID) != "2" || len(a.Result.Tools) != 7 {
		t.Fatalf("tools/list: %+v", a)
	}
	c.send(call("3", "whoami", ""))
	c.wantText("3", "tester 7 2025-06-18")
	c.wantEnd(nil)
}

// slowBuffer takes a second for each Write.
type slowBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *slowBuffer) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *slowBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// readFunc is an input made of a function.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Whatever the next line causes to be sent comes after the answer to initialize.
func TestWritesInitializeBeforeItReadsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		out := &slowBuffer{}
		in := io.MultiReader(strings.NewReader(initializeLine+"\n"), readFunc(func([]byte) (int, error) {
			if !strings.Contains(out.String(), "protocolVersion") {
				t.Error("the next line is read before initialize is answered")
			}
			return 0, io.EOF
		}))
		if err := Serve(context.Background(), srv, in, out, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClientOfStatelessRequest(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	modern := func(id, info string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"whoami","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` + info +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	c.send(modern("1", `"io.modelcontextprotocol/clientInfo":{"name":"new","version":"9"},`))
	c.wantText("1", "new 9 2026-07-28")
	c.send(modern("2", ""))
	c.wantText("2", "  2026-07-28")
	c.send(initializeLine)
	c.next()
	// Metadata of one request does not apply to the next.
	c.send(call("3", "whoami", ""))
	c.wantText("3", "tester 7 2025-06-18")
	c.wantEnd(nil)
}

func TestClientFromContextWithoutSession(t *testing.T) {
	if n, v, p := mcpgo.ClientFromContext(context.Background()); n+v+p != "" {
		t.Fatalf("got %q %q %q", n, v, p)
	}
}

func TestBlockedCallsDelayNothing(t *testing.T) {
	for _, n := range []int{50, 250} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, tt := newTestServer(t)
				c := serve(t, srv, Options{})
				begin := time.Now()
				for i := range n {
					c.send(call(fmt.Sprint(i), "block", ""))
				}
				c.send(call(`"e"`, "echo", `"text":"hi"`))
				c.wantText(`"e"`, "hi")
				c.send(ping(`"p"`))
				if a := c.next(); string(a.ID) != `"p"` || a.Error != nil {
					t.Fatalf("ping: %+v", a)
				}
				for i := range n {
					c.send(cancelCall(fmt.Sprint(i)))
				}
				synctest.Wait()
				if got := tt.cancelled.Load(); got != int64(n) {
					t.Fatalf("%d of %d calls cancelled", got, n)
				}
				if got := tt.cause.Load().(causeBox).err; !errors.Is(got, errCancelledByClient) {
					t.Fatalf("cause: %v", got)
				}
				c.wantEnd(nil) // With no answer to any cancelled call.
				if d := time.Since(begin); d != 0 {
					t.Fatalf("something waited for a timer: %v", d)
				}
			})
		})
	}
}

func TestTooManyInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		c := serve(t, srv, Options{MaxInFlight: 2})
		c.send(call("1", "block", ""), call("2", "block", ""), call("3", "echo", ""))
		c.wantError("3", codeTooManyRequests, "2 requests are in flight")
		c.send(ping("4"))
		if a := c.next(); string(a.ID) != "4" || a.Error != nil {
			t.Fatalf("ping at the limit: %+v", a)
		}
		c.send(cancelCall("1"))
		synctest.Wait()
		c.send(call("5", "echo", `"text":"room"`))
		c.wantText("5", "room")
		close(tt.release)
		c.wantText("2", "released")
		c.wantEnd(nil)
	})
}

func TestNotificationsPrecedeTheAnswer(t *testing.T) {
	srv, _ := newTestServer(t)
	for _, n := range []int{1, 1000, 5000} {
		c := serve(t, srv, Options{})
		c.send(initializeLine, call("1", "progress", fmt.Sprintf(`"n":%d`, n)))
		c.next()
		for i := range n {
			if a := c.next(); a.Method != "notifications/progress" || a.Params.Progress != i+1 {
				t.Fatalf("line %d of %d: %+v", i, n, a)
			}
		}
		c.wantText("1", "done")
		c.wantEnd(nil)
	}
}

func TestNotificationsOfManyCalls(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(initializeLine)
	c.next()
	const calls, each = 40, 100
	go func() {
		for i := range calls {
			fmt.Fprintln(c.in, call(fmt.Sprint(i), "progress", fmt.Sprintf(`"n":%d`, each)))
		}
	}()
	seen := 0
	for answers := 0; answers < calls; {
		a := c.next()
		if a.Method != "" {
			seen++
			continue
		}
		if a.text(t) != "done" {
			t.Fatalf("answer = %+v, want the text done", a)
		}
		answers++
	}
	if seen != calls*each {
		t.Fatalf("%d notifications of %d", seen, calls*each)
	}
	c.wantEnd(nil)
}

func TestLoneNotificationIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(initializeLine)
		c.next()
		srv.SendNotificationToAllClients("notifications/tools/list_changed", nil)
		if a := c.next(); a.Method != "notifications/tools/list_changed" {
			t.Fatalf("next line = %+v, want notifications/tools/list_changed", a)
		}
		c.wantEnd(nil)
	})
}

// The memory of a long answer serves the next ones, and none of them shows in another.
func TestLongAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newTestServer(t)
		c := serve(t, srv, Options{})
		want := make(map[string]string)
		for round := range 4 {
			for i := range 16 {
				id, text := fmt.Sprint(100*round+i), strings.Repeat(fmt.Sprint(round, "of", i, ";"), 20_000-1000*i)
				want[id] = text
				c.send(call(id, "echo", fmt.Sprintf(`"text":%q`, text)))
			}
			for range 16 {
				a := c.next()
				if got := a.text(t); got != want[string(a.ID)] {
					t.Errorf("answer %s = %.100q (%d bytes), want %.100q", a.ID, got, len(got), want[string(a.ID)])
				}
			}
		}
		c.wantEnd(nil)
	})
}
