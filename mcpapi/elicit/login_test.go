package elicit_test

import (
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

func TestLoginByAnswers(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
	r := l.Open("")
	if !r.Success || r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil || r.Cursor != "0" ||
		r.Capabilities != nil ||
		r.PTYEnabled != nil {
		t.Fatalf("open: %s", r.Text)
	}
	if q := r.Prompt; q.User != "demo" || !strings.HasPrefix(q.Host, "127.0.0.1:") ||
		!strings.Contains(q.Text, "Password: ") ||
		q.Echo ||
		q.Index != 1 ||
		q.Of != 2 {
		t.Errorf("first question: %+v", q)
	}
	s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if s.State != "authenticating" || !s.WaitingForInput || s.Prompt == nil || !s.Session.Waiting {
		t.Errorf("status: %s", s.Text)
	}
	b := l.Fails(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"true"}`,
		term.Busy,
		"login waits for an answer",
		"ptyctl_session_io write",
	)
	if !strings.Contains(b.Text, "Password: ") {
		t.Errorf("busy with what? %s", b.Text)
	}
	l.Fails(mcptest.ConfigTool, `{"action":"resize","session_id":"$S","cols":80,"rows":24}`, term.Busy)

	// A read shows the question, and says that it waits.
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	if !strings.Contains(r.Chunk, "Password: ") || r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil {
		t.Errorf("read: %s", r.Text)
	}
	// One line end is cut off an answer, and no more.
	r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"p w-1138\r\n"}`)
	if r.State != "authenticating" || r.Prompt == nil || r.Prompt.Index != 2 || !r.Prompt.Echo || !r.WaitingForInput {
		t.Fatalf("first answer: %s", r.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)

	r = l.Open("")
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"p w-1138\r\r"}`)
	r = l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"code-1138 \n","until_regex":"\\$ $","timeout_ms":10000}`,
	)
	if r.State != "open" || r.Prompt != nil || r.WaitingForInput || !r.Matched {
		t.Fatalf("second answer: %s", r.Text)
	}
	if strings.Contains(r.Chunk, "p w") {
		t.Errorf("an answer was echoed: %s", r.Text)
	}
	// The login has led to a shell, and the input after the answers is typed.
	if r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo in"}`); r.Stdout != "in\n" || r.ExecLane != "channel" {
		t.Errorf("exec: %s", r.Text)
	}
	if r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`); strings.Contains(
		r.Chunk,
		"p w",
	) ||
		r.State != "" {
		t.Errorf("read: %s", r.Text)
	}
}

func TestLoginFails(t *testing.T) {
	t.Run("wrong answers", func(t *testing.T) {
		l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
		r := l.Open("")
		for range 20 {
			if r.Prompt == nil {
				break
			}
			r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"hunter2-1138\r"}`)
		}
		if r.State != "error" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the session is over: ") ||
			strings.Contains(r.Text, "hunter2-1138") {
			t.Errorf("after the last answer: %s", r.Text)
		}
		if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); s.State != "error" ||
			s.Session.EndReason == "" {
			t.Errorf("status: %s", s.Text)
		}
		l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"true"}`, term.AlreadyClosed)
	})
	t.Run("declined", func(t *testing.T) {
		l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
		l.Open("")
		r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","key":"ctrl_c"}`)
		if r.State != "error" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "ctrl_c") {
			t.Errorf("got %s", r.Text)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		l := mcptest.NewLab(t,
			mcptest.Config{SSH: mcptest.TwoQuestions, Sessions: session.Config{PromptTimeout: 50 * time.Millisecond}})
		l.Open("")
		r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":10000}`)
		if !r.EOF || r.State != "error" {
			t.Errorf("got %s", r.Text)
		}
	})
	for name, c := range map[string]struct {
		options mcpapi.Options
		args    string
	}{
		"not by the caller's will":   {mcpapi.Options{}, `,"auth":{"interactive":false}`},
		"not by the operator's will": {mcpapi.Options{NoInteractive: true}, ``},
		"not by both":                {mcpapi.Options{NoInteractive: true}, `,"auth":{"interactive":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions, Options: c.options})
			l.Fails(mcptest.SessionTool, l.OpenArgs(c.args), term.AuthFailed)
		})
	}
	t.Run("locked", func(t *testing.T) {
		l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
		r := l.Open(`,"acquire_lock":true,"task_id":"a"`)
		if r.State != "authenticating" || r.LockHolder != "a" {
			t.Fatalf("open: %s", r.Text)
		}
		l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"other-1138\r","task_id":"b"}`, term.Locked)
		if r = l.OK(mcptest.IOTool,
			`{"action":"write","session_id":"$S","data":"p w-1138\r\r","task_id":"a"}`); r.Prompt == nil ||
			r.Prompt.Index != 2 {
			t.Errorf("the holder's answer: %s", r.Text)
		}
	})
}

// A credential in the call is used as it is meant, without a method named.
func TestLoginByCredential(t *testing.T) {
	l := mcptest.NewLab(t,
		mcptest.Config{SSH: sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}}})
	if r := l.Open(`,"auth":{"password":"correct horse-1138"}`); r.State != "open" {
		t.Errorf("got %s", r.Text)
	}
	if r := l.Open(`,"auth":{"method":"auto","password":"correct horse-1138"}`); r.State != "open" {
		t.Errorf("got %s", r.Text)
	}
	r := l.Open(`,"auth":{"method":"password"}`)
	if r.State != "authenticating" || r.Prompt.Kind != term.PromptPassword {
		t.Errorf("got %s", r.Text)
	}
	if r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"correct horse-1138\r"}`); r.State != "open" ||
		r.Prompt != nil {
		t.Errorf("got %s", r.Text)
	}
	if r = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.AuthMethod != "password" {
		t.Errorf("got %s", r.Text)
	}
}

// An open leaves no session behind if its client gives up.
func TestOpenCancelledByClient(t *testing.T) {
	l := mcptest.NewLab(t,
		mcptest.Config{SSH: sshserver.Config{Faults: sshserver.Faults{SilentAfterAccept: true}, NoAuth: true}})
	id, _ := l.Start("tools/call", l.Params(mcptest.SessionTool, l.OpenArgs("")))
	count := func(live bool) bool {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			r := l.OK(mcptest.SessionTool, `{"action":"list"}`)
			n := 0
			for _, s := range r.Sessions {
				if !s.State.Ended() {
					n++
				}
			}
			if (n == 1) == live {
				return true
			}
		}
		return false
	}
	if !count(true) {
		t.Fatal("no session is opening")
	}
	l.Write(mcptest.CancelCall(id))
	if !count(false) {
		t.Error("the session lives on")
	}
}
