package mcpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/term"
)

// numbers prints the numbers from 1 to n, each on a line.
func numbers(n int) string {
	return fmt.Sprintf("i=1; while [ $i -le %d ]; do echo $i; i=$((i+1)); done", n)
}

// lines are the counts of a result with match.
func lines(r mcptest.Reply) string {
	return string(r.Members["matched_lines"]) + " of " + string(r.Members["total_lines"])
}

func TestExecMatch(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	exec := func(args string, values ...any) mcptest.Reply {
		t.Helper()
		return l.OK(mcptest.ExecTool, `{"session_id":"$S",`+fmt.Sprintf(args, values...)+`}`)
	}
	for _, c := range []struct{ name, args, stdout, counts string }{
		{"the middle", `"cmd":"` + numbers(3000) + `","match":"^15(00|50)$"`, "1500\n1550\n", "2 of 3000"},
		{"none", `"cmd":"` + numbers(10) + `","match":"x"`, "", "0 of 10"},
		{"no output", `"cmd":"true","match":"x"`, "", "0 of 0"},
		{"context", `"cmd":"` + numbers(9) + `","match":"^[19]$","context":1`, "1\n2\n--\n8\n9\n", "2 of 9"},
		{"colours", `"cmd":"printf '\\033[31mred\\033[0m\\r\\nblue\\r\\n'","match":"^red$"`, "red\r\n", "1 of 2"},
		{"raw", `"cmd":"printf '\\033[31mred\\033[0m\\r\\nred\\r\\n'","match":"^red$","format":"raw"`, "red\r\n", "1 of 2"},
		{"no line end", `"cmd":"printf 'one\\ntwo'","match":"two"`, "two", "1 of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := exec("%s", c.args)
			if r.Stdout != c.stdout || lines(r) != c.counts || r.ExitCode == nil || *r.ExitCode != 0 || r.Truncated {
				t.Errorf("exec %s = %s; want %q, %s, exit code 0", c.args, r.Text, c.stdout, c.counts)
			}
		})
	}
	if r := exec(`"cmd":"printf 'caf\\351\\ntea\\n'","match":"caf"`); r.Stdout != "Y2Fm6Qo=" || r.StdoutEncoding != "base64" {
		t.Errorf("a line that is not UTF-8 = %s, want it in base64", r.Text)
	}
	if r := exec(`"cmd":"printf 'caf\\351\\ntea\\n'","match":"tea"`); r.Stdout != "tea\n" || r.StdoutEncoding != "" {
		t.Errorf("a line beside one that is not UTF-8 = %s, want text", r.Text)
	}

	// The reason of a failure is there, whatever matches; a long stderr is filtered as stdout is.
	r := exec(`"cmd":"echo good; echo bad >&2; exit 3","match":"g"`)
	if r.Stdout != "good\n" || r.Stderr != "bad\n" || r.ExitCode == nil || *r.ExitCode != 3 || r.Members["stderr_total_lines"] != nil {
		t.Errorf("a short stderr = %s, want all of it and exit code 3", r.Text)
	}
	r = exec(`"cmd":"%s >&2; exit 3","match":"^15(00|50)$"`, numbers(3000))
	if r.Stdout != "" || r.Stderr != "1500\n1550\n" || lines(r) != "0 of 0" || *r.ExitCode != 3 ||
		string(r.Members["stderr_matched_lines"]) != "2" || string(r.Members["stderr_total_lines"]) != "3000" {
		t.Errorf("a long stderr = %s, want two lines of 3000", r.Text)
	}

	// The lines left out are there for other questions, and the command is not run again.
	r = exec(`"cmd":"%s","match":"^77$"`, numbers(100))
	if r.ExecID == "" {
		t.Fatalf("exec with match = %s, want an exec_id for the other lines", r.Text)
	}
	m := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","match":"^[89]8$"}`)
	if m.Chunk != "88\n98\n" || lines(m) != "2 of 100" || !m.EOF {
		t.Errorf("read of the same output = %s, want 88 and 98 of 100 lines", m.Text)
	}
	m = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","max_bytes":6}`)
	if m.Chunk != "1\n2\n3\n" {
		t.Errorf("read of the same output without match = %s, want its beginning", m.Text)
	}
	if r = exec(`"cmd":"%s","match":""`, numbers(3)); r.Stdout != "1\n2\n3\n" || r.Members["matched_lines"] != nil {
		t.Errorf("an empty match = %s, want all output and no counts", r.Text)
	}

	for args, parts := range map[string][]string{
		`"cmd":"ls","context":2`:              {"context", "match"},
		`"cmd":"ls","match":"("`:              {"match", "RE2"},
		`"cmd":"ls","match":"(x{99}){99}"`:    {"match", "repeat"},
		`"cmd":"ls","match":"x","context":51`: {"context", "50"},
	} {
		l.Fails(mcptest.ExecTool, `{"session_id":"$S",`+args+`}`, term.InvalidArgument, parts...)
	}
}

