package inorder

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// words reads a call of the form "NAME[:PATH[?]]..." as what it is about; "?" means that it reads the file.
func words(call json.RawMessage) (about []Subject) {
	for _, w := range strings.Fields(string(call)) {
		w, reads := strings.CutSuffix(w, "?")
		name, path, _ := strings.Cut(w, ":")
		about = append(about, Subject{name, path, reads})
	}
	return about
}

func TestMeets(t *testing.T) {
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
		{"web1:hosts", "web1:/hosts", false},
		{"web1:/etc/hosts", "web2:/etc/hosts", false},
		{"web1:/a?", "web1:/a", true},
		{"web1:/a?", "web1:/a?", false},
		{"web1:/a? web1:/b", "web1:/a? web1:/c", false}, // two copies of a file
		{"web1:/a web2:/b", "web3:/c web2:/b", true},
		{"", "", false},
	} {
		a, b := words(json.RawMessage(c.a)), words(json.RawMessage(c.b))
		if got := meet(a, b); got != c.want || meet(b, a) != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestInOrder checks that calls about one subject go on one after the other, in the order in which they joined, and others
// at once.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(words)
		var mu sync.Mutex
		var went []string
		var places []*Place
		for _, call := range []string{"a:/", "b:/", "a:/", "a:/?", "a:/?", "a:/"} {
			p := l.Join(json.RawMessage(call))
			places = append(places, p)
			go func() {
				if err := p.Wait(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				went = append(went, call)
			}()
		}
		after := func(passes int, want ...string) {
			t.Helper()
			if passes >= 0 {
				places[passes].Pass()
				places[passes].Pass()
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
		after(-1, "a:/", "b:/")
		after(1)
		after(0, "a:/")
		after(2, "a:/?", "a:/?")
		after(4)
		after(3, "a:/")
		after(5)
		for _, p := range places {
			p.Pass()
		}
		if len(l.places) != 0 {
			t.Errorf("%d places are left", len(l.places))
		}
	})
}

// A call whose context ends waits no longer, and the calls behind it wait for those before it.
func TestWaitCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(words)
		first, second, third := l.Join([]byte("a")), l.Join([]byte("a")), l.Join([]byte("a"))
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- second.Wait(ctx, time.Minute) }()
		synctest.Wait()
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Errorf("%v", err)
		}
		second.Pass()
		began := time.Now()
		if err := third.Wait(t.Context(), time.Second); err != context.DeadlineExceeded || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		done := make(chan struct{})
		go func() {
			_ = third.Wait(t.Context(), time.Minute)
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
	l := New(func(json.RawMessage) []Subject { t.Error("a call was read"); return nil })
	for range 3 {
		p := l.Join([]byte("a"))
		if err := p.Wait(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
		p.Pass()
	}
	Pass(t.Context())
	var none *Line
	p := none.Join([]byte("a"))
	if err := p.Wait(t.Context(), time.Minute); err != nil || From(With(t.Context(), p)) != nil {
		t.Error(err)
	}
	p.Pass()
}

// A call that waits elsewhere passes there once, and not after its end.
func TestElsewhere(t *testing.T) {
	passed := 0
	p := Elsewhere(func() { passed++ })
	if err := p.Wait(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	Pass(With(t.Context(), p))
	p.Pass()
	if p.Over(); passed != 1 {
		t.Errorf("it passed %d times", passed)
	}
	late := Elsewhere(func() { t.Error("it passed after its end") })
	late.Over()
	late.Pass()
}
