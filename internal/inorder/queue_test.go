package inorder

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// words reads a call of the form "NAME[:PATH[?]]..." as what it is about; "?" means that it reads the file.
func words(call json.RawMessage) (about []Subject) {
	for w := range strings.FieldsSeq(string(call)) {
		w, reads := strings.CutSuffix(w, "?")
		name, path, _ := strings.Cut(w, ":")
		about = append(about, Subject{name, path, reads})
	}
	return about
}

// after returns a limit of Wait.
func after(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestConflict(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"web1", "web1", true},
		{"web1", "web2", false},
		{"web1", "web1:/etc/hosts", false}, // its terminal, and its files
		{"web1:/etc/hosts", "web1:/etc/hosts", true},
		{"web1:/etc/hosts", "web1:/etc", true},
		{"web1:/", "web1:/etc", true},
		{"web1:/etc/hosts", "web1:/etc/hosts.allow", false},
		{"web1:hosts", "web1:/hosts", true}, // perhaps
		{"web1:hosts", "web1:host", false},
		{"web1:.", "web1:hosts", true},
		{"web1:hosts?", "web1:/etc?", false},
		{"web1", "web1:hosts", false},
		{"web1:/etc/hosts", "web2:/etc/hosts", false},
		{"web1:/a?", "web1:/a", true},
		{"web1:/a?", "web1:/a?", false},
		{"web1:/a? web1:/b", "web1:/a? web1:/c", false}, // two copies of a file
		{"web1:/a web2:/b", "web3:/c web2:/b", true},
		{"", "", false},
	} {
		a, b := words(json.RawMessage(c.a)), words(json.RawMessage(c.b))
		if got := conflict(a, b); got != c.want || conflict(b, a) != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestInOrder checks that calls about one subject go on one after the other, in the order in which they joined, and others
// at once.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(words)
		var mu sync.Mutex
		var went []string
		var turns []*Turn
		for _, call := range []string{"a:/", "b:/", "a:/", "a:/?", "a:/?", "a:/"} {
			p := q.Join(json.RawMessage(call))
			turns = append(turns, p)
			go func() {
				if err := p.Wait(t.Context(), after(time.Minute)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				went = append(went, call)
			}()
		}
		pass := func(passes int, want ...string) {
			t.Helper()
			if passes >= 0 {
				turns[passes].Pass()
				turns[passes].Pass()
			}
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(went)
			if !slices.Equal(went, want) {
				t.Errorf("%q went on, want %q", went, want)
			}
			went = nil
		}
		pass(-1, "a:/", "b:/")
		pass(1)
		pass(0, "a:/")
		pass(2, "a:/?", "a:/?")
		pass(4)
		pass(3, "a:/")
		pass(5)
		for _, p := range turns {
			p.Pass()
		}
		if len(q.turns) != 0 {
			t.Errorf("%d turns are left", len(q.turns))
		}
	})
}

// A call whose context ends waits no longer, and the calls behind it wait for those before it.
func TestWaitCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(words)
		first, second, third, fourth := q.Join([]byte("a")), q.Join([]byte("a")), q.Join([]byte("a")), q.Join([]byte("a"))
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- second.Wait(ctx, after(time.Minute)) }()
		synctest.Wait()
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Errorf("%v", err)
		}
		second.Pass()
		began := time.Now()
		if err := fourth.Wait(t.Context(), after(time.Second)); err != context.DeadlineExceeded || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		done := make(chan struct{})
		go func() {
			_ = third.Wait(t.Context(), after(time.Minute))
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the third call overtook the first")
		default:
		}
		Pass(With(t.Context(), first))
		<-done
	})
}

// TestAlone checks that nobody reads what a call is about that is alone.
func TestAlone(t *testing.T) {
	q := New(func(json.RawMessage) []Subject { t.Error("a call was read"); return nil })
	for range 3 {
		p := q.Join([]byte("a"))
		if err := p.Wait(t.Context(), after(time.Minute)); err != nil {
			t.Error(err)
		}
		p.Pass()
	}
	Pass(t.Context())
	var none *Queue
	p := none.Join([]byte("a"))
	if err := p.Wait(t.Context(), after(time.Minute)); err != nil || From(With(t.Context(), p)) != nil {
		t.Error(err)
	}
	p.Pass()
}

// A call that waits elsewhere passes there once, and not after its end.
func TestElsewhere(t *testing.T) {
	passed := 0
	p := Elsewhere(func() { passed++ })
	if err := p.Wait(t.Context(), after(time.Minute)); err != nil {
		t.Error(err)
	}
	Pass(With(t.Context(), p))
	p.Pass()
	p.End()
	if p.Over(); passed != 1 {
		t.Errorf("it passed %d times", passed)
	}
	ended := Elsewhere(func() { passed++ })
	if ended.End(); passed != 2 {
		t.Error("it has not passed with its end")
	}
	late := Elsewhere(func() { t.Error("it passed after its end") })
	late.Over()
	late.Pass()
}

// A call whose work outlasts it has passed with the end of the work.
func TestKeep(t *testing.T) {
	q := New(words)
	first, second := q.Join([]byte("a")), q.Join([]byte("a"))
	first.Keep()
	first.End()
	if err := second.Wait(t.Context(), after(0)); err != context.DeadlineExceeded {
		t.Errorf("behind a call that goes on: %v", err)
	}
	first.Pass()
	second.End()
	var none *Turn
	none.Keep()
	none.End()
	if len(q.turns) != 0 {
		t.Errorf("%d turns are left", len(q.turns))
	}
}

// A turn holds none of those before it once it has passed: a client may always have a second call in flight.
func TestTurnsAreFreed(t *testing.T) {
	q := New(words)
	freed := make(chan bool, 1)
	last := q.Join([]byte("a"))
	runtime.SetFinalizer(last, func(*Turn) { freed <- true })
	for range 100 {
		next := q.Join([]byte("a"))
		last.Pass()
		if err := next.Wait(t.Context(), after(time.Minute)); err != nil {
			t.Fatal(err)
		}
		last = next
	}
	last.Pass()
	defer func() { runtime.KeepAlive(last) }()
	for late := time.After(20 * time.Second); ; {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-late:
			t.Fatal("the first turn is still in memory")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// The first of the callers has the way, also when those before it have given up.
func TestFIFO(t *testing.T) {
	var q FIFO
	var waiters []*Waiter
	for range 4 {
		waiters = append(waiters, q.Join())
	}
	first := func() (is []int) {
		for i, w := range waiters {
			select {
			case <-w.First():
				is = append(is, i)
			default:
			}
		}
		return is
	}
	for _, step := range []struct {
		leaves int
		first  []int
	}{{2, []int{0}}, {0, []int{0, 1}}, {1, []int{0, 1, 3}}, {3, []int{0, 1, 3}}} {
		if waiters[step.leaves].Leave(); !slices.Equal(first(), step.first) {
			t.Errorf("after caller %d has left, %v are or were first, want %v", step.leaves, first(), step.first)
		}
	}
	if w := q.Join(); len(q.waiting) != 1 {
		t.Error("the FIFO is not empty")
	} else {
		<-w.First()
		w.Leave()
	}
}
