package mcpapi_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// An action is a call that acts, and the expected event.
type action struct {
	tool   string
	args   string // $S is the session
	verb   term.Verb
	kind   term.Kind // empty: it succeeds
	detail string    // a part of Event.Detail
}

// acts are all actions on a session, by the task $T.
var acts = []action{
	{mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","data":"echo a\r"}`, term.VerbWrite, "", ""},
	{mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","data":"typed-1138","sensitive":true}`, term.VerbWrite, "", ""},
	{mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","key":"ctrl_c"}`, term.VerbWrite, "", "ctrl_c"},
	{mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","key":"break"}`, term.VerbWrite, "", "break"},
	{mcptest.ExecTool, `{"session_id":"$S","task_id":"$T","cmd":"true","lane":"channel"}`, term.VerbExec, "", "channel"},
	{mcptest.SessionTool, `{"action":"signal","session_id":"$S","task_id":"$T","signal":"INT"}`, term.VerbSignal, "", "INT"},
	{mcptest.ConfigTool, `{"action":"resize","session_id":"$S","task_id":"$T","cols":90,"rows":30}`, term.VerbResize, "", "90x30"},
	{mcptest.ConfigTool, `{"action":"expect","session_id":"$S","task_id":"$T","expect":{"profile":"posix"}}`, term.VerbExpect, "", "posix"},
}

var leases = []action{
	{mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"$T"}`, term.VerbLock, "", ""},
	{mcptest.SessionTool, `{"action":"heartbeat","session_id":"$S","task_id":"$T"}`, term.VerbHeartbeat, "", ""},
	{mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"$T"}`, term.VerbUnlock, "", ""},
}

var closing = action{mcptest.SessionTool, `{"action":"close","session_id":"$S","task_id":"$T"}`, term.VerbClose, "", ""}

// A walk makes calls and checks that each makes one event, with everything in it.
type walk struct {
	*mcptest.Lab
	seen *mcptest.Diary
	full *atomic.Bool // the journal refuses every entry
	task string
}

func (w walk) as(task string) walk { w.task = task; return w }

// does makes the calls; each must succeed, or fail in the way given.
func (w walk) does(kind term.Kind, actions ...action) {
	w.T.Helper()
	for _, d := range actions {
		args := strings.ReplaceAll(d.args, "$T", w.task)
		w.seen.Take()
		r := w.Call(d.tool, args)
		want := kind
		if d.kind != "" {
			want = d.kind
		}
		if r.ErrorCode != want {
			w.T.Errorf("%s: %s, want %q", args, r.Text, want)
		}
		got := w.seen.Take()
		if len(got) != 1 {
			w.T.Errorf("%s: %d events: %+v", args, len(got), got)
			continue
		}
		e := got[0]
		actor := term.Actor{Transport: "stdio", Client: "tester", Version: "7", Task: w.task}
		if e.Verb != d.verb || e.Actor != actor || term.KindOf(e.Outcome()) != r.ErrorCode || e.Time.IsZero() {
			w.T.Errorf("%s: event %+v", args, e)
		}
		if !strings.Contains(e.Detail, d.detail) && want != term.NotFound &&
			want != term.AlreadyClosed { // which come before it is known
			w.T.Errorf("%s: detail %q", args, e.Detail)
		}
		if want == term.NotFound {
			continue
		}
		if e.Session == "" || e.Protocol == "" || e.Host == "" {
			w.T.Errorf("%s: event without session, protocol or host: %+v", args, e)
		}
		if r.IsError && (e.Refused == nil) == (refusal(want) || w.full != nil && w.full.Load()) {
			w.T.Errorf("%s: refused: %v, failed: %v", args, e.Refused, e.Err)
		}
	}
}

// refusal reports whether an error of the kind comes before anything is done. So does one of the journal.
func refusal(k term.Kind) bool { return k != term.RemoteClosed && k != term.IOError }

// Every action through the wire makes exactly one event with its Actor, whether it is done, refused or fails.
func TestEveryActionIsOneEvent(t *testing.T) {
	var seen mcptest.Diary
	var full atomic.Bool
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{
		Observers: []term.Observer{&seen}, Input: session.InputOptions{AllowTakeOver: true},
		Journal: func(term.Event) error {
			if full.Load() {
				return errors.New("disk full")
			}
			return nil
		},
	}})
	w := walk{Lab: l, seen: &seen, full: &full, task: "t1"}
	opening := action{mcptest.SessionTool, l.OpenArgs(`,"task_id":"$T"`), term.VerbOpen, "", "127.0.0.1"}

	full.Store(true)
	w.does(term.IOError, opening)
	full.Store(false)
	w.does(
		term.Unsupported,
		action{
			mcptest.SessionTool, `{"action":"open","protocol":"telnet","host":"h","task_id":"$T"}`, term.VerbOpen, "",
			"h",
		},
	)
	w.does("", opening)
	l.Session = seen.Last().Session
	// A shell that is not ready yet would die of INT.
	if r := l.OK(mcptest.IOTool,
		`{"action":"read","session_id":"$S","cursor":"0","until_regex":"[$#] $","timeout_ms":10000}`); !r.Matched {
		t.Fatalf("no prompt: %s", r.Text)
	}
	seen.Take()

	w.does("", acts...)
	w.does("", leases...)
	w.does(term.LockRequired, leases[1:]...)
	w.does("", leases[0])
	w.as("t2").does(term.Locked, acts...)
	w.as("t2").does(term.Locked, leases...)
	w.as("t2").does(term.Locked, closing)
	taking := action{
		mcptest.SessionTool,
		`{"action":"lock","session_id":"$S","task_id":"$T","take_over":true}`,
		term.VerbTakeOver,
		"",
		"",
	}
	w.as("t2").does("", taking)
	w.does(term.Locked, acts...)
	w.does("", taking)
	full.Store(true)
	w.does(term.IOError, acts...)
	full.Store(false)
	w.does(
		term.NotFound,
		action{
			mcptest.ExecTool,
			`{"session_id":"$S","task_id":"$T","exec_id":"exec-none","cancel":true}`,
			term.VerbSignal,
			"",
			"cancel exec",
		},
	)
	w.does(
		"",
		action{
			mcptest.ExecTool,
			`{"session_id":"$S","task_id":"$T","cmd":"true","lane":"terminal","class":"posix"}`,
			term.VerbExec,
			"",
			"terminal",
		},
	)
	full.Store(true) // which is no reason to keep it
	w.does("", closing)
	full.Store(false)
	w.does("", closing)
	w.does(term.AlreadyClosed, acts...)
	w.does(term.AlreadyClosed, leases...)
	l.Session = "none-aaaaaaaa"
	w.does(term.NotFound, acts...)
	w.does(term.NotFound, leases...)
	w.does(term.NotFound, closing)

	var ends, opened, closed int
	for _, e := range seen.All() {
		switch {
		case e.Verb == term.VerbExecEnd:
			ends++
			if e.Actor.Task != "t1" || e.Exec == "" || e.Exit == nil || e.State != "ended" || e.Host != "127.0.0.1" {
				t.Errorf("end of an exec = %+v, want task t1, an exec id, an exit code, state ended, host 127.0.0.1", e)
			}
		case e.Verb == term.VerbState && e.State == "open":
			opened++
			if e.From != "connecting" || e.Duration <= 0 {
				t.Errorf("opening = %+v, want it from connecting, with a duration", e)
			}
		case e.Verb == term.VerbState:
			closed++
			if e.From != "open" || e.State != "closed" || !strings.Contains(e.Detail, "t1") {
				t.Errorf("closing = %+v, want open to closed by t1", e)
			}
		}
	}
	if ends != 2 || opened != 1 || closed != 1 {
		t.Errorf("%d commands ended, %d sessions opened, %d closed", ends, opened, closed)
	}
}

// Opening a console is one event for each call, also for the one that is given the session of another.
func TestConsolesAreEvents(t *testing.T) {
	var seen mcptest.Diary
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Observers: []term.Observer{&seen}}})
	w := walk{Lab: l, seen: &seen, task: "t1"}
	opening := action{
		mcptest.SessionTool,
		l.OpenArgs(`,"task_id":"$T","session_type":"console","device_id":"sw1"`),
		term.VerbOpen,
		"",
		"127.0.0.1",
	}
	w.does("", opening, opening)
	w.as("t2").does("", opening)
	l.Session = seen.Last().Session
	shell, err := l.Manager.Get(l.Session)
	if err != nil {
		t.Fatal(err)
	}
	for !strings.HasSuffix(shell.LastLine(), "$ ") { // until it shows its prompt, INT ends the shell
		time.Sleep(time.Millisecond)
	}
	w.does(term.LockRequired, acts...)
	w.does("", leases[0])
	w.does("", acts...)
	w.as("t2").does(term.Locked, acts...)
}

