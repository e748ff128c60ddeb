package local

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestReadAfterTheEnd reads a terminal that has ended, without a cursor: nothing new comes, and the warning names the
// cursor with which the output is read.
func TestReadAfterTheEnd(t *testing.T) {
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"echo", "the output"}, "")
	c.AwaitEnd(t, id)
	r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s}`, id)
	if r.Chunk != "" || !r.EOF || !strings.Contains(r.Text, `cursor \"0\"`) || !strings.Contains(r.Text, "tail") {
		t.Errorf("read without a cursor = %s, want the end and a warning that names cursor 0", r.Text)
	}
	for _, more := range []string{`"cursor":"0"`, `"mode":"tail"`} {
		r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,`+more+`}`, id)
		if lines(r) != "the output\n" || strings.Contains(r.Text, "from now on") {
			t.Errorf("read with %s = %s, want the output and no warning", more, r.Text)
		}
	}
	silent := c.OpenLocal(t, []string{"true"}, "")
	c.AwaitEnd(t, silent)
	if r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s}`, silent); strings.Contains(r.Text, "from now on") {
		t.Errorf("read of a terminal without output = %s, want no warning", r.Text)
	}
}

// TestWriteWithoutEcho types lines into a terminal that does not echo, for a program that repeats its input: the output
// looks like an echo. The warning says so, nothing is lost, and include_echo makes it match.
func TestWriteWithoutEcho(t *testing.T) {
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"sh", "-c", "stty -echo; echo ready; cat"}, "")
	c.Expect(t, id, `ready`)
	const call = `{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":1500`
	r := c.Call(t, lab.ToolIO, call+`}`, id, "hello\r", "hello")
	if r.Matched || !strings.Contains(lines(r), "hello\n") || !strings.Contains(r.Text, "include_echo") {
		t.Errorf("write = %s, want no match, the output, and a warning that names include_echo", r.Text)
	}
	r = c.Call(t, lab.ToolIO, call+`,"include_echo":true}`, id, "again\r", "again")
	if !r.Matched || !strings.Contains(r.Chunk, "again") || strings.Contains(r.Text, "warnings") {
		t.Errorf("write with include_echo = %s, want a match without a warning", r.Text)
	}
	r = c.Call(t, lab.ToolIO, call+`}`, id, "one\rtwo\r", "three")
	if r.Matched || strings.Contains(r.Text, "include_echo") || !strings.Contains(lines(r), "one\ntwo\n") {
		t.Errorf("write of another text = %s, want its output and no warning", r.Text)
	}
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	if got := lines(r); got != "ready\nhello\nagain\none\ntwo\n" {
		t.Errorf("all of the output = %q, want each line once", got)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_d"}`, id)
	c.AwaitEnd(t, id)
}

// lines returns the chunk with LF as the line end.
func lines(r lab.Result) string { return strings.ReplaceAll(r.Chunk, "\r\n", "\n") }
