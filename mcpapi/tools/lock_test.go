package tools_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// A farWire is a terminal in memory.
type farWire struct{ net.Conn }

func (farWire) Resize(int, int) error { return nil }

// wired returns a dialer of terminals with room for limit bytes (0: any number); their far ends come on the channel.
func wired(limit int) (map[string]term.Dialer, <-chan net.Conn) {
	far := make(chan net.Conn, 1000)
	return map[string]term.Dialer{
		"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			a, b := bufpipe.New(limit)
			far <- b
			return farWire{a}, nil
		},
	}, far
}

func TestFiftyLocksAtOnce(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	var wg sync.WaitGroup
	replies := make([]mcptest.Reply, 50)
	for i := range replies {
		wg.Go(func() {
			replies[i] = l.Call(mcptest.SessionTool, fmt.Sprintf(`{"action":"lock","session_id":"$S","task_id":"task-%d"}`, i))
		})
	}
	wg.Wait()
	var winner mcptest.Reply
	winners := 0
	for _, r := range replies {
		if !r.IsError {
			winner = r
			winners++
		}
	}
	if winners != 1 {
		t.Fatalf("%d winners", winners)
	}
	for _, r := range replies {
		if r.IsError &&
			(r.ErrorCode != term.Locked || r.Details.LockHolder != winner.LockHolder ||
				r.Details.LockExpiresAt != winner.LockExpiresAt) {
			t.Errorf("a loser is told %s", r.Text)
		}
	}
}

func TestTakeOver(t *testing.T) {
	dialers, far := wired(4096)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers, Input: session.InputOptions{AllowTakeOver: true}}})
	l.Open(`,"acquire_lock":true,"task_id":"a"`)
	before := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if s := before.Session; s.LockHolder != "a" || s.LockEpoch == 0 || s.LockExpiresAt != before.LockExpiresAt ||
		s.LockExpiresAt <= time.Now().UnixMilli() {
		t.Errorf("status: %s", before.Text)
	}
	_, lost := l.Start(
		"tools/call",
		l.Params(
			mcptest.IOTool,
			fmt.Sprintf(
				`{"action":"write","session_id":"$S","task_id":"a","data":%q,"request_id":"r1"}`,
				fmt.Sprintf("%0100000d", 1),
			),
		),
	)
	for l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.BytesOut < 4096 {
	}
	taken := make(chan mcptest.Reply, 1)
	go func() {
		taken <- l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`)
	}()
	for l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).LockHolder != "b" {
	}
	go io.Copy(io.Discard, <-far)
	r := <-taken
	if string(r.Members["previous_holder"]) != `"a"` || r.LockHolder != "b" {
		t.Errorf("take over: %s", r.Text)
	}
	after := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if after.Session.LockEpoch <= before.Session.LockEpoch {
		t.Errorf("epoch %d after %d", after.Session.LockEpoch, before.Session.LockEpoch)
	}

	// The result reports the bytes sent before the lock was lost, and a retry must not type them again.
	w := l.Read((<-lost).Result)
	if d := w.Details; w.ErrorCode != term.Locked || d.BytesWritten == nil || *d.BytesWritten < 4096 ||
		d.TakenOverBy != "b" ||
		d.LockHolder != "b" {
		t.Errorf("the write under way: %s", w.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"b"}`)
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	again := l.Call(
		mcptest.IOTool,
		fmt.Sprintf(
			`{"action":"write","session_id":"$S","task_id":"a","data":%q,"request_id":"r1"}`,
			fmt.Sprintf("%0100000d", 1),
		),
	)
	if again.Text != w.Text {
		t.Errorf("the retry: %s", again.Text)
	}
	if n := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.BytesOut; n != int64(
		*w.Details.BytesWritten,
	) {
		t.Errorf("%d bytes went out, %d were reported", n, *w.Details.BytesWritten)
	}

	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"b","data":"12345"}`)
	l.OK(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"b"}`)
	r = l.Fails(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","task_id":"a","data":"x"}`,
		term.LockRequired,
		"task b took the lock over",
		"5 bytes",
	)
	if d := r.Details; d.TakenOverBy != "b" || d.TypedSince == nil || *d.TypedSince != 5 {
		t.Errorf("details: %s", r.Text)
	}
}

func TestTakeOverForbidden(t *testing.T) {
	dialers, _ := wired(0)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Dialers: dialers}})
	l.Open(`,"acquire_lock":true,"task_id":"a"`)
	r := l.Fails(
		mcptest.SessionTool,
		`{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`,
		term.PolicyDenied,
		"locks.allow_take_over",
	)
	if r.Details.Rule != "locks.allow_take_over" {
		t.Errorf("details: %s", r.Text)
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.LockHolder != "a" {
		t.Errorf("status: %s", r.Text)
	}
}

// The manager's observers learn who made a call.
func TestActor(t *testing.T) {
	seen := make(actors, 100)
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			Sessions: session.Config{Observers: []term.Observer{seen}},
			Options:  mcpapi.Options{Transport: "socket"},
		},
	)
	l.Open(`,"task_id":"a"`)
	want := term.Actor{Transport: "socket", Client: "tester", Version: "7", Task: "a"}
	for {
		e := <-seen
		if e.Verb == term.VerbOpen {
			if e.Actor != want {
				t.Errorf("actor %+v, want %+v", e.Actor, want)
			}
			return
		}
	}
}

type actors chan term.Event

func (a actors) Observe(e term.Event) {
	select {
	case a <- e:
	default:
	}
}
