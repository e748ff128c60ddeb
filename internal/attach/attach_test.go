package attach

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/control"
	"ptyctl/internal/app/apptest"
	"ptyctl/internal/client"
	"ptyctl/vt"
)

// shell opens a local session with this command, as an agent, and returns the session for a person.
func shell(t *testing.T, socket, command string) (s client.Session, agent *client.Process) {
	t.Helper()
	dial := func() *client.Process {
		p, err := client.Dial(t.Context(), control.Socket{Path: socket}, control.Options{Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	agent = dial()
	var out struct {
		SessionID string `json:"session_id"`
	}
	open := map[string]any{
		"action": "open", "protocol": "local", "argv": []string{"sh", "-c", command},
		"pty": map[string]int{"cols": 100, "rows": 30},
	}
	if err := agent.Call(t.Context(), client.ToolSession, open, &out); err != nil {
		t.Fatalf("open: %v", err)
	}
	return client.Session{SessionID: out.SessionID, Protocol: "local", Host: "localhost", Process: dial()}, agent
}

// read follows the output until it has want.
func read(t *testing.T, f *follower, want string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var got []byte
	for !strings.Contains(string(got), want) {
		p, err := f.next(ctx)
		if err != nil || p.ended {
			t.Fatalf("the output is %q, ended %v, %v; want %q in it", got, p.ended, err, want)
		}
		got = append(got, p.data...)
	}
	return string(got)
}

// A follower must get the output held so far, then new output, then the end.
func TestFollower(t *testing.T) {
	s, agent := shell(t, apptest.Start(t), "stty -echo; printf 'one\ntwo\n'; read x; printf 'got %s\n' \"$x\"; read x")
	read(t, &follower{Attachment: To(s), cursor: "0"}, "two")
	f := &follower{Attachment: To(s)}
	held, err := f.fill(t.Context(), everything)
	if err != nil || string(held.data) != "one\r\ntwo\r\n" || held.ended || held.start != 0 {
		t.Fatalf("fill = %+v, %v; want both lines from 0", held, err)
	}
	end, err := (&follower{Attachment: To(s)}).fill(t.Context(), 5)
	if err != nil || string(end.data) != "two\r\n" || end.start != 5 {
		t.Errorf("fill of 5 bytes = %+v, %v; want the last line", end, err)
	}
	if err := To(s).write(t.Context(), []byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	read(t, f, "got hello\r\n")
	if err := agent.Call(
		t.Context(), client.ToolSession, client.SessionCall{Action: "close", SessionID: s.SessionID}, nil,
	); err != nil {
		t.Fatal(err)
	}
	for p, err := f.next(t.Context()); !p.ended; p, err = f.next(t.Context()) {
		if err != nil {
			t.Fatalf("next after the end = %v, want the end", err)
		}
	}
	gone := &follower{Attachment: &Attachment{Client: s.Process.Client, ID: "sh-gone0000"}}
	if p, err := gone.next(t.Context()); !p.ended || err != nil {
		t.Errorf("next of a forgotten session = %+v, %v; want its end", p, err)
	}
	left := errors.New("left")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(left)
	if _, err := f.next(ctx); !errors.Is(err, left) {
		t.Errorf("next after the end of ctx = %v, want its cause", err)
	}
}

// A follower that is between two reads when ptyctl ends in order sees the end of the session.
func TestFollowerAfterTheEnd(t *testing.T) {
	var f *follower
	t.Run("while it runs", func(running *testing.T) {
		s, _ := shell(t, apptest.Start(running), "printf 'one\n'; read x")
		f = &follower{Attachment: To(s), cursor: "0"}
		read(t, f, "one")
	})
	if p, err := f.next(t.Context()); !p.ended || err != nil {
		t.Errorf("next = %+v, %v; want the end", p, err)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		start         int64
		data          string
		at            int64
		before, since string
	}{
		{0, "abcdef", 4, "abcd", "ef"},
		{0, "abcdef", 0, "", "abcdef"},
		{0, "abcdef", 99, "abcdef", ""},
		{100, "b\nc\x1b[mdef", 108, "\nc\x1b[mde", "f"}, // the first line is not whole
		{100, "b\x1b[mdef", 106, "\x1b[mde", "f"},
		{100, "abcdef", 50, "", "abcdef"},
	} {
		p := piece{data: []byte(tt.data), start: tt.start}
		before, since := p.cut(tt.at)
		if string(before) != tt.before || string(since) != tt.since {
			t.Errorf(
				"cut of %q from %d at %d = %q, %q; want %q, %q", tt.data, tt.start, tt.at, before, since, tt.before, tt.since,
			)
		}
	}
}

// A terminal that is taken is the person's until it is given back, with its size.
func TestTake(t *testing.T) {
	s, agent := shell(t, apptest.Start(t), "stty -echo; cat")
	a := To(s)
	if err := a.MayTake(t.Context()); err != nil {
		t.Fatalf("MayTake = %v, want nil", err)
	}
	lock := client.SessionCall{Action: "lock", SessionID: s.SessionID, TaskID: "build", LockTTL: 60_000}
	if err := agent.Call(t.Context(), client.ToolSession, lock, nil); err != nil {
		t.Fatal(err)
	}
	previous, err := a.take(t.Context())
	if err != nil || previous != " from task build" {
		t.Fatalf("take = %q, %v; want it from task build", previous, err)
	}
	byAgent := client.IOCall{Action: "write", SessionID: s.SessionID, TaskID: "build", Data: "agent\r"}
	if err := agent.Call(t.Context(), client.ToolIO, byAgent, nil); !client.IsCode(err, "LOCKED") {
		t.Errorf("the agent's write = %v, want LOCKED", err)
	}
	if err := a.renew(t.Context()); err != nil {
		t.Errorf("renew = %v, want nil", err)
	}
	a.resize(t.Context(), 120, 40)
	if now, err := a.Status(t.Context()); err != nil || now.Session.Cols != 120 || now.Session.Rows != 40 {
		t.Errorf("the size is %dx%d, %v; want 120x40", now.Session.Cols, now.Session.Rows, err)
	}
	second, err := client.Dial(t.Context(), s.Process.Socket, control.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	b := &Attachment{Client: second.Client, ID: s.SessionID}
	if previous, err = b.take(t.Context()); err != nil || !strings.HasPrefix(previous, " from person ") {
		t.Fatalf("take by another person = %q, %v; want it from the person", previous, err)
	}
	if err := a.write(t.Context(), []byte("late\r")); !client.IsCode(err, "LOCKED") {
		t.Errorf("a write of a person who has lost the terminal = %v, want LOCKED", err)
	}
	if err := a.giveBack(); err != nil {
		t.Errorf("giveBack of a lost terminal = %v, want nil", err)
	}
	if err := b.giveBack(); err != nil {
		t.Errorf("giveBack = %v, want nil", err)
	}
	byAgent.TaskID = ""
	if err := agent.Call(t.Context(), client.ToolIO, byAgent, nil); err != nil {
		t.Errorf("the agent's write after giveBack = %v, want nil", err)
	}
}

// Where people may only watch, the error must name the setting to change.
func TestReadOnly(t *testing.T) {
	socket := apptest.Start(t, "[server.control]", `control_mode = "readonly"`)
	p, err := client.Dial(t.Context(), control.Socket{Path: socket}, control.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a := &Attachment{Client: p.Client, ID: "sh-gone0000"}
	if err := a.MayTake(t.Context()); err == nil || !strings.Contains(err.Error(), "--control-mode readwrite") {
		t.Errorf("MayTake = %v, want --control-mode readwrite in it", err)
	}
}

// The typist must send keys in order, including those typed before the person left.
func TestTypist(t *testing.T) {
	s, _ := shell(t, apptest.Start(t), "stty -echo; while read x; do printf '<%s>' \"$x\"; done")
	a := To(s)
	if _, err := a.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	typist := newTypist(a)
	typist.resized = false
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- typist.run(ctx) }()
	for _, word := range []string{"o", "ne\r", "", "two\r"} {
		typist.press([]byte(word))
	}
	f := &follower{Attachment: a, cursor: "0"}
	read(t, f, "<one><two>")
	typist.press([]byte("three\r"))
	stop()
	if err := <-done; err != nil {
		t.Errorf("run = %v, want nil", err)
	}
	read(t, f, "<three>")
}

func TestMayType(t *testing.T) {
	for rule, want := range map[string]string{
		"":                            "",
		"policy.deny[0]":              "policy.deny[0]: watch without --take, or have the operator change that rule",
		"policy.typing (ptyctl.toml)": `have the operator set policy.typing = "allow"`,
	} {
		var now client.StatusResult
		now.Session.Denied = rule
		err := client.TypingDenied(&now)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("mayType under %q = %v, want %q", rule, err, want)
		}
	}
}

// A view can show text, a terminal, or the raw bytes.
func TestView(t *testing.T) {
	const output = "a\x1b]0;title\ab\x1b[31mc"
	for _, tt := range []struct {
		name string
		view view
		want string
	}{
		{"raw", view{}, output},
		{"text", view{text: new(vt.Cleaner)}, "abc\r\n[ptyctl: 7 bytes are missing here]\n"},
		{"filtered", view{filter: new(vt.Filter)}, "ab\x1b[31mc\r\n[ptyctl: 7 bytes are missing here]\r\n"},
	} {
		var out bytes.Buffer
		tt.view.out = &out
		if err := errors.Join(tt.view.write([]byte(output)), tt.view.gap(7), tt.view.end()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := out.String()
		if tt.name == "filtered" { // and the colour is taken back
			if rest, ok := strings.CutPrefix(got, tt.want); !ok || !strings.Contains(rest, "\x1b[") {
				t.Errorf("%s view of %q = %q, want %q and the end of the colour", tt.name, output, got, tt.want)
			}
			continue
		}
		if strings.ReplaceAll(got, "\r\n", "\n") != strings.ReplaceAll(tt.want, "\r\n", "\n") {
			t.Errorf("%s view of %q = %q, want %q", tt.name, output, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	s, _ := shell(t, apptest.Start(t), "printf 'one\ntwo\n\033]0;x\athree\n'; exec cat")
	read(t, &follower{Attachment: To(s), cursor: "0"}, "three")
	for _, tt := range []struct {
		o    TailOptions
		want string
	}{
		{TailOptions{Lines: 2, Raw: true}, "two\r\n\x1b]0;x\athree\r\n"},
		{TailOptions{Lines: 1}, "three\n"}, // the output of a test is not a terminal
		{TailOptions{Lines: 0}, ""},
	} {
		var out bytes.Buffer
		tt.o.Out = &out
		if err := Tail(t.Context(), s, tt.o); err != nil || out.String() != tt.want {
			t.Errorf("Tail of %d lines, raw %v = %q, %v; want %q", tt.o.Lines, tt.o.Raw, out.String(), err, tt.want)
		}
	}
}

// ctrl-s and ctrl-q hold a watcher's own terminal, ctrl-] leaves, and other keys do nothing.
func TestPress(t *testing.T) {
	v := &viewer{}
	if err := v.press([]byte("abc\x03")); err != nil || v.held != nil {
		t.Errorf("press of other keys = %v, held %v; want nothing", err, v.held != nil)
	}
	if err := v.press([]byte{holdKey}); err != nil || v.held == nil {
		t.Errorf("press of ctrl-s = %v, held %v; want it held", err, v.held != nil)
	}
	if err := v.press([]byte{holdKey, goOnKey}); err != nil || v.held != nil {
		t.Errorf("press of ctrl-s ctrl-q = %v, held %v; want it released", err, v.held != nil)
	}
	if err := v.press([]byte{'x', leaveKey, holdKey}); !errors.Is(err, errDetached) || v.held != nil {
		t.Errorf("press of ctrl-] = %v, held %v; want errDetached", err, v.held != nil)
	}
	v.pane = &pane{}
	if err := v.press([]byte{leaveKey}); err != nil {
		t.Errorf("press of ctrl-] in a window that many watch = %v, want nil", err)
	}
}

// A person without a terminal answers line by line.
func TestAsk(t *testing.T) {
	in, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := answers.WriteString("first\r\nsecond"); err != nil {
		t.Fatal(err)
	}
	if err := answers.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	person := NewPerson(in, &out)
	q := &client.Question{User: "me", Host: "web1", Kind: "password", Text: "Pass\x1b[2Jword: "}
	for _, want := range []string{"first", "second"} {
		if got, err := person.ask(t.Context(), "ssh-1", q); got != want || err != nil {
			t.Errorf("ask = %q, %v; want %q", got, err, want)
		}
	}
	if got, err := person.ask(t.Context(), "ssh-1", q); err == nil {
		t.Errorf("ask at the end of the input = %q, want an error", got)
	}
	shown := out.String()
	if !strings.Contains(shown, "[ptyctl: ssh-1: me@web1 asks (password)]") || strings.Contains(shown, "\x1b") {
		t.Errorf("the question is shown as %q, want who asks and no control characters", shown)
	}
}
