package telnet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// prefixLists is a configuration of n lines, and those that begin and end it.
func prefixLists(n int) string {
	var b strings.Builder
	b.WriteString("configure terminal\n")
	for i := range n {
		fmt.Fprintf(&b, "ip prefix-list p seq %d permit 10.%d.%d.0/24\n", i+1, i/256, i%256)
	}
	b.WriteString("end\n")
	return b.String()
}

// TestPasteOverMCP gives a router 100 lines through the built program, and reads them by a second session.
func TestPasteOverMCP(t *testing.T) {
	t.Parallel()
	s := lab.StartRouter(t)
	c := lab.HomeFor(t, nil).Connect(t, "--toolsets", "core,device")
	id := enabledRouter(t, c, s)
	// The call returns at once; the lines go on.
	r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":%s,"timeout_ms":1}`, id, prefixLists(100))
	if r.DoneReason != "running" || !strings.Contains(r.Text, "one of the lines between XFRR_start_configuration") {
		t.Errorf("100 lines that take longer than the call: %s, want that they go on, and how they would be one transaction", r.Text)
	}
	for r.DoneReason == "running" {
		r = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, r.ExecID)
	}
	if want := `"pasted":{"lines":102,"taken":102}`; !strings.Contains(r.Text, want) {
		t.Errorf("the lines ended with %s, want %s", r.Text, want)
	}
	second := enabledRouter(t, c, s)
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"show running-config"}`, second)
	if got, want := strings.Count(r.Stdout, "ip prefix-list p seq"), 100; got != want {
		t.Errorf("a second session sees %d of the lines, want %d: %s", got, want, r.Stdout)
	}
	// Text that cannot be typed is refused with the argument's own name.
	for _, tt := range [][2]string{{`\n\n`, "blank lines alone"}, {`banner motd #\nno end`, "line 1"}} {
		r = c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"lines":"`+tt[0]+`"}`, id)
		if !strings.Contains(r.Text, tt[1]) || !strings.Contains(r.Text, `"field":"lines"`) {
			t.Errorf("lines %s are refused with %s, want %q and the field lines", tt[0], r.Text, tt[1])
		}
	}
	// Lines under way are canceled by their command. Meanwhile another write waits no longer than it says.
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":"show version\nshow version","timeout_ms":1,`+
		`"pace":{"line_delay_ms":600000}}`, id)
	exec := r.ExecID
	began := time.Now()
	c.Refused(t, "BUSY", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x","timeout_ms":50}`, id)
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("a write with timeout_ms 50 has waited %v for lines under way, want it to give up before the 10 s of one without", took)
	}
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s,"cancel":true}`, id, exec)
	if r.DoneReason != "stopped" || !strings.Contains(r.Text, `"stopped":"canceled"`) {
		t.Errorf("lines that were canceled: %s, want stopped, and canceled", r.Text)
	}
	// One that is wrong stops the rest.
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":"show version\nconfigure terminal\nnonsense\nhostname r9\nend"}`, id)
	for _, part := range []string{`"taken":3`, `"stopped":"error"`, `"stopped_at":3`, `"line":"nonsense"`, `% Unknown command: nonsense`} {
		if !strings.Contains(strings.ReplaceAll(r.Text, "[BGP] ", ""), part) {
			t.Errorf("a line that is wrong: %s, want %s in it", r.Text, part)
		}
	}
	// So does one that is well formed and cannot be.
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":"ip prefix-list q permit 192.0.2.0/24 ge 8\nhostname r9\nend"}`, id)
	for _, part := range []string{`"stopped":"error"`, `"stopped_at":1`, `% Configuration failed.`} {
		if !strings.Contains(r.Text, part) {
			t.Errorf("a line that is refused as a whole: %s, want %s in it", r.Text, part)
		}
	}
	// Several lines by exec are typed in the same way.
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"end\nshow running-config\nshow nonsense\nshow version"}`, id)
	if r.DoneReason != "stopped" || !strings.Contains(r.Stdout, "hostname r1") || strings.Contains(r.Stdout, "FRRouting 8") ||
		!strings.Contains(r.Text, `"stopped_at":3`) {
		t.Errorf("four lines, of which the third is wrong: %s", r.Text)
	}
}

// TestPasteTransaction types lines that the router makes one transaction of. The result is true: a line that no router
// knows stops the rest, and the end of the configuration mode keeps those before it; a line that cannot be discards
// all, with an answer that names them.
func TestPasteTransaction(t *testing.T) {
	t.Parallel()
	s := lab.StartRouter(t)
	c := lab.HomeFor(t, nil).Connect(t, "--toolsets", "core,device")
	id := enabledRouter(t, c, s)
	r := c.Call(t, lab.ToolConfig, `{"action":"get","session_id":%s}`, id)
	var got struct {
		Batch struct{ Begin, End, Note string }
	}
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || !strings.Contains(got.Batch.Note, "discarded") {
		t.Fatalf("config get = %s (%v), want the two lines of a transaction", r.Text, err)
	}
	paste := func(lines ...string) lab.Result {
		t.Helper()
		all := slices.Concat([]string{"configure terminal", got.Batch.Begin}, lines)
		return c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":%s}`, id, strings.Join(all, "\n"))
	}
	list := func(name string, i int) string {
		return fmt.Sprintf("ip prefix-list %s seq %d permit 10.0.%d.0/24", name, i, i)
	}
	// shows compares the numbers of a list.
	shows := func(name, want string) {
		t.Helper()
		r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, "show ip prefix-list "+name)
		var has []string
		for line := range strings.SplitSeq(r.Stdout, "\n") {
			if _, after, found := strings.Cut(line, "seq "); found {
				has = append(has, strings.Fields(after)[0])
			}
		}
		if got := strings.Join(has, " "); got != want {
			t.Errorf("the router's list %s has the numbers %q, want %q: %s", name, got, want, r.Text)
		}
	}
	r = paste(list("a", 1), "bogus", list("a", 2))
	if !strings.Contains(r.Text, `"stopped":"error","stopped_at":4`) {
		t.Errorf("a line that the router does not know: %s, want that it stops the rest", r.Text)
	}
	c.Enter(t, id, "end\r", `r1# $`)
	shows("a", "1")
	r = paste(list("b", 1), "ip prefix-list b seq 2 permit 10.0.0.0/24 ge 8", list("b", 3), got.Batch.End, "end")
	if !strings.Contains(r.Text, `"stopped":"error","stopped_at":6`) || !strings.Contains(r.Text, list("b", 3)) {
		t.Errorf("a line that cannot be: %s, want that the end of the transaction is refused, and names its lines", r.Text)
	}
	c.Enter(t, id, "end\r", `r1# $`)
	shows("b", "")
	if r = paste(list("c", 1), list("c", 2), got.Batch.End, "end"); !strings.Contains(r.Text, `"taken":6`) {
		t.Errorf("a transaction: %s, want 6 lines taken", r.Text)
	}
	shows("c", "1 2")
}

// enabledRouter opens a session of a router, and gives it the right to change it.
func enabledRouter(t *testing.T, c *lab.Client, s *lab.TelnetServer) string {
	t.Helper()
	id, _ := c.OpenTelnet(t, s, `,"expect":{"profile":"frr"}`)
	for _, step := range []struct{ typed, until string }{
		{s.Password, `r1> $`}, {"enable", `Password: $`}, {s.Enable, `r1# $`},
		{"terminal length 0", `r1# $`},
	} {
		secret := ""
		if strings.HasSuffix(step.typed, "-1138") {
			secret = `,"sensitive":true`
		}
		r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":20000`+secret+`}`,
			id, step.typed+"\r", step.until)
		if !r.Matched {
			t.Fatalf("the router shows %s, want %q", r.Text, step.until)
		}
	}
	return id
}
