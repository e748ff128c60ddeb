package tools_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

const console = `,"session_type":"console","device_id":"switch-001","task_id":"t1"`

// The life of a console: opened once, found again by its device, read by all, written by the holder of its lock.
func TestConsole(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	o := l.Open(console + `,"acquire_lock":true`)
	if o.Existing != "" || o.LockAcquired == nil || !*o.LockAcquired || o.LockHolder != "t1" ||
		!strings.HasPrefix(o.SessionID, "switch-001-") {
		t.Fatalf("open: %s", o.Text)
	}
	again := l.OK(mcptest.SessionTool, l.OpenArgs(strings.Replace(console, "t1", "t2", 1)+`,"acquire_lock":true`))
	if again.SessionID != o.SessionID || again.Existing != o.SessionID || again.LockAcquired == nil ||
		*again.LockAcquired ||
		again.LockHolder != "t1" || again.State != "open" || again.Cursor != "0" ||
		len(again.Warnings) != 0 {
		t.Errorf("second open: %s", again.Text)
	}
	elsewhere := l.OK(mcptest.SessionTool, strings.Replace(l.OpenArgs(console), "127.0.0.1", "elsewhere", 1))
	if elsewhere.Existing != o.SessionID || *elsewhere.LockAcquired || len(elsewhere.Warnings) != 1 ||
		!strings.Contains(elsewhere.Warnings[0], "on host 127.0.0.1 over ssh") {
		t.Errorf("open with another host: %s", elsewhere.Text)
	}
	if e := l.OK(mcptest.SessionTool, `{"action":"list"}`).Sessions; len(e) != 1 || e[0].SessionType != "console" ||
		e[0].DeviceID != "switch-001" {
		t.Errorf("list: %+v", e)
	}
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session; s.SessionType != "console" ||
		s.DeviceID != "switch-001" {
		t.Errorf("status: %+v", s)
	}

	const write = `{"action":"write","session_id":"$S","data":"x","until_regex":"x","include_echo":true,"task_id":"t1"}`
	if r := l.OK(mcptest.IOTool, write); !r.Matched {
		t.Errorf("the holder's write: %s", r.Text)
	}
	l.Fails(mcptest.IOTool, strings.Replace(write, "t1", "t2", 1), term.Locked, "t1")
	l.OK(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"t1"}`)
	for tool, args := range map[string]string{
		mcptest.IOTool:      `"action":"write","data":"x"`,
		mcptest.ExecTool:    `"cmd":"true"`,
		mcptest.SessionTool: `"action":"signal","signal":"INT"`,
		mcptest.ConfigTool:  `"action":"resize","cols":80,"rows":24`,
	} {
		l.Fails(
			tool,
			`{"session_id":"$S","task_id":"t1",`+args+`}`,
			term.LockRequired,
			"console of device switch-001",
			"ptyctl_session lock",
		)
	}
	l.Fails(
		mcptest.ConfigTool,
		`{"action":"expect","session_id":"$S","expect":{"prompt_regex":"x"}}`,
		term.LockRequired,
		"lock",
	)
	l.Fails(mcptest.SessionTool, `{"action":"close","session_id":"$S","force":true}`, term.LockRequired, "lock")
	if r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0"}`); !strings.Contains(r.Chunk, "x") {
		t.Errorf("a read without the lock: %s", r.Text)
	}

	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"t2"}`)
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S","task_id":"t2"}`)
	next := l.Open(console)
	if next.SessionID == o.SessionID || next.Existing != "" || next.LockAcquired != nil {
		t.Errorf("open of what was closed: %s", next.Text)
	}
}

// A console of another process: the error names that process, in words and for a program.
func TestConsoleElsewhere(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Devices: session.DeviceOptions{Reserve: func(context.Context, string, string) (session.Reservation, error) {
		return session.Reservation{}, &term.Error{
			Kind:  term.Locked,
			Msg:   "process 7 has it",
			Facts: term.Facts{term.DeviceOwner{PID: 7, SessionID: "switch-001-aaaaaaaa", Since: time.UnixMilli(5)}},
		}
	}}}})
	r := l.Fails(mcptest.SessionTool, l.OpenArgs(console), term.Locked, "process 7 has it")
	if !r.Retryable || !strings.Contains(r.Text, `"device_owner":{"pid":7,"session_id":"switch-001-aaaaaaaa","since":5}`) {
		t.Error(r.Text)
	}
}

func TestConsoleArguments(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for args, part := range map[string]string{
		`,"session_type":"console"`:                                                "needs device_id",
		`,"device_id":"d"`:                                                         "is for session_type console",
		`,"session_type":"normal","device_id":"d"`:                                 "is for session_type console",
		`,"session_type":"console","device_id":" "`:                                "needs device_id",
		`,"session_type":"console","device_id":"a\nb"`:                             "control character",
		`,"session_type":"console","device_id":"` + strings.Repeat("x", 257) + `"`: "257 bytes",
		`,"session_type":"console","device_id":"d","acquire_lock":true`:            "task_id",
		`,"session_type":"serial","device_id":"d"`:                                 "use one of normal, console",
	} {
		l.Fails(mcptest.SessionTool, l.OpenArgs(args), term.InvalidArgument, part)
	}
	if r := l.Open(`,"session_type":"normal"`); r.Existing != "" || r.LockAcquired != nil {
		t.Error(r.Text)
	}
}
