package local

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// r2Tools are the lines of a configuration that has the test's own binary as the program of the tool set r2.
func r2Tools(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"[toolsets.r2]", fmt.Sprintf("program = %q", self)}
}

// callR2 calls a tool of the set; %s in the arguments is replaced by values, as JSON.
func callR2(t *testing.T, c *lab.Client, tool, arguments string, values ...any) (text string, failed bool) {
	t.Helper()
	for i, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		values[i] = b
	}
	a, err := c.CallTool(t.Context(), tool, json.RawMessage(fmt.Sprintf(arguments, values...)))
	if err != nil {
		t.Fatal(err)
	}
	return a.Content[0].Text, a.IsError
}

// openR2 opens a file with the program, and returns its session.
func openR2(t *testing.T, c *lab.Client, file string) string {
	t.Helper()
	text, failed := callR2(t, c, "r2_open", `{"file":%s}`, file)
	var out struct {
		SessionID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(text), &out); failed || err != nil || out.SessionID == "" {
		t.Fatalf("r2_open = %s, %v", text, err)
	}
	return out.SessionID
}

// TestR2 has the built program run one that speaks the pipe protocol of radare2: off by default, with commands as writes in
// the audit log that has not their text, and sessions that the other tools know.
func TestR2(t *testing.T) {
	names := func(c *lab.Client) (all []string) {
		list, err := c.Session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			all = append(all, tool.Name)
		}
		return all
	}
	if all := names(lab.NewHome(t).Connect(t)); slices.Contains(all, "r2_open") {
		t.Errorf("r2_open is offered unasked: %v", all)
	}
	h := lab.NewHome(t, r2Tools(t)...)
	c := h.Connect(t, "--toolsets", "core,r2")
	if all := names(c); len(all) != 8 || !slices.Contains(all, "r2_cmdj") {
		t.Fatalf("the tools are %v, want those of core and r2", all)
	}
	id := openR2(t, c, "sample")
	if text, failed := callR2(t, c, "r2_cmd", `{"session_id":%s,"cmd":"say 1138-typed"}`, id); failed || !strings.Contains(text, `1138-typed\n`) {
		t.Errorf("r2_cmd = %s, want what it prints", text)
	}
	if text, failed := callR2(t, c, "r2_cmdj", `{"session_id":%s,"cmd":"ij"}`, id); failed || !strings.Contains(text, `"json":{"argv":["-q0"`) {
		t.Errorf("r2_cmdj = %s, want its JSON", text)
	}
	if text, failed := callR2(t, c, "r2_cmd", `{"session_id":%s,"cmd":"!id"}`, id); !failed || !strings.Contains(text, "INVALID_ARGUMENT") {
		t.Errorf("r2_cmd !id = %s, want a refusal", text)
	}
	other := c.OpenLocal(t, []string{"cat"}, "")
	if text, failed := callR2(t, c, "r2_cmd", `{"session_id":%s,"cmd":"ij"}`, other); !failed || !strings.Contains(text, "NOT_FOUND") {
		t.Errorf("r2_cmd on a session of other tools = %s, want NOT_FOUND", text)
	}
	if text, failed := callR2(t, c, "r2_close", `{"session_id":%s}`, id); failed {
		t.Errorf("r2_close = %s", text)
	}
	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, e := range lab.AuditLines(t, h.Audit, "write") {
		if e.Session == id {
			writes++
		}
	}
	if writes != 2 || strings.Contains(string(log), "1138-typed") {
		t.Errorf("the audit log has %d writes, want 2, and not what was typed:\n%s", writes, log)
	}
}

// TestR2Judged: the operator's rules judge the program by its arguments, and where they judge commands, its own commands are
// typed input, which nothing can judge.
func TestR2Judged(t *testing.T) {
	lines := r2Tools(t)
	self := strings.TrimSuffix(strings.TrimPrefix(lines[1], `program = "`), `"`)
	denied := lab.NewHome(t, append(lines, "[policy]", `allow = ["uname *"]`)...).Connect(t, "--toolsets", "core,r2")
	if text, failed := callR2(t, denied, "r2_open", `{"file":"sample"}`); !failed || !strings.Contains(text, "POLICY_DENIED") {
		t.Errorf("r2_open beside rules that do not allow it = %s, want POLICY_DENIED", text)
	}
	allow := fmt.Sprintf("allow = [%q]", self+" *")
	ruled := lab.NewHome(t, append(r2Tools(t), "[policy]", allow)...).Connect(t, "--toolsets", "core,r2")
	id := openR2(t, ruled, "sample")
	if text, failed := callR2(t, ruled, "r2_cmd", `{"session_id":%s,"cmd":"ij"}`, id); !failed || !strings.Contains(text, "POLICY_DENIED") {
		t.Errorf("r2_cmd beside rules for commands = %s, want POLICY_DENIED", text)
	}
	typing := lab.NewHome(t, append(r2Tools(t), "[policy]", allow, `typing = "allow"`)...).Connect(t, "--toolsets", "core,r2")
	id = openR2(t, typing, "sample")
	if text, failed := callR2(t, typing, "r2_cmd", `{"session_id":%s,"cmd":"ij"}`, id); failed {
		t.Errorf("r2_cmd where typing is allowed = %s, want its answer", text)
	}
}

// TestR2Killed kills ptyctl itself: the program and the processes that it has started end.
func TestR2Killed(t *testing.T) {
	h := lab.NewHome(t, r2Tools(t)...)
	p := h.Start(t, "--toolsets", "core,r2")
	c := p.ShakeHands(t, nil)
	mark := fmt.Sprint("r2-killed-", os.Getpid())
	id := openR2(t, c, mark)
	seconds := fmt.Sprint("1000.", os.Getpid())
	if text, failed := callR2(t, c, "r2_cmd", `{"session_id":%s,"cmd":%s}`, id, "child "+fmt.Sprint(os.Getpid())); failed {
		t.Fatal(text)
	}
	running := func() []lab.Process {
		return slices.DeleteFunc(lab.Processes(t), func(p lab.Process) bool {
			return !strings.HasSuffix(p.Command, mark) && !strings.Contains(p.Command, "sleep "+seconds)
		})
	}
	lab.Eventually(t, "the program and its child", func() bool { return len(running()) == 2 })
	if fromDaemon := p.Cmd.Process.Pid != p.PID; fromDaemon {
		p.Killed, h.Recordings = true, ""
		lab.Kill(t, []lab.Process{{PID: p.PID}})
	} else {
		p.Kill()
	}
	lab.Eventually(t, "the end of both", func() bool { return len(running()) == 0 })
}
