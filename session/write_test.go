package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/session"
	"ptyctl/term"
)

func TestWriteCursorMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "$ ")
		go func() { io.WriteString(far, "echo of "+take(t, far, 3)) }()
		w, err := s.Write(t.Context(), []byte("ls\r"), session.WriteOptions{})
		if err != nil || w.Cursor != 2 || w.Written != 3 || w.TimedOut || w.Answered || w.Warnings != nil {
			t.Fatalf("%+v, %v", w, err)
		}
		c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Until: re(`ls\r`), Timeout: time.Minute})
		if string(c.Data) != "echo of ls\r" {
			t.Errorf("read %q", c.Data)
		}
		if i := s.Info(); !i.Typed || i.BytesOut != 3 || i.BytesIn != 13 || i.LastOut.IsZero() || i.LastIn.IsZero() {
			t.Errorf("info = %+v, want 3 bytes out, 13 in, and their times", i)
		}
	})
}

// The cursor of a write that had to wait is from when its turn came.
func TestWriteCursorIsOfItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 100, session.Options{})
		go s.Write(t.Context(), make([]byte, 200), session.WriteOptions{})
		synctest.Wait()
		result := make(chan session.WriteResult, 1)
		go func() {
			w, _ := s.Write(t.Context(), []byte("x"), session.WriteOptions{})
			result <- w
		}()
		synctest.Wait()
		put(t, far, "answer to the first")
		take(t, far, 201)
		if w := <-result; w.Cursor != 19 || w.Written != 1 {
			t.Errorf("write = %+v, want cursor 19 and 1 byte written", w)
		}
	})
}

func TestWritesAreContiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 100, session.Options{})
		const writers, size = 50, 10000 // several pieces each
		for i := range writers {
			go func() {
				p := []byte(strings.Repeat(string(rune('0'+i)), size))
				w, err := s.Write(t.Context(), p, session.WriteOptions{})
				if err != nil || w.Written != size || w.Pending != 0 || w.TimedOut {
					t.Errorf("writer %d: %+v, %v", i, w, err)
				}
				for i := range p { // the caller's own again
					p[i] = '!'
				}
			}()
		}
		seen := make(map[byte]bool)
		for range writers {
			p := take(t, far, size)
			if strings.Trim(p, p[:1]) != "" || seen[p[0]] {
				t.Fatalf("a write is in pieces: %.10q...", p)
			}
			seen[p[0]] = true
		}
		synctest.Wait()
	})
}

// A write to a far side that takes nothing ends at its deadline, and reports the bytes that may still go out.
func TestWriteDeadline(t *testing.T) {
	for _, c := range []struct {
		room, size, written, pending int
	}{
		{100, 10, 10, 0},
		{6000, 5000, 5000, 0},
		{6000, 20000, 4096, 4096},
		{100, 3000, 0, 3000},
		{4096, 5000, 4096, 904},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := start(t, c.room, session.Options{WriteTimeout: 3 * time.Second})
				data := []byte(strings.Repeat("0123456789", c.size/10+1)[:c.size])
				var w session.WriteResult
				var err error
				took := since(func() { w, err = s.Write(t.Context(), data, session.WriteOptions{}) })
				stuck := c.written < c.size
				if err != nil || w.Written != c.written || w.Pending != c.pending || w.TimedOut != stuck ||
					stuck && took != 3*time.Second {
					t.Fatalf("%+v, %v after %v", w, err, took)
				}
				if !stuck {
					return
				}
				// The next one waits for its turn in vain, and says so.
				took = since(func() {
					w, err = s.Write(t.Context(), []byte("x"), session.WriteOptions{Timeout: time.Second})
				})
				if err != nil || w.Written != 0 || w.Pending != 0 || !w.TimedOut || took != time.Second {
					t.Fatalf("behind it: %+v, %v after %v", w, err, took)
				}
				// Once the far side reads, only the piece in hand goes out.
				copy(data, strings.Repeat("!", len(data))) // which is the caller's again
				want := strings.Repeat("0123456789", c.size/10+1)[:c.written+c.pending]
				if got := take(t, far, len(want)); got != want {
					t.Fatal("not what was written")
				}
				synctest.Wait()
				if w, err = s.Write(t.Context(), []byte("y"), session.WriteOptions{}); err != nil || w.Written != 1 ||
					take(t, far, 1) != "y" {
					t.Errorf("after it: %+v, %v", w, err)
				}
			})
		})
	}
}

