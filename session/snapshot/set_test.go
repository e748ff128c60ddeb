package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ptyctl/buffer"
	"ptyctl/term"
)

func TestKeep(t *testing.T) {
	pool := buffer.NewPool(100)
	s := New(pool)
	keep := func(name, text string, want term.Kind) {
		t.Helper()
		err := s.Keep(Snapshot{Name: name, Command: "show", Text: text})
		if want == "" && err != nil || want != "" && !errors.Is(err, want) {
			t.Errorf("Keep(%q, %d bytes) = %v, want %q", name, len(text), err, want)
		}
	}
	keep("a", strings.Repeat("x", 40), "")
	keep("b", strings.Repeat("y", 50), "")
	keep("c", strings.Repeat("z", 20), term.LimitExceeded) // of the pool
	keep("a", "small", "")                                 // in place of the other
	keep("c", strings.Repeat("z", 20), "")
	if held := pool.Held(); held != 75 {
		t.Errorf("the pool holds %d bytes, want 75", held)
	}
	keep("d", strings.Repeat("z", MaxBytes+1), term.Unsupported)
	for _, name := range []string{"", "a b", "ä", "a/b", "a\x00", "@", "[", "`", "{", strings.Repeat("n", MaxName+1)} {
		keep(name, "x", term.InvalidArgument)
	}
	for _, name := range []string{"A-1", "z_9.", strings.Repeat("n", MaxName)} {
		keep(name, "x", "")
	}
	if x, err := s.Get("a"); err != nil || x.Text != "small" || x.Command != "show" {
		t.Errorf("Get(a) = %+v, %v, want the later text", x, err)
	}
	if _, err := s.Get("q"); !errors.Is(err, term.NotFound) || !strings.Contains(err.Error(), "b, a, c") {
		t.Errorf("Get(q) = %v, want an error that names the others by age", err)
	}
	s.Free()
	if held := pool.Held(); held != 0 {
		t.Errorf("after Free the pool holds %d bytes, want 0", held)
	}
	keep("late", "x", term.NotFound)
	s.Free()
	if held := pool.Held(); held != 0 {
		t.Errorf("after a second Free the pool holds %d bytes, want 0", held)
	}
}

func TestMost(t *testing.T) {
	s := New(nil)
	for i := range Most {
		if err := s.Keep(Snapshot{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Keep(Snapshot{Name: "more"}); !errors.Is(err, term.InvalidArgument) || !strings.Contains(err.Error(), "0, 1") {
		t.Errorf("Keep of one more than %d = %v, want an error about the name, and the others", Most, err)
	}
	if err := s.Keep(Snapshot{Name: "3"}); err != nil {
		t.Errorf("Keep in place of another = %v", err)
	}
}

func TestAwait(t *testing.T) {
	s := New(nil)
	for i := range mostPending + 2 {
		s.Await(fmt.Sprint(i), "show")
		s.Await(fmt.Sprint(i), "other")
	}
	for exec, want := range map[string]string{"0": "", "1": "", "2": "show", "33": "show", "x": ""} {
		if got := s.Awaited(exec); got != want {
			t.Errorf("Awaited(%q) = %q, want %q", exec, got, want)
		}
	}
	s.Free()
	s.Await("5", "show")
	if got := s.Awaited("5"); got != "" {
		t.Errorf("Awaited after Free = %q, want nothing", got)
	}
}
