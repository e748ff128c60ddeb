//go:build unix

package lending

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A blocked has files, and blocks the reads of its source until the test lets them go on.
type blocked struct {
	term.CopyFiles
	reading chan struct{}
	on      chan struct{}
}

func (b *blocked) Source(context.Context, string, bool) (term.FileSource, error) { return b, nil }
func (b *blocked) Entry() term.FileEntry                                         { return term.FileEntry{Name: "x"} }
func (b *blocked) Close() error                                                  { return nil }

func (b *blocked) ReadAt([]byte, int64) (int, error) {
	b.reading <- struct{}{}
	<-b.on
	return 0, io.EOF
}

// TestReadsAtATime: a node that asks for more blocks at a time than a copy does waits for them, and holds no memory here.
func TestReadsAtATime(t *testing.T) {
	l := newLender(t)
	slow := &blocked{reading: make(chan struct{}, 100), on: make(chan struct{})}
	l.here = slow
	lent, b := l.lend("/x", false)
	done, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src, err := files.Source(t.Context(), "/x", true)
	if err != nil {
		t.Fatal(err)
	}
	var reads sync.WaitGroup
	for range 3 * maxReads {
		reads.Go(func() {
			if _, err := src.ReadAt(make([]byte, 10), 0); !errors.Is(err, io.EOF) {
				t.Errorf("ReadAt = %v", err)
			}
		})
	}
	for range maxReads {
		<-slow.reading
	}
	if n := len(slow.reading); n != 0 || len(lent.reads) != maxReads {
		t.Errorf("%d blocks more are read at a time, %d in all", n, len(lent.reads))
	}
	close(slow.on)
	reads.Wait()
	done(0, "", nil)
	b.Close()
	l.over("after it")
}

// TestReadAgain: a node that asks for the same blocks again and again does not get them without end.
func TestReadAgain(t *testing.T) {
	l := newLender(t)
	data := bytes.Repeat([]byte("x"), maxRead)
	path := l.write("x", data)
	lent := l.table.Lend(t.Context(), l, Terms{To: "b", Path: path, Limits: session.CopyLimits{Bytes: maxRead, Files: 1}})
	b := Borrow(Options{ID: lent.ID(), Node: "a", Session: "web@a", Machine: "m", Call: l.call})
	done, err := b.Permit(t.Context(), path, "copy", session.CopyPart{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src, err := files.Source(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range passes + 1 {
		n, err := src.ReadAt(make([]byte, maxRead), 0)
		if i < passes && (err != nil || n != maxRead) || i == passes && (!errors.Is(err, term.LimitExceeded) || n != 0) {
			t.Errorf("block %d = %d bytes, %v", i+1, n, err)
		}
	}
	done(0, "", nil)
	b.Close()
	l.over("after it")
}

// TestNoRoom: a request waits for a limited time while the node answers other calls, such as those of other copies. If
// the answer itself says that the copy has no room, the request is not repeated.
func TestNoRoom(t *testing.T) {
	full := &term.Error{Kind: term.LimitExceeded, Msg: "it already has 256 calls of this caller"}
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		_, b := l.lend("/x", false)
		calls, room := 0, time.Now().Add(roomTime/2)
		b.o.Call = func(ctx context.Context, request []byte) ([]byte, error) {
			if calls++; time.Now().Before(room) {
				return nil, full
			}
			return l.call(ctx, request)
		}
		done, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{})
		if err != nil {
			t.Fatalf("Permit at a node that has room after %v: %v", roomTime/2, err)
		}
		if late := time.Since(room); late > mostWait || calls > 40 {
			t.Errorf("it was allowed %v after there was room, with %d calls", late, calls)
		}
		done(0, "", nil)

		before, from := calls, time.Now()
		for range maxOpen {
			if _, err = b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); !errors.Is(err, term.LimitExceeded) {
			t.Errorf("%d files at a time = %v", maxOpen+1, err)
		}
		if calls-before != maxOpen+1 || time.Since(from) != 0 {
			t.Errorf("it took %d calls and %v", calls-before, time.Since(from))
		}

		room = time.Now().Add(time.Hour)
		if _, err = b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); !errors.Is(err, term.LimitExceeded) {
			t.Errorf("Permit at a node without room = %v", err)
		}
		if took := time.Since(from); took != roomTime {
			t.Errorf("it was refused after %v, want %v", took, roomTime)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from = time.Now()
		if _, err = b.Permit(ctx, "/x", "copy", session.CopyPart{}); err == nil || time.Since(from) != time.Second {
			t.Errorf("Permit of a call that was canceled = %v after %v", err, time.Since(from))
		}
		b.Close()
	})
}