// Calls of a client that wait for a far side which takes nothing end together, each at its own deadline, and are typed in
// their order if it takes input in time.
func TestWritesInOrder(t *testing.T) {
	for _, stuck := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const writes = 20
			s, far := start(t, 100, session.Options{WriteTimeout: 10 * time.Second})
			calls := inorder.New(func(json.RawMessage) []inorder.Subject { return []inorder.Subject{{Name: "it"}} })
			began := time.Now()
			var done sync.WaitGroup
			for i := range writes {
				turn, data := calls.Join([]byte("{}")), []byte(fmt.Sprintf("%02d ", i))
				if i == 0 {
					data = make([]byte, 101)
				}
				done.Go(func() {
					defer turn.End()
					if err := turn.Wait(t.Context(), func() time.Duration { return time.Minute }); err != nil {
						t.Error(err)
					}
					ctx := inorder.With(t.Context(), turn)
					if !stuck && i%3 == 2 {
						list := []session.Step{{Inputs: []session.StepInput{{Data: data}}}}
						if r, err := s.WriteSteps(ctx, list, time.Minute); err != nil || r.Written != len(data) {
							t.Errorf("steps %d: %+v, %v", i, r, err)
						}
						return
					}
					w, err := s.Write(ctx, data, session.WriteOptions{})
					if took := time.Since(began); err != nil || w.TimedOut != stuck || took > 10*time.Second {
						t.Errorf("write %d: %+v, %v after %v", i, w, err, took)
					}
				})
			}
			if synctest.Wait(); !stuck {
				var want strings.Builder
				for i := 1; i < writes; i++ {
					fmt.Fprintf(&want, "%02d ", i)
				}
				time.Sleep(9 * time.Second)
				take(t, far, 101)
				if got := take(t, far, want.Len()); got != want.String() {
					t.Errorf("typed were %q, want %q", got, want.String())
				}
			}
			done.Wait()
		})
	}
}

func TestWriteCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 100, session.Options{WriteTimeout: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stuck := make(chan error, 1)
		go func() {
			w, err := s.Write(ctx, make([]byte, 5000), session.WriteOptions{})
			if w.Written != 0 || w.Pending != 4096 {
				t.Errorf("write to a blocked far side = %+v, want 0 written and 4096 pending", w)
			}
			stuck <- err
		}()
		synctest.Wait()
		queued := make(chan error, 1)
		go func() { _, err := s.Write(ctx, []byte("x"), session.WriteOptions{}); queued <- err }()
		wantKind(t, <-stuck, term.Canceled)
		wantKind(t, <-queued, term.Canceled)
	})
}

// A late is a transport that returns from Write a moment after the far side has the bytes.
type late struct{ net.Conn }

func (late) Resize(int, int) error { return nil }

func (l late) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	time.Sleep(10 * time.Millisecond)
	return n, err
}

// The far side answers before the transport has returned, and the caller gives up then: the bytes count as written.
func TestWriteCanceledBehindItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := session.New(late{near}, session.Options{})
		defer s.Close(t.Context(), session.CloseOptions{Force: true})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			take(t, far, 3)
			cancel()
		}()
		w, err := s.Write(ctx, []byte("ls\r"), session.WriteOptions{})
		if w.Written != 3 || w.Pending != 0 {
			t.Errorf("a write that was canceled behind its answer = %+v, %v; want 3 bytes written", w, err)
		}
	})
}