// Lines that match beyond max_output_bytes are counted, and a call with exec_id goes on with them.
func TestExecMatchGoesOn(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"`+numbers(200)+`","match":"0$","max_output_bytes":40}`)
	want := "10\n20\n30\n40\n50\n60\n70\n80\n90\n100\n110\n120\n[... 8 of 20 matching lines left out ...]\n"
	if r.Stdout != want || lines(r) != "20 of 200" || !r.Truncated || r.StdoutOmitted == nil || r.StdoutOmitted.At != 39 {
		t.Fatalf("exec with match and room for 40 bytes = %s; want %q", r.Text, want)
	}
	m := l.OK(mcptest.IOTool,
		`{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","match":"0$","cursor":"`+r.StdoutOmitted.Cursor+`"}`)
	if m.Chunk != "130\n140\n150\n160\n170\n180\n190\n200\n" || lines(m) != "8 of 71" {
		t.Errorf("read from where exec was cut = %s, want the other 8", m.Text)
	}
	around := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"`+numbers(99)+`","match":"^5$","context":9,"max_output_bytes":20}`)
	if around.Stdout != "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n[... lines around the last match left out ...]\n" &&
		around.Stdout != "1\n2\n3\n4\n5\n6\n7\n8\n9\n[... lines around the last match left out ...]\n" {
		t.Errorf("a match with more context than there is room for = %s", around.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`","max_output_bytes":1000}`)
	if r.Stdout != m.Chunk || lines(r) != "8 of 71" || r.Truncated {
		t.Errorf("exec with exec_id = %s, want %q", r.Text, m.Chunk)
	}
}

// While a command runs, match sees whole lines; each result has the new ones.
func TestExecMatchWhileRunning(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	r := l.OK(mcptest.ExecTool,
		`{"session_id":"$S","cmd":"echo a1; echo b1; printf a2; sleep 2; echo 2; printf a3","match":"^a","wait_ms":1000}`)
	if r.DoneReason != "running" || r.Stdout != "a1\n" || lines(r) != "1 of 2" {
		t.Fatalf("exec = %s, want a1, and the unfinished line left for later", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`"}`)
	if r.DoneReason != "exit_status" || r.Stdout != "a22\na3" || lines(r) != "2 of 2" {
		t.Errorf("its end = %s, want a22 and a3", r.Text)
	}
	// So does a cancel, and another match counts from then on.
	const cmd = `"cmd":"echo b1; echo a1; sleep 1; echo b2; echo a2; sleep 60","match":"^a","wait_ms":0`
	id := l.OK(mcptest.ExecTool, `{"session_id":"$S",`+cmd+`}`).ExecID
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+id+`","until_regex":"^a2","timeout_ms":10000}`)
	if r.Chunk != "b1\na1\nb2\na2" {
		t.Errorf("a read = %s, want all lines", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+id+`","cancel":true}`)
	if r.Stdout != "a1\na2\n" || lines(r) != "2 of 4" {
		t.Errorf("cancel = %s, want a1 and a2", r.Text)
	}
}

// In the terminal, match sees the lines that a person does, and the facts about the command stay.
func TestExecMatchInTerminal(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	const exec = `{"session_id":"$S","lane":"terminal","cmd":"`
	r := l.OK(mcptest.ExecTool, exec+`seq 3000 3999; printf '\\033[31mred\\033[0m\\n10%%\\r20%%\\n'; false","match":"^(red|20%|3500)$"}`)
	if r.Stdout != "3500\nred\n20%\n" || lines(r) != "3 of 1002" || r.ExitCode == nil || *r.ExitCode != 1 {
		t.Errorf("exec in the terminal = %s; want 3500, red and 20%%, exit code 1", r.Text)
	}
	r = l.OK(mcptest.ExecTool, exec+`echo one; read -p 'Sure? [y/N] ' x; echo got $x","match":"got","timeout_ms":20000}`)
	if r.DoneReason != "running" || r.Members["waiting_for"] == nil || r.Stdout != "" || lines(r) != "0 of 1" {
		t.Fatalf("a command that asks = %s; want waiting_for, and none of 1 line", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"y\r"}`)
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`","match":"got"}`)
	if !strings.HasSuffix(r.Stdout, "got y\n") || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("its end = %s; want got y", r.Text)
	}
}

// A read with match returns those lines of its chunk, and the cursor behind all of it.
func TestReadMatch(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	w := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"seq 5000; echo do''ne\r"}`)
	read := func(args string) mcptest.Reply {
		t.Helper()
		return l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","timeout_ms":10000,`+args+`}`)
	}
	r := read(`"cursor":"` + w.Cursor + `","until_regex":"^done$","match":"^(2500|4999|done)$","context":1`)
	if !r.Matched || r.Chunk != "2499\n2500\n2501\n--\n4998\n4999\n5000\ndone" || lines(r) != "3 of 5002" {
		t.Errorf("read until done with match = %s; want three lines and their neighbours", r.Text)
	}
	all := read(`"cursor":"` + w.Cursor + `","until_regex":"^done$","max_bytes":100000`)
	if all.NextCursor != r.NextCursor {
		t.Errorf("next_cursor = %s with match, %s without", r.NextCursor, all.NextCursor)
	}
	r = read(`"cursor":"` + w.Cursor + `","until_regex":"^done$","match":"00$","max_bytes":40`)
	if r.Matched || r.Chunk != "100\n200\n300\n400\n500\n600\n700\n800\n900\n" || !strings.Contains(r.Text, `"full":true`) {
		t.Errorf("read with room for 40 bytes = %s, want the first matches, and full", r.Text)
	}
	rest := read(`"cursor":"` + r.NextCursor + `","until_regex":"^done$","match":"00$"`)
	if !rest.Matched || !strings.HasPrefix(rest.Chunk, "1000\n1100\n") || lines(rest) != "41 of 4002" {
		t.Errorf("the rest = %s, want 41 matches from 1000 on", rest.Text)
	}
	if r = read(`"mode":"tail","max_lines":3,"match":"done"`); r.Chunk != "done\n" || lines(r) != "1 of 3" {
		t.Errorf("the tail = %s, want done of 3 lines", r.Text)
	}
	l.Fails(mcptest.IOTool, `{"action":"read","session_id":"$S","context":2}`, term.InvalidArgument, "context", "match")
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"x","match":"x"}`, term.InvalidArgument, "match")
}