// TestEnds: a loan ends when the node is silent, when the session ends, and when no one has used it.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		_, b := l.lend("/x", false)
		if _, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(Silence + time.Second)
		synctest.Wait()
		l.over("after the silence of the node")
		if !errors.Is(l.ended["/x"], term.RemoteClosed) {
			t.Errorf("the record of the file has ended with %v", l.ended["/x"])
		}
		b.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		_, b := l.lend("/x", false)
		if _, err := b.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // it does not read, but reports that it goes on
		if len(l.table.lent) != 1 {
			t.Error("what was lent has ended while the copy goes on")
		}
		b.Close()
		l.over("after the copy")
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		lent, b := l.lend("/x", false)
		l.end()
		synctest.Wait()
		l.over("after the end of the session")
		if _, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); !errors.Is(err, term.RemoteClosed) {
			t.Errorf("a file after the end of the session: %v", err)
		}
		if n := lent.Over(); n != 0 {
			t.Errorf("%d bytes were read", n)
		}
		b.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		lent, _ := l.lend("/x", false)
		lent.Over()
		time.Sleep(unused + time.Second)
		synctest.Wait()
		l.over("after a call that did not want it")
	})
}

// TestClose: Close returns when all loans have ended, even if a session has ended just before.
func TestClose(t *testing.T) {
	for when, end := range map[string]func(*lender){"lent": func(*lender) {}, "whose session ends": func(l *lender) { l.end() }} {
		l := newLender(t)
		_, b := l.lend("/x", false)
		if _, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{}); err != nil {
			t.Fatal(err)
		}
		end(l)
		l.table.Close()
		l.over("after Close, of a file " + when)
		if !errors.Is(l.ended["/x"], term.RemoteClosed) {
			t.Errorf("Close, of a file %s: its record has ended with %v", when, l.ended["/x"])
		}
		_, b = l.lend("/x", false)
		if _, err := b.Open(t.Context()); !errors.Is(err, term.RemoteClosed) || l.closed != 2 {
			t.Errorf("Open of what was lent after Close = %v, and %d connections were closed; want 2", err, l.closed)
		}
		b.Close()
	}
}

// TestAnswersOfOthers: an invalid answer of a node is an error.
func TestAnswersOfOthers(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":          `{`,
		"no entry":         `{}`,
		"two entries":      `{"entries":[{"name":"YQ=="},{"name":"YQ=="}]}`,
		"a negative size":  `{"entries":[{"name":"YQ==","size":-1}]}`,
		"a fault":          `{"failure":{"kind":"INTERNAL","msg":"secret"}}`,
		"no kind":          `{"failure":{"msg":"secret"}}`,
		"a giant failure":  `{"failure":{"kind":"NOT_FOUND","msg":"` + strings.Repeat("x", maxText+1) + `"}}`,
		"a giant kind":     `{"failure":{"kind":"` + strings.Repeat("x", maxText+1) + `"}}`,
		"a giant list":     `{"failure":{"kind":"NOT_FOUND","rule":"r","allowed":["` + strings.Repeat("x", maxText+1) + `"]}}`,
		"a wrong nanosec.": `{"entries":[{"name":"YQ==","nano":-1}]}`,
	} {
		b := Borrow(Options{Node: "a", Session: "web@a", Call: func(context.Context, []byte) ([]byte, error) { return []byte(text), nil }})
		f := &files{b: b}
		if e, err := f.Look(t.Context(), "/x"); !errors.Is(err, term.IOError) || strings.Contains(err.Error(), "secret") || len(err.Error()) > 300 {
			t.Errorf("%s: Look = %+v, %v; want IO_ERROR", name, e, err)
		}
	}
	more := Borrow(Options{Node: "a", Call: func(context.Context, []byte) ([]byte, error) {
		return []byte(`{"entries":[{"name":"YQ=="},{"name":"Yg=="}]}`), nil
	}})
	if got, err := (&files{b: more}).Entries(t.Context(), "/x", 1); !errors.Is(err, term.IOError) {
		t.Errorf("more entries than were asked for = %v, %v", got, err)
	}
	if n, err := (&source{b: more, ctx: t.Context()}).ReadAt(make([]byte, 3), 0); n != 0 || !errors.Is(err, term.IOError) {
		t.Errorf("more bytes than were asked for = %d, %v", n, err)
	}
	if _, err := more.Permit(t.Context(), strings.Repeat("x", maxRequest), "copy", session.CopyPart{}); !errors.Is(err, term.InvalidArgument) {
		t.Errorf("a path that is too long: %v", err)
	}
}