// Close does not wait for a write that is stuck; the write learns of it at once.
func TestCloseWhileWriteIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 100, session.Options{})
		results := make(chan error, 2)
		for range 2 { // one stuck, one behind it
			go func() { _, err := s.Write(t.Context(), make([]byte, 5000), session.WriteOptions{}); results <- err }()
		}
		synctest.Wait()
		took := since(func() {
			s.Close(task("t1"), session.CloseOptions{})
			for range 2 {
				if e := wantKind(t, <-results, term.AlreadyClosed); term.FactOf[term.Ended](e).Reason != "closed by task t1" {
					t.Errorf("end reason %q", term.FactOf[term.Ended](e).Reason)
				}
			}
		})
		if took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestWriteRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		_, err := s.Write(task("t2"), []byte("x"), session.WriteOptions{})
		e := wantKind(t, err, term.Locked)
		if term.FactOf[term.LockConflict](e).Holder != "t1" ||
			!term.FactOf[term.LockConflict](e).Expires.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("details %+v", e.Facts)
		}
		_, err = s.Write(t.Context(), []byte("x"), session.WriteOptions{})
		wantKind(t, err, term.Locked)
		if w, err := s.Write(task("t1"), []byte("y"), session.WriteOptions{}); err != nil || w.Written != 1 ||
			take(t, far, 1) != "y" {
			t.Errorf("the holder: %+v, %v", w, err)
		}
		s.Close(t.Context(), session.CloseOptions{})
		w, err := s.Write(task("t1"), []byte("x"), session.WriteOptions{})
		if e := wantKind(t, err, term.AlreadyClosed); term.FactOf[term.Ended](e).Reason != "closed by the caller" ||
			w.Written != 0 {
			t.Errorf("%+v, %+v", e.Facts, w)
		}
	})
}

// A lease that is lost in the middle of a long write stops it after the piece under way.
func TestWriteStopsWhenTheLockIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(locks *session.LockTable, s *session.Session)
		kind term.Kind
	}{
		"taken over": {func(l *session.LockTable, s *session.Session) {
			l.TakeOver(s.ID(), session.Holder{Task: "thief"}, time.Minute)
		}, term.Locked},
		"expired":         {func(*session.LockTable, *session.Session) { time.Sleep(time.Minute) }, term.LockRequired},
		"given back":      {func(_ *session.LockTable, s *session.Session) { s.Unlock(task("t1")) }, term.LockRequired},
		"granted anew":    {func(_ *session.LockTable, s *session.Session) { s.Unlock(task("t1")); s.Lock(task("t1"), time.Hour) }, term.LockRequired},
		"never had, lost": {func(_ *session.LockTable, s *session.Session) { s.Unlock(task("t1")); s.Lock(task("t9"), time.Hour) }, term.Locked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var locks session.LockTable
				var seen diary
				s, far := start(t, 4096, session.Options{Locks: &locks, WriteTimeout: time.Hour, Observers: []term.Observer{&seen}})
				if _, err := s.Lock(task("t1"), time.Minute); err != nil {
					t.Fatal(err)
				}
				result := make(chan session.WriteResult, 1)
				var err error
				go func() {
					var w session.WriteResult
					w, err = s.Write(task("t1"), make([]byte, 100_000), session.WriteOptions{})
					result <- w
				}()
				synctest.Wait() // the first piece is out, the second in hand
				c.lose(&locks, s)
				go io.Copy(io.Discard, far)
				w := <-result
				wantKind(t, err, c.kind)
				if w.Written != 2*4096 || w.Pending != 0 {
					t.Errorf("write that lost its lock = %+v, want 8192 written and none pending", w)
				}
				if e := seen.Of(term.VerbWrite); len(e) != 1 || e[0].Size != 2*4096 || len(e[0].Data) != 2*4096 ||
					!errors.Is(e[0].Err, c.kind) ||
					e[0].Refused != nil {
					t.Errorf("%d events", len(e))
				}
			})
		})
	}
}

// A write whose last piece is under way when the lease is lost is complete.
func TestWriteIsWholeWhenTheLockIsLostAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks session.LockTable
		s, far := start(t, 4096, session.Options{Locks: &locks, WriteTimeout: time.Hour})
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		var w session.WriteResult
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { w, err = s.Write(task("t1"), make([]byte, 2*4096), session.WriteOptions{}) })
		synctest.Wait() // the first piece is out, the second in hand
		locks.TakeOver(s.ID(), session.Holder{Task: "thief"}, time.Minute)
		go io.Copy(io.Discard, far)
		wg.Wait()
		if err != nil || w.Written != 2*4096 || w.Pending != 0 {
			t.Errorf("%+v, %v; want 8192 bytes written", w, err)
		}
	})
}

