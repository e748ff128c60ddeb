package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

func TestRequestIDs(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	for _, id := range []string{
		"0", "-1", "9007199254740993", "18446744073709551617", strings.Repeat("9", jsonrpc.MaxNumericID),
		`"1"`, `""`, `"ä \\ \" \n"`, `"` + strings.Repeat("x", 1000) + `"`,
	} {
		c.send(call(id, "echo", `"text":"x"`))
		c.wantText(id, "x")
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"nope"}`, id))
		c.wantError(id, mcp.METHOD_NOT_FOUND, "nope")
	}
	for id, is := range map[string]string{
		"null": "null, which JSON-RPC allows and MCP does not", "1.5": "a fraction", "1e3": "an exponent",
		"true": "true or false", "{}": "an object", "[1]": "an array",
		strings.Repeat("9", jsonrpc.MaxNumericID+1): "longer than 64 characters",
	} {
		c.send(call(id, "echo", ""))
		answer := c.next()
		if e := answer.Error; e == nil || string(answer.ID) != "null" || e.Code != mcp.INVALID_REQUEST ||
			!strings.HasPrefix(e.Message, "id must be a string or a whole number, and here it is ") ||
			!strings.Contains(e.Message, is) {
			t.Errorf("a request with the id %s gets %+v, want a refusal that says it is %s", id, answer, is)
		}
	}
	c.wantEnd(nil)
}

func TestDuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, tt := newTestServer(t)
		c := serve(t, srv, Options{})
		c.send(call("9007199254740992", "block", ""), call(`"a"`, "block", ""))
		c.send(call("9007199254740992", "echo", ""))
		c.wantError("9007199254740992", mcp.INVALID_REQUEST, "still in flight")
		c.send(call(`"\u0061"`, "echo", ""))
		c.wantError(`"\u0061"`, mcp.INVALID_REQUEST, "still in flight")
		// Equal as float64, and as text, but not the same ids.
		c.send(call("9007199254740993", "echo", `"text":"x"`))
		c.wantText("9007199254740993", "x")
		c.send(call(`"9007199254740992"`, "echo", `"text":"x"`))
		c.wantText(`"9007199254740992"`, "x")
		c.send(cancelCall("9007199254740993"), cancelCall(`"9007199254740992"`), cancelCall("null"), cancelCall("[[]]"))
		synctest.Wait()
		if tt.cancelled.Load() != 0 {
			t.Fatal("the wrong call was cancelled")
		}
		c.send(cancelCall("9007199254740992"))
		synctest.Wait()
		if tt.cancelled.Load() != 1 {
			t.Fatal("the call was not cancelled")
		}
		c.send(call("9007199254740992", "echo", `"text":"again"`))
		c.wantText("9007199254740992", "again")
		close(tt.release)
		c.wantText(`"a"`, "released")
		c.wantEnd(nil)
	})
}

func TestBadLines(t *testing.T) {
	const limit = 1 << 16
	deep := strings.Repeat("[", 20000)
	for _, tc := range []struct {
		name, line, id string
		code           int
		part           string
	}{
		{"empty", "", "null", mcp.PARSE_ERROR, "empty line"},
		{"blank", " \t \r", "null", mcp.PARSE_ERROR, "empty line"},
		{"malformed", `{"jsonrpc":"2.0","id":1,`, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"text", `hello`, "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"a tab in a string", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + "\t" + `"}}`, "7", mcp.PARSE_ERROR, "not valid JSON"},
		{"a byte that is not UTF-8", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + "\xff" + `"}}`, "7", mcp.PARSE_ERROR, "not valid UTF-8"},
		{"two objects", ping("1") + ping("2"), "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"NUL", "\x00", "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"deep", deep, "null", mcp.PARSE_ERROR, "nested too deeply: at most 10000"},
		{"deep in object", `{"id":7,"method":"x","params":` + deep, "7", mcp.PARSE_ERROR, "nested too deeply: at most 10000"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null", mcp.PARSE_ERROR, "UTF-8"},
		{"batch", "[" + ping("1") + "]", "null", mcp.INVALID_REQUEST, "2025-03-26, and the one in effect is not settled"},
		{"empty batch", "[]", "null", mcp.INVALID_REQUEST, "batches exist only in protocol revision 2025-03-26"},
		{"broken batch", "[" + ping("1"), "null", mcp.PARSE_ERROR, "not valid JSON"},
		{"number", "42", "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"string", `"x"`, "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"null", "null", "null", mcp.INVALID_REQUEST, "not a JSON object"},
		{"no version", `{"id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"wrong version", `{"jsonrpc":"1.0","id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"version of wrong type", `{"jsonrpc":2,"id":5,"method":"ping"}`, "5", mcp.INVALID_REQUEST, "jsonrpc"},
		{"method of wrong type", `{"jsonrpc":"2.0","method":5,"id":"m"}`, `"m"`, mcp.INVALID_REQUEST, "jsonrpc"},
		{"no method", `{"jsonrpc":"2.0","id":5}`, "5", mcp.INVALID_REQUEST, "needs a method"},
		{"request and answer", `{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}`, "5", mcp.INVALID_REQUEST, "both"},
		{"too long", `{"a":"` + strings.Repeat("x", limit) + `"}`, "null", mcp.INVALID_REQUEST, "65536 bytes"},
		{
			"too long, id first", `{"jsonrpc":"2.0","id":"a","method":"x","params":{"id":9,"a":"` + strings.Repeat("x", limit) + `"}}`,
			`"a"`, mcp.INVALID_REQUEST, "65536 bytes",
		},
		{
			"too long, id last", `{"method":"x","params":{"a":"` + strings.Repeat("\\", 3*limit) + `"},"jsonrpc":"2.0","id":7}`,
			"7", mcp.INVALID_REQUEST, "65536 bytes",
		},
		{
			"too long, number first", `{"id":7,"method":"x","params":{"a":"` + strings.Repeat("x", limit) + `"}}`,
			"7", mcp.INVALID_REQUEST, "limits.max_message_bytes",
		},
		{
			"too long, an answer", `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", limit) + `"}`,
			"null", mcp.INVALID_REQUEST, "65536 bytes",
		},
		{"one byte too long", strings.Repeat(" ", limit+1), "null", mcp.INVALID_REQUEST, "65536 bytes"},
		{"longest", strings.Repeat(" ", limit), "null", mcp.PARSE_ERROR, "empty line"},
		{"unknown method", `{"jsonrpc":"2.0","id":5,"method":"x/y"}`, "5", mcp.METHOD_NOT_FOUND, "x/y"},
		{"unknown tool", call("5", "nosuch", ""), "5", mcp.INVALID_PARAMS, "nosuch"},
		{"params of wrong type", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":7}`, "5", mcp.INVALID_REQUEST, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv, _ := newTestServer(t)
			c := serve(t, srv, Options{MaxMessageBytes: limit})
			c.send(tc.line)
			c.wantError(tc.id, tc.code, tc.part)
			c.send(call("6", "echo", `"text":"alive"`))
			c.wantText("6", "alive")
			c.wantEnd(nil)
		})
	}
}

func TestIgnoresAnswersAndUnknownNotifications(t *testing.T) {
	srv, _ := newTestServer(t)
	c := serve(t, srv, Options{})
	c.send(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","method":"notifications/boom"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}`, cancelCall("99"), ping("2")+"\r")
	if a := c.next(); string(a.ID) != "2" || a.Error != nil {
		t.Fatalf("answer after ignored messages = %+v, want the result of request 2", a)
	}
	c.wantEnd(nil)
}

// hugeLine is an input of n bytes without a newline, then one, then tail.
func hugeLine(n int64, tail string) io.Reader {
	return io.MultiReader(io.LimitReader(xs{}, n), strings.NewReader("\n"+tail))
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestHugeLineNeedsBoundedMemory(t *testing.T) {
	srv, _ := newTestServer(t)
	var out bytes.Buffer
	var before, after runtime.MemStats
	const limit = 1 << 20
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := Serve(context.Background(), srv, hugeLine(64<<20, ping("1")), &out, Options{MaxMessageBytes: limit})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	// TotalAlloc counts all that was ever allocated, so it is an upper bound of the memory in use at any time.
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*limit {
		t.Errorf("%d bytes allocated for a line of 64 MiB with a limit of %d", got, limit)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "1048576 bytes") || !strings.Contains(lines[1], `"id":1`) {
		t.Fatalf("output: %q", lines)
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\nb\n", []string{"a", "b"}},
		{"a\r\n\nb", []string{"a\r", "", "b"}},
		{long + "\n" + long, []string{long, long}},
		{long + "x\nb\n", []string{"!", "b"}},
		{long + long + "\n" + long + "x", []string{"!", "!"}},
		{strings.Repeat("z", 32) + "\nb", []string{strings.Repeat("z", 32), "b"}},
	} {
		r := lineReader{br: bufio.NewReaderSize(strings.NewReader(tc.in), 16), max: 100}
		var got []string
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, errLineTooLong) {
				line = []byte("!")
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
}

// A line is the same whether it is longer or shorter than the one before, or broken off, and it keeps no memory of that.
func TestLineReaderExpectsALine(t *testing.T) {
	line := func(size int) string { return strings.Repeat("abcdefgh", size/8+1)[:size] }
	sizes := []int{100, 5000, 5000, 4990, 5010, 20, 200, 20000, 16, 15, 17, 300}
	var in strings.Builder
	for _, size := range sizes {
		in.WriteString(line(size) + "\n")
	}
	r := lineReader{br: bufio.NewReaderSize(strings.NewReader(in.String()), 16), max: 20000}
	for i, size := range sizes {
		got, err := r.next()
		if err != nil || string(got) != line(size) {
			t.Fatalf("line %d: %d bytes, or others; want %d; %v", i, len(got), size, err)
		}
		if size > 100 && cap(got) > 2*size {
			t.Errorf("line %d of %d bytes keeps %d", i, size, cap(got))
		}
	}
}
