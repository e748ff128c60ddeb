package secret

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// Sixty values are given at logins, terminals and commands. None is shown in nine forms: in results and errors of both
// lanes, in questions, logs, records, /proc and the account of a crash; there is no core file. For the watch page see
// integration/watch.
func TestSixtyPlantedValues(t *testing.T) {
	p := lab.Plant(t)
	c := p.Connect(t)
	hidden := func(what string, r lab.Result) {
		t.Helper()
		lab.WantHidden(t, what, r.Text, p.Values...)
	}
	try := func(what, tool, arguments string, values ...any) lab.Result {
		t.Helper()
		r, err := c.Try(t.Context(), tool, arguments, values...)
		if err != nil {
			t.Fatal(err)
		}
		hidden(what, r)
		return r
	}

	// Logins, and the output of web1 afterwards.
	r := c.Call(t, lab.ToolExec, `{"host":"web1","cmd":%s,"max_output_bytes":65536}`, "cat "+p.All)
	if n := strings.Count(r.Stdout, "********"); n < len(p.Values) {
		t.Errorf("of the forms of %d values, %d are masked: %s", len(p.Values), n, r.Text)
	}
	hidden("the output of a command", r)
	web1 := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`).SessionID
	c.Enter(t, web1, "cat "+p.All+"; echo e''nd\r", "end")
	hidden("the terminal", c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","max_bytes":65536}`, web1))
	hidden("the screen", c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, web1))
	r = try("the search", lab.ToolIO, `{"action":"search","session_id":%s,"pattern":"1138|8311|planted"}`, web1)

	// Questions of a login that repeat answers, and its error.
	r = try("a question", lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web2"}`)
	id := r.SessionID
	status := func() lab.Result {
		lab.Eventually(t, "the login asks, or is over", func() bool {
			r = try("the status of a login", lab.ToolSession, `{"action":"status","session_id":%s}`, id)
			return r.Prompt != nil || r.State != "authenticating"
		})
		return r
	}
	for asked := 0; status().State == "authenticating" && asked < 3; asked++ {
		if r.Prompt == nil || !strings.Contains(r.Prompt.Text, "You have said ********?") {
			t.Fatalf("the login gives %s, want a question with a mask", r.Text)
		}
		try("the next question", lab.ToolIO, `{"action":"write","session_id":%s,"data":"right-1138\r"}`, id)
	}
	if r.State != "error" {
		t.Errorf("the login that always fails gives %s, want the state error", r.Text)
	}

	// Terminals and commands of this machine.
	const loop = `for i; do IFS= read -r -s -p "L$i: " x; echo; echo "got$i=${#x}"; done; exec cat "$0"`
	argv := []string{"bash", "--norc", "-c", loop, p.All}
	for i, v := range p.Values {
		if i%3 == 0 {
			argv = append(argv, fmt.Sprint(i))
			continue
		}
		r = try("a program that reads a secret", "ptyctl_run", `{"argv":[%s],"stdin_secret":%s}`, p.Reader, fmt.Sprintf("q%d", i))
		if !strings.Contains(r.Stdout, fmt.Sprintf("got=%d ", len([]rune(v)))) || !strings.Contains(r.Stderr, "********") {
			t.Fatalf("the program that reads secret %d gives %s, want its length and an error with a mask", i, r.Text)
		}
	}
	local := c.OpenLocal(t, argv, "")
	for i := 0; i < len(p.Values); i += 3 {
		c.Expect(t, local, fmt.Sprintf(`L%d: $`, i))
		r = try("a write", lab.ToolIO, `{"action":"write","session_id":%s,"secret":%s,"until_regex":%s}`, local,
			fmt.Sprintf("q%d", i), fmt.Sprintf(`got%d=\d+`, i))
		if !r.Matched {
			t.Fatalf("secret %d in a terminal gives %s", i, r.Text)
		}
		if i%20 == 0 {
			p.Proc.Look(t)
		}
	}
	hidden("a terminal of this machine", c.AwaitEnd(t, local))
	try("a program", "ptyctl_run", `{"argv":["cat",%s],"max_output_bytes":65536}`, p.All)

	// Errors of hosts and programs. Text that a caller itself has written is repeated to it as it is: a mask would answer
	// guesses.
	for _, v := range p.Values[:6] {
		for what, call := range map[string][]any{
			"the error of a secret by its value": {lab.ToolIO, `{"action":"write","session_id":%s,"secret":%s}`, web1, v},
			"the error of a program":             {"ptyctl_run", `{"argv":[%s]}`, "/nowhere/" + v + "/program"},
			"the error of a folder":              {"ptyctl_run", `{"argv":["true"],"cwd":%s}`, "/nowhere/" + v},
			"the error of a command":             {lab.ToolExec, `{"session_id":%s,"cmd":%s}`, web1, "ls '/nowhere/" + v + "'"},
		} {
			try(what, call[0].(string), call[1].(string), call[2:]...)
		}
	}
	try("the secrets", lab.ToolSession, `{"action":"secrets"}`)
	try("the sessions", lab.ToolSession, `{"action":"list"}`)

	// A crash while all values are known.
	probe := exec.Command("/bin/sh", "-c", "ulimit -c unlimited; kill -ABRT $$")
	probe.Dir = t.TempDir()
	_ = probe.Run()
	if !probe.ProcessState.Sys().(syscall.WaitStatus).CoreDump() {
		t.Log("this machine writes no core file for a shell either")
	}
	c.Killed = true
	_ = system.Kill(c.PID, syscall.SIGABRT)
	<-c.Ended
	if s := c.Cmd.ProcessState.Sys().(syscall.WaitStatus); s.CoreDump() || s.Signal() != syscall.SIGABRT {
		t.Errorf("after SIGABRT the status of ptyctl is %v (core dumped: %v), want the signal and no core file", s, s.CoreDump())
	}
	if cores, _ := filepath.Glob(p.Dir + "/core*"); len(cores) > 0 {
		t.Errorf("the crash has left %v", cores)
	}
	if !strings.Contains(c.Log.String(), "goroutine ") {
		t.Error("the crash has told of no goroutine: the search of its account means nothing")
	}
	lab.WantHidden(t, "standard output", c.Seen.String(), p.Values...)
	lab.WantHidden(t, "the log", c.Log.String(), p.Values...)
	if n := lab.WantFilesHidden(t, p.Dir, func(path string) bool { return p.Given[path] }, p.Values...); n < 100_000 {
		t.Errorf("the files of ptyctl have %d bytes: recordings are missing", n)
	}
	p.WantProcHidden(t)
}
