package mcpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

// A wire is a terminal in memory.
type wire struct{ net.Conn }

func (wire) Resize(int, int) error { return nil }

// wired returns a dialer of terminals with room for limit bytes (0: any number); their far ends come on the channel.
func wired(limit int) (map[string]term.Dialer, <-chan net.Conn) {
	far := make(chan net.Conn, 1000)
	return map[string]term.Dialer{
		"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			a, b := bufpipe.New(limit)
			far <- b
			return wire{a}, nil
		},
	}, far
}

func TestFiftyLocksAtOnce(t *testing.T) {
	l := newLab(t, labConfig{})
	l.open("")
	var wg sync.WaitGroup
	replies := make([]reply, 50)
	for i := range replies {
		wg.Go(func() {
			replies[i] = l.call(sessionName, fmt.Sprintf(`{"action":"lock","session_id":"$S","task_id":"task-%d"}`, i))
		})
	}
	wg.Wait()
	var winner reply
	winners := 0
	for _, r := range replies {
		if !r.isError {
			winner = r
			winners++
		}
	}
	if winners != 1 {
		t.Fatalf("%d winners", winners)
	}
	for _, r := range replies {
		if r.isError &&
			(r.ErrorCode != term.Locked || r.Details.LockHolder != winner.LockHolder || r.Details.LockExpiresAt != winner.LockExpiresAt) {
			t.Errorf("a loser is told %s", r.text)
		}
	}
}

func TestTakeOver(t *testing.T) {
	dialers, far := wired(4096)
	l := newLab(t, labConfig{sessions: session.Config{Dialers: dialers, AllowTakeOver: true}})
	l.open(`,"acquire_lock":true,"task_id":"a"`)
	before := l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	if s := before.Session; s.LockHolder != "a" || s.LockEpoch == 0 || s.LockExpiresAt != before.LockExpiresAt ||
		s.LockExpiresAt <= time.Now().UnixMilli() {
		t.Errorf("status: %s", before.text)
	}
	_, lost := l.start(
		"tools/call",
		l.params(
			ioName,
			fmt.Sprintf(
				`{"action":"write","session_id":"$S","task_id":"a","data":%q,"request_id":"r1"}`,
				fmt.Sprintf("%0100000d", 1),
			),
		),
	)
	for l.ok(sessionName, `{"action":"status","session_id":"$S"}`).Session.BytesOut < 4096 {
	}
	taken := make(chan reply, 1)
	go func() {
		taken <- l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`)
	}()
	for l.ok(sessionName, `{"action":"status","session_id":"$S"}`).LockHolder != "b" {
	}
	go io.Copy(io.Discard, <-far)
	r := <-taken
	if string(r.members["previous_holder"]) != `"a"` || r.LockHolder != "b" {
		t.Errorf("take over: %s", r.text)
	}
	after := l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	if after.Session.LockEpoch <= before.Session.LockEpoch {
		t.Errorf("epoch %d after %d", after.Session.LockEpoch, before.Session.LockEpoch)
	}

	// The result reports the bytes sent before the lock was lost, and a retry must not type them again.
	w := l.read((<-lost).Result)
	if d := w.Details; w.ErrorCode != term.Locked || d.BytesWritten == nil || *d.BytesWritten < 4096 ||
		d.TakenOverBy != "b" ||
		d.LockHolder != "b" {
		t.Errorf("the write under way: %s", w.text)
	}
	l.ok(sessionName, `{"action":"unlock","session_id":"$S","task_id":"b"}`)
	l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	again := l.call(
		ioName,
		fmt.Sprintf(
			`{"action":"write","session_id":"$S","task_id":"a","data":%q,"request_id":"r1"}`,
			fmt.Sprintf("%0100000d", 1),
		),
	)
	if again.text != w.text {
		t.Errorf("the retry: %s", again.text)
	}
	if n := l.ok(sessionName, `{"action":"status","session_id":"$S"}`).Session.BytesOut; n != int64(
		*w.Details.BytesWritten,
	) {
		t.Errorf("%d bytes went out, %d were reported", n, *w.Details.BytesWritten)
	}

	l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`)
	l.ok(ioName, `{"action":"write","session_id":"$S","task_id":"b","data":"12345"}`)
	l.ok(sessionName, `{"action":"unlock","session_id":"$S","task_id":"b"}`)
	r = l.fails(
		ioName,
		`{"action":"write","session_id":"$S","task_id":"a","data":"x"}`,
		term.LockRequired,
		"task b took the lock over",
		"5 bytes",
	)
	if d := r.Details; d.TakenOverBy != "b" || d.TypedSince == nil || *d.TypedSince != 5 {
		t.Errorf("details: %s", r.text)
	}
}

func TestTakeOverForbidden(t *testing.T) {
	dialers, _ := wired(0)
	l := newLab(t, labConfig{sessions: session.Config{Dialers: dialers}})
	l.open(`,"acquire_lock":true,"task_id":"a"`)
	r := l.fails(
		sessionName,
		`{"action":"lock","session_id":"$S","task_id":"b","take_over":true}`,
		term.PolicyDenied,
		"locks.allow_take_over",
	)
	if r.Details.Rule != "locks.allow_take_over" {
		t.Errorf("details: %s", r.text)
	}
	if r := l.ok(sessionName, `{"action":"status","session_id":"$S"}`); r.LockHolder != "a" {
		t.Errorf("status: %s", r.text)
	}
}
