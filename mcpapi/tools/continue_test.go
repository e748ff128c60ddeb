package tools_test

import (
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
)

// A request is kept within the operator's limits, and a result has the time that the command still has.
func TestExecContinueLimits(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{
		MaxWait: time.Second, MaxExecTimeout: time.Hour, UnattendedExec: 2 * time.Hour,
	}}})
	l.Open("")
	for _, step := range []struct {
		name, args  string
		least, most time.Duration
		warnings    []string
	}{
		{"start", `"cmd":"sleep 1000","wait_ms":0`, 59 * time.Minute, time.Hour, nil},
		{"a longer wait", `"exec_id":"$X","wait_ms":1001`, 59 * time.Minute, time.Hour, []string{"wait_ms was lowered to 1s"}},
		{"a new deadline", `"exec_id":"$X","wait_ms":0,"timeout_ms":1800000`, 29 * time.Minute, 30 * time.Minute, nil},
		{
			"a longer deadline", `"exec_id":"$X","wait_ms":0,"timeout_ms":3600001`, 59 * time.Minute, time.Hour,
			[]string{"timeout_ms was lowered to 1h"},
		},
	} {
		id := ""
		if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); len(s.Session.Running) == 1 {
			id = s.Session.Running[0]
		}
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S",`+strings.ReplaceAll(step.args, "$X", id)+`}`)
		if r.DoneReason != "running" || r.RemainingMS == nil || len(r.Warnings) != len(step.warnings) {
			t.Fatalf("%s: got %s, want running, remaining_ms and %d warnings", step.name, r.Text, len(step.warnings))
		}
		if left := time.Duration(*r.RemainingMS) * time.Millisecond; left < step.least || left > step.most {
			t.Errorf("%s: remaining_ms is %v, want from %v to %v", step.name, left, step.least, step.most)
		}
		for i, w := range step.warnings {
			if !strings.Contains(r.Warnings[i], w) {
				t.Errorf("%s: warning %q, want %q", step.name, r.Warnings[i], w)
			}
		}
	}
}

// until_idle_ms is silence that ends a wait; where the end of a command is known, that is said to mean nothing.
func TestExecUntilIdle(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, tt := range []struct {
		args, done string
		warned     bool
	}{
		{`"lane":"channel"`, "exit_status", true},
		{`"lane":"terminal","class":"posix"`, "marker_seen", true},
		{`"lane":"terminal","class":"posix","rc_mode":{"enabled":false}`, "prompt_seen", false},
	} {
		l.OpenShell() // whose caller has had no warning yet
		l.OK(
			mcptest.IOTool,
			`{"action":"write","session_id":"$S","data":"PS1='r@h:/$ '\r","until_idle_ms":200,"timeout_ms":5000}`,
		)
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo x","until_idle_ms":5000,"timeout_ms":5000,`+tt.args+`}`)
		warned := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], "until_idle_ms means nothing here")
		if r.DoneReason != tt.done || r.Stdout != "x\n" || warned != tt.warned || !warned && len(r.Warnings) > 0 {
			t.Errorf("%s: got %s, want %s, and a warning: %v", tt.args, r.Text, tt.done, tt.warned)
		}
	}
}
