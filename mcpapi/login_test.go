package mcpapi

import (
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/term"
)

func TestLoginByAnswers(t *testing.T) {
	l := newLab(t, labConfig{ssh: twoQuestions})
	r := l.open("")
	if !r.Success || r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil || r.Cursor != "0" ||
		r.Capabilities != nil ||
		r.PTYEnabled != nil {
		t.Fatalf("open: %s", r.text)
	}
	if q := r.Prompt; q.User != "demo" || !strings.HasPrefix(q.Host, "127.0.0.1:") ||
		!strings.Contains(q.Text, "Password: ") ||
		q.Echo ||
		q.Index != 1 ||
		q.Of != 2 {
		t.Errorf("first question: %+v", q)
	}
	s := l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	if s.State != "authenticating" || !s.WaitingForInput || s.Prompt == nil || !s.Session.Waiting {
		t.Errorf("status: %s", s.text)
	}
	b := l.fails(
		execName,
		`{"session_id":"$S","cmd":"true"}`,
		term.Busy,
		"login waits for an answer",
		"ptyctl_session_io write",
	)
	if !strings.Contains(b.text, "Password: ") {
		t.Errorf("busy with what? %s", b.text)
	}
	l.fails(configName, `{"action":"resize","session_id":"$S","cols":80,"rows":24}`, term.Busy)

	// A read shows the question, and says that it waits.
	r = l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	if !strings.Contains(r.Chunk, "Password: ") || r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil {
		t.Errorf("read: %s", r.text)
	}
	// One line end is cut off an answer, and no more.
	r = l.ok(ioName, `{"action":"write","session_id":"$S","data":"p w-1138\r\n"}`)
	if r.State != "authenticating" || r.Prompt == nil || r.Prompt.Index != 2 || !r.Prompt.Echo || !r.WaitingForInput {
		t.Fatalf("first answer: %s", r.text)
	}
	l.ok(sessionName, `{"action":"close","session_id":"$S"}`)

	r = l.open("")
	l.ok(ioName, `{"action":"write","session_id":"$S","data":"p w-1138\r\r"}`)
	r = l.ok(
		ioName,
		`{"action":"write","session_id":"$S","data":"code-1138 \n","until_regex":"\\$ $","timeout_ms":10000}`,
	)
	if r.State != "open" || r.Prompt != nil || r.WaitingForInput || !r.Matched {
		t.Fatalf("second answer: %s", r.text)
	}
	if strings.Contains(r.Chunk, "p w") {
		t.Errorf("an answer was echoed: %s", r.text)
	}
	// The shell behind it is there, and what comes after the answers is typed.
	if r = l.ok(execName, `{"session_id":"$S","cmd":"echo in"}`); r.Stdout != "in\n" || r.ExecLane != "channel" {
		t.Errorf("exec: %s", r.text)
	}
	if r = l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`); strings.Contains(
		r.Chunk,
		"p w",
	) ||
		r.State != "" {
		t.Errorf("read: %s", r.text)
	}
}

func TestLoginFails(t *testing.T) {
	t.Run("wrong answers", func(t *testing.T) {
		l := newLab(t, labConfig{ssh: twoQuestions})
		r := l.open("")
		for range 20 {
			if r.Prompt == nil {
				break
			}
			r = l.ok(ioName, `{"action":"write","session_id":"$S","data":"hunter2-1138\r"}`)
		}
		if r.State != "error" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the session is over: ") ||
			strings.Contains(r.text, "hunter2-1138") {
			t.Errorf("after the last answer: %s", r.text)
		}
		if s := l.ok(sessionName, `{"action":"status","session_id":"$S"}`); s.State != "error" ||
			s.Session.EndReason == "" {
			t.Errorf("status: %s", s.text)
		}
		l.fails(execName, `{"session_id":"$S","cmd":"true"}`, term.AlreadyClosed)
	})
	t.Run("declined", func(t *testing.T) {
		l := newLab(t, labConfig{ssh: twoQuestions})
		l.open("")
		r := l.ok(ioName, `{"action":"write","session_id":"$S","key":"ctrl_c"}`)
		if r.State != "error" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "ctrl_c") {
			t.Errorf("got %s", r.text)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		l := newLab(t, labConfig{ssh: twoQuestions, sessions: session.Config{PromptTimeout: 50 * time.Millisecond}})
		l.open("")
		r := l.ok(ioName, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":10000}`)
		if !r.EOF || r.State != "error" {
			t.Errorf("got %s", r.text)
		}
	})
	for name, c := range map[string]struct {
		options Options
		args    string
	}{
		"not by the caller's will":   {Options{}, `,"auth":{"interactive":false}`},
		"not by the operator's will": {Options{NoInteractive: true}, ``},
		"not by both":                {Options{NoInteractive: true}, `,"auth":{"interactive":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, labConfig{ssh: twoQuestions, options: c.options})
			l.fails(sessionName, l.openArgs(c.args), term.AuthFailed)
		})
	}
	t.Run("locked", func(t *testing.T) {
		l := newLab(t, labConfig{ssh: twoQuestions})
		r := l.open(`,"acquire_lock":true,"task_id":"a"`)
		if r.State != "authenticating" || r.LockHolder != "a" {
			t.Fatalf("open: %s", r.text)
		}
		l.fails(ioName, `{"action":"write","session_id":"$S","data":"other-1138\r","task_id":"b"}`, term.Locked)
		if r = l.ok(ioName, `{"action":"write","session_id":"$S","data":"p w-1138\r\r","task_id":"a"}`); r.Prompt == nil ||
			r.Prompt.Index != 2 {
			t.Errorf("the holder's answer: %s", r.text)
		}
	})
}

// A credential in the call is used as it is meant, without a method named.
func TestLoginByCredential(t *testing.T) {
	l := newLab(t, labConfig{ssh: sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}}})
	if r := l.open(`,"auth":{"password":"correct horse-1138"}`); r.State != "open" {
		t.Errorf("got %s", r.text)
	}
	if r := l.open(`,"auth":{"method":"auto","password":"correct horse-1138"}`); r.State != "open" {
		t.Errorf("got %s", r.text)
	}
	r := l.open(`,"auth":{"method":"password"}`)
	if r.State != "authenticating" || r.Prompt.Kind != term.PromptPassword {
		t.Errorf("got %s", r.text)
	}
	if r = l.ok(ioName, `{"action":"write","session_id":"$S","data":"correct horse-1138\r"}`); r.State != "open" ||
		r.Prompt != nil {
		t.Errorf("got %s", r.text)
	}
	if r = l.ok(sessionName, `{"action":"status","session_id":"$S"}`); r.Session.AuthMethod != "password" {
		t.Errorf("got %s", r.text)
	}
}

// An open leaves no session behind if its client gives up.
func TestOpenCancelledByClient(t *testing.T) {
	l := newLab(t, labConfig{ssh: sshserver.Config{Faults: sshserver.Faults{SilentAfterAccept: true}, NoAuth: true}})
	id, _ := l.start("tools/call", l.params(sessionName, l.openArgs("")))
	count := func(live bool) bool {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			r := l.ok(sessionName, `{"action":"list"}`)
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
	l.write(cancelCall(id))
	if !count(false) {
		t.Error("the session lives on")
	}
}
