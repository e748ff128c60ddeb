package stdio

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
)

// batching serves a client that has settled on the revision with batches.
func batching(t *testing.T, o Options) (*conn, *testTools) {
	t.Helper()
	srv, tt := newTestServer(t)
	c := serve(t, srv, o)
	c.send(strings.Replace(initializeLine, "2025-06-18", "2025-03-26", 1), initializedLine)
	if a := c.next(); a.Result == nil || a.Result.ProtocolVersion != "2025-03-26" {
		t.Fatalf("initialize = %+v, want revision 2025-03-26", a)
	}
	return c, tt
}

func batchOf(messages ...string) string { return "[" + strings.Join(messages, ", ") + "]" }

// wantBatch expects one line with the answers to these ids, in any order, and returns them in this one.
func (c *conn) wantBatch(ids ...string) (answers []rpcAnswer) {
	c.t.Helper()
	line := c.next()
	if len(line.batch) != len(ids) {
		c.t.Fatalf("answers = %+v, want those to %v", line.batch, ids)
	}
	for _, id := range ids {
		i := slices.IndexFunc(line.batch, func(a rpcAnswer) bool { return string(a.ID) == id })
		if i < 0 {
			c.t.Fatalf("answers = %+v, want one to %s", line.batch, id)
		}
		answers = append(answers, line.batch[i])
		line.batch = slices.Delete(line.batch, i, i+1)
	}
	return answers
}

// The answers to a batch are one array, and each message has its own fate.
func TestBatch(t *testing.T) {
	c, _ := batching(t, Options{})
	c.send(" \t" + batchOf(ping("1"), initializedLine, call(`"a"`, "echo", `"text":"hi"`), `{"jsonrpc":"2.0","id":3}`, `7`,
		`[]`,
		call("4", "nosuch", ""), strings.Replace(initializeLine, `"i"`, "5", 1), `{"jsonrpc":"2.0","id":9,"result":{}}`))
	a := c.wantBatch("1", `"a"`, "3", "null", "null", "4", "5")
	if a[0].Error != nil || a[1].text(t) != "hi" {
		t.Errorf("answers to 1 and a = %+v, want success", a[:2])
	}
	for i, want := range []struct {
		code int
		part string
	}{
		{mcp.INVALID_REQUEST, "needs a method"},
		{mcp.INVALID_REQUEST, "not a JSON object"},
		{mcp.INVALID_REQUEST, "not a JSON object"},
		{mcp.INVALID_PARAMS, "nosuch"},
		{mcp.INVALID_REQUEST, "initialize must not be part of a batch"},
	} {
		if e := a[2+i].Error; e == nil || e.Code != want.code || !strings.Contains(e.Message, want.part) {
			t.Errorf("answer %d = %+v, want error %d that says %q", 2+i, a[2+i], want.code, want.part)
		}
	}
	c.send(batchOf(initializedLine, initializedLine), batchOf(ping("6"))) // notifications alone have no answer
	c.wantBatch("6")
	c.send("[]")
	c.wantError("null", mcp.INVALID_REQUEST, "empty")
	c.send(ping("7"))
	if a := c.next(); string(a.ID) != "7" || a.batch != nil {
		t.Errorf("answer to a request by itself = %+v", a)
	}
	c.wantEnd(nil)
}

// Batches are bounded as single requests are.
func TestBatchLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tt := batching(t, Options{MaxInFlight: 3})
		c.send(batchOf(ping("1"), ping("2"), ping("3"), ping("4")))
		c.wantError("null", mcp.INVALID_REQUEST, "at most 3 messages")
		c.send(call("5", "block", ""), batchOf(call("6", "block", ""), call("7", "block", ""), call("8", "block", "")))
		c.send(cancelCall("5"))
		synctest.Wait()
		close(tt.release)
		a := c.wantBatch("6", "7", "8")
		if a[0].text(t) != "released" || a[1].text(t) != "released" || a[2].Error == nil ||
			a[2].Error.Code != codeTooManyRequests {
			t.Errorf("answers = %+v, want the last one refused", a)
		}
		c.wantEnd(nil)
	})
}

// A request of a batch that is cancelled has no answer there, and the others have theirs.
func TestBatchCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tt := batching(t, Options{})
		c.send(batchOf(call("1", "block", ""), call("2", "echo", `"text":"x"`)), cancelCall("1"))
		if a := c.wantBatch("2"); a[0].text(t) != "x" || tt.cancelled.Load() != 1 {
			t.Errorf("answer = %+v, %d cancelled", a, tt.cancelled.Load())
		}
		c.send(batchOf(call("3", "block", "")), cancelCall("3"), ping("4"))
		if a := c.next(); string(a.ID) != "4" {
			t.Errorf("answer after a batch that was cancelled = %+v, want that to 4", a)
		}
		c.wantEnd(nil)
	})
}

// A batch is answered even when one of its requests ignores the end.
func TestBatchAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tt := batching(t, Options{})
		c.send(batchOf(ping("1"), call("2", "deaf", ""), call("3", "deaf", "")))
		synctest.Wait()
		defer close(tt.release)
		c.send(cancelCall("3"))
		c.in.Close()
		<-c.done
		if a := c.wantBatch("1", "2"); a[1].Error == nil || a[1].Error.Code != mcp.INTERNAL_ERROR {
			t.Errorf("answer = %+v, want that the request is abandoned", a[1])
		}
	})
}