// An answer is an action of its own kind, and its record never shows the text.
func TestAnswersAreEvents(t *testing.T) {
	var seen mcptest.Diary
	l := mcptest.NewLab(t,
		mcptest.Config{SSH: mcptest.TwoQuestions, Sessions: session.Config{Observers: []term.Observer{&seen}}})
	w := walk{Lab: l, seen: &seen, task: "t1"}
	l.Open(`,"task_id":"t1"`)
	w.does(term.Busy, action{mcptest.ExecTool, `{"session_id":"$S","task_id":"$T","cmd":"true"}`, term.VerbExec, "", ""})
	w.does(
		"",
		action{
			mcptest.IOTool,
			`{"action":"write","session_id":"$S","task_id":"$T","data":"p w-1138\r\r"}`,
			term.VerbAnswer,
			"",
			"challenge",
		},
	)
	w.does(
		"",
		action{
			mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","key":"ctrl_c"}`, term.VerbAnswer, "",
			"challenge",
		},
	)
	w.does(
		term.AlreadyClosed,
		action{mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"$T","data":"x"}`, term.VerbWrite, "", ""},
	)
}

// Observers learn of a question that a program asks in the terminal, because a person may have to answer it. They learn
// of each question once, however often a caller looks.
func TestQuestionOfProgram(t *testing.T) {
	seen := new(mcptest.Diary)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Observers: []term.Observer{seen}}})
	l.OpenShell()
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"terminal","timeout_ms":60000,`+
		`"cmd":"read -p 'Password: ' a; read -p 'Sure? [y/N] ' b; read -p '--More-- ' c"}`)
	for _, answer := range []string{`typed-1138\r","sensitive":true`, `y\r"`} {
		for range 2 {
			r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`"}`)
		}
		l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"`+answer+`}`)
		r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`"}`)
	}
	var asked []string
	for _, e := range seen.All() {
		if e.Verb == term.VerbQuestion {
			asked = append(asked, e.Detail)
			if e.Session != l.Session || e.Exec != r.ExecID {
				t.Errorf("event %+v, want that of session %s and exec %s", e, l.Session, r.ExecID)
			}
		}
	}
	if got := strings.Join(asked, ", "); got != "terminal password, terminal yes_no" {
		t.Errorf("questions that observers have seen: %q, want the password and the yes or no, once each", got)
	}
}
