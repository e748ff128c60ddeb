package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestProgramsAreThoseJudged checks policy.programs through the built program: no variable of a call may make an
// allowed name mean another program, and ptyctl must start the file behind a link.
func TestProgramsAreThoseJudged(t *testing.T) {
	dir := t.TempDir()
	canary := filepath.Join(dir, "canary")
	evil := filepath.Join(dir, "evil")
	if err := os.Mkdir(evil, 0o700); err != nil {
		t.Fatal(err)
	}
	script := []byte("#!/bin/sh\ntouch " + canary + "\n")
	if err := os.WriteFile(filepath.Join(evil, "uname"), script, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, "rc"), []byte("touch "+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t, "[policy]\nprograms = ['/usr/bin', '/bin']")
	c := h.Connect(t)
	quoted := func(env ...string) string {
		text, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, env := range []string{
		quoted("PATH=" + evil + ":/usr/bin"), quoted("LD_PRELOAD=" + evil + "/uname"), quoted("LD_AUDIT=" + evil + "/uname"),
		quoted("BASH_ENV=" + evil + "/rc"), quoted("GREETING=hello", "PATH="+evil),
	} {
		for _, call := range []struct{ tool, arguments string }{
			{lab.ToolRun, `{"argv":["uname"],"env":` + env + `}`},
			{lab.ToolRun, `{"argv":["bash","-c","uname"],"env":` + env + `}`},
			{lab.ToolSession, `{"action":"open","protocol":"local","argv":["bash","-c","uname; read x"],"env":` + env + `}`},
		} {
			r := c.Refused(t, "POLICY_DENIED", call.tool, call.arguments)
			if !strings.Contains(r.Message, "policy.programs") {
				t.Errorf("%s: the message %q does not name the rule", call.arguments, r.Message)
			}
		}
	}
	if r := c.Call(t, lab.ToolRun, `{"argv":["uname"],"env":`+quoted("GREETING=hello")+`}`); strings.TrimSpace(
		r.Stdout,
	) != "Linux" &&
		strings.TrimSpace(r.Stdout) != "Darwin" {
		t.Errorf("uname says %s", r.Text)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program that no rule allows was run")
	}
}
