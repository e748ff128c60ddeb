package local

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestLocalNestedShellEnds starts a shell with an exec and leaves it, with an exec and by hand: the exec that started
// it ends with its status, and no output holds a marker.
func TestLocalNestedShellEnds(t *testing.T) {
	c := lab.ConnectLocal(t)
	for _, inner := range []string{"bash --norc", "zsh -f", "fish --no-config", "dash"} {
		for _, byHand := range []bool{false, true} {
			id := c.OpenLocal(t, []string{"bash", "--norc"}, "")
			c.Expect(t, id, `[$#] $`)
			first := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, inner)
			if first.WaitingFor.Kind != "prompt" {
				t.Errorf("exec of %q = %s, want it waiting for a prompt", inner, first.Text)
				continue
			}
			in := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo in"}`, id)
			if in.Stdout != "in\n" || in.DoneReason != "marker_seen" {
				t.Errorf("exec in %q = %s, want in", inner, in.Text)
			}
			if byHand {
				c.Enter(t, id, "exit 5\r", `RC_\w+=5`)
			} else {
				r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"exit 5"}`, id)
				if strings.Contains(r.Stdout, "RC") || r.DoneReason != "prompt_seen" {
					t.Errorf("exit 5 in %q = %s, want prompt_seen and no marker", inner, r.Text)
				}
			}
			after := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"(exit 3)"}`, id)
			if !lab.IsCode(after.ExitCode, 3) || after.Stdout != "" {
				t.Errorf("exec after %q = %s, want exit code 3 and no output", inner, after.Text)
			}
			end := c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, first.ExecID)
			if !lab.IsCode(end.ExitCode, 5) || end.DoneReason != "marker_seen" || strings.Contains(end.Stdout, "RC") {
				t.Errorf("the end of %q = %s, want exit code 5 and marker_seen", inner, end.Text)
			}
			c.Close(t, id)
		}
	}
}

// TestLocalImitatedPrompt has programs in front that imitate a shell's prompt: nothing is typed into them.
func TestLocalImitatedPrompt(t *testing.T) {
	c := lab.ConnectLocal(t)
	for _, show := range []string{`printf 'bash-5.2# '`, `printf '\e]133;A\a> \e]133;B\a'`} {
		id := c.OpenLocal(t, []string{"bash", "--norc"}, "")
		c.Expect(t, id, `[$#] $`)
		line, _ := json.Marshal(show + "; cat\r")
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":`+string(line)+`}`, id)
		c.Expect(t, id, `; cat\n.*[#>] $`)
		lab.Eventually(t, "cat in front", func() bool {
			return slices.ContainsFunc(lab.Descendants(t, c.PID), func(p lab.Process) bool {
				return strings.TrimSpace(p.Command) == "cat"
			})
		})
		c.Refused(t, "BUSY", lab.ToolExec, `{"session_id":%s,"cmd":"echo b"}`, id)
		c.Close(t, id)
	}
	id := c.OpenLocal(t, []string{"bash", "--norc"}, `,"env":["PS1=bash-5.2# "]`)
	c.Expect(t, id, `# $`)
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"printf 'bash-5.2# '; sleep 1; echo; (exit 4)"}`, id)
	if !lab.IsCode(r.ExitCode, 4) || r.Stdout != "bash-5.2# \n" {
		t.Errorf("exec with a line like a prompt = %s, want exit code 4", r.Text)
	}
	c.Close(t, id)
}