// TestLostNode: the end is not reported to a lost node, because the copy would have to wait for that.
func TestLostNode(t *testing.T) {
	for _, kind := range []term.Kind{term.NodeUnreachable, term.NodeSilent} {
		calls := 0
		b := Borrow(Options{Node: "a", Session: "web@a", Call: func(_ context.Context, r []byte) ([]byte, error) {
			if calls++; calls > 1 {
				return nil, &term.Error{Kind: kind, Msg: "whether the call was done is unknown"}
			}
			return []byte(`{"number":1}`), nil
		}})
		done, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Open(t.Context())
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Kind != term.NodeUnreachable || e.Session != "web@a" || strings.Contains(e.Msg, "unknown") ||
			term.FactOf[term.UnreachedNode](e).Node != "a" {
			t.Errorf("%s: Open = %#v, want NODE_UNREACHABLE: a copy only reads there", kind, err)
		}
		done(0, "", err)
		b.Close()
		if calls != 2 {
			t.Errorf("%s: the node was called %d times", kind, calls)
		}
	}
}

// TestNodeComesBack: a loan outlives a time without a connection if the copy reads nothing meanwhile.
func TestNodeComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLender(t)
		lent, _ := l.lend("/x", false)
		var away atomic.Bool
		b := Borrow(Options{ID: lent.ID(), Node: "a", Session: "web@a", Call: func(ctx context.Context, r []byte) ([]byte, error) {
			if away.Load() {
				return nil, &term.Error{Kind: term.NodeUnreachable, Msg: "this node has no connection"}
			}
			return l.call(ctx, r)
		}})
		if _, err := b.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		away.Store(true)
		time.Sleep(aliveEvery + time.Second)
		away.Store(false)
		time.Sleep(time.Hour)
		done, err := b.Permit(t.Context(), "/x", "copy", session.CopyPart{})
		if err != nil {
			t.Fatalf("Permit after the node was away = %v", err)
		}
		done(0, "", nil)
		if err, ended := l.ended["/x"]; !ended || err != nil {
			t.Errorf("the record of a file has ended: %t, with %v", ended, err)
		}
		b.Close()
		l.over("after the copy")
	})
}

// TestFailureAndBack: an error about a file is the same at the other node.
func TestFailureAndBack(t *testing.T) {
	for _, e := range []*term.Error{
		{Op: "file_read", Kind: term.NotFound, Msg: "no such file", Reason: term.ReasonUnreadable},
		{Kind: term.InvalidArgument, Msg: "wrong", Facts: term.Facts{term.ArgumentFault{Field: term.FieldCopyFrom}}},
		{Kind: term.PolicyDenied, Msg: "no", Facts: term.Facts{term.Denial{Setting: term.SettingRemoteFiles}}},
		{Kind: term.LimitExceeded, Msg: "no", Facts: term.Facts{term.LimitReached{Limit: term.LimitCopyFiles, Value: 3}}},
	} {
		text, err := json.Marshal(answer{Failure: failureOf(e)})
		if err != nil {
			t.Fatal(err)
		}
		_, got := decode("a", "web@a", text)
		want := *e
		want.Session = "web@a"
		if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", &want) {
			t.Errorf("%#v has come as %#v", &want, got)
		}
	}
	if f := failureOf(errors.New("secret")); f.Kind != term.Internal || strings.Contains(f.Msg, "secret") {
		t.Errorf("an error without a kind is sent as %+v", f)
	}
}