// Bytes that a far side took before it ended count, even if the session is over by then.
func TestWriteThatEndsTheSession(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			s := session.New(&plain{ReadWriteCloser: near}, session.Options{})
			defer s.Close(t.Context(), session.CloseOptions{})
			go func() { take(t, far, 5); far.Close() }()
			if w, err := s.Write(t.Context(), []byte("exit\r"), session.WriteOptions{}); err != nil || w.Written != 5 {
				t.Fatalf("%+v, %v", w, err)
			}
			<-s.Ended()
		})
	}
}

// A slow stream ends when it is written to, a while before Write returns.
type slow struct {
	ended chan struct{}
}

func (s *slow) Read([]byte) (int, error) { <-s.ended; return 0, io.EOF }
func (s *slow) Close() error             { return nil }

func (s *slow) Write(p []byte) (int, error) {
	close(s.ended)
	time.Sleep(100 * time.Millisecond)
	return len(p), nil
}

func TestWriteThatReturnsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(&plain{ReadWriteCloser: &slow{make(chan struct{})}}, session.Options{})
		defer s.Close(t.Context(), session.CloseOptions{})
		if w, err := answer(s, "exit\r"); err != nil || w.Written != 5 {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

func TestWriteToFarSideThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := session.New(&plain{ReadWriteCloser: near}, session.Options{})
		defer s.Close(t.Context(), session.CloseOptions{})
		result := make(chan error, 1)
		go func() {
			w, err := s.Write(t.Context(), []byte("hello"), session.WriteOptions{})
			if w.Written != 2 || w.Pending != 0 || w.TimedOut {
				t.Errorf("write = %+v, want 2 bytes written, none pending, no timeout", w)
			}
			result <- err
		}()
		take(t, far, 2)
		far.Close()
		wantKind(t, <-result, term.RemoteClosed)
	})
}

// A dividing terminal cuts long data after a line end.
type dividing struct{ plain }

func (*dividing) Divide(data []byte, limit int) int {
	return bytes.LastIndexByte(data[:limit], '\n') + 1
}

func TestLongWritesAreCutWhereTheTransportSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &pieces{wait: make(chan struct{})}
		s := session.New(&dividing{plain{ReadWriteCloser: far}}, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		line := strings.Repeat("x", 2999) + "\n"
		if _, err := s.Write(t.Context(), []byte(line+line+"y"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if want := []int{3000, 3001}; !slices.Equal(far.sizes, want) {
			t.Errorf("6001 bytes in two lines went out as pieces of %d bytes, want %d", far.sizes, want)
		}
	})
}

// pieces counts the bytes of each Write. Nothing comes from it before it is closed.
type pieces struct {
	sizes []int
	once  sync.Once
	wait  chan struct{}
}

func (p *pieces) Read([]byte) (int, error) {
	<-p.wait
	return 0, io.EOF
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return len(b), nil
}

func (p *pieces) Close() error {
	p.once.Do(func() { close(p.wait) })
	return nil
}

// observed calls f for each event.
type observed func(term.Event)

func (f observed) Observe(e term.Event) { f(e) }

// The cursor of an answer misses no byte that the login sends afterwards, however soon.
func TestAnswerCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &login{questions: []string{"Password: ", "Code: "}}
		m := manage(t, l.dial, session.Config{Observers: []term.Observer{observed(func(e term.Event) {
			if e.Verb == term.VerbAnswer {
				time.Sleep(time.Second) // the answer is given by then, and the login goes on
			}
		})}})
		r, err := m.Open(t.Context(), target("h"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := answer(r.Session, "hunter2\r")
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Session.Read(t.Context(),
			session.ReadRequest{Cursor: w.Cursor, NoWait: true}); string(c.Data) != "\r\nCode: " {
			t.Errorf("what came of the answer is %q", c.Data)
		}
	})
}
