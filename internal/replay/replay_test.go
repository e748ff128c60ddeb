package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/record"
	"ptyctl/screen"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// recorded returns a recording of three lines, a second apart. The last line is hostile.
func recorded(tb testing.TB) *record.Player {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "a.cast")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	r := record.New(f, record.Options{})
	r.Observe(term.Event{Verb: term.VerbState, State: "open", Detail: "terminal 40x6"})
	for _, text := range []string{"one\r\n", "two\r\n", "\x1b[?1049h\x1b]52;c;aGk=\x07three\x1b[6n"} {
		r.Observe(term.Event{Verb: term.VerbOutput, Data: []byte(text)})
		r.Observe(term.Event{Verb: term.VerbWrite, Size: 1})
		time.Sleep(time.Second)
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	_ = f.Close()
	p, err := record.Play(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// shown returns the text of a terminal that got out.
func shown(out []byte) string {
	s := screen.New(40, 6)
	_, _ = s.Write(out)
	return strings.TrimRight(s.Snapshot().Text(), "\n")
}

// TestRun: a recording is shown in its own time, or faster, without sequences that do more than draw, and the terminal
// is left as it was.
func TestRun(t *testing.T) {
	for _, tc := range []struct {
		speed float64
		idle  time.Duration
		want  time.Duration
	}{{0, 0, 2 * time.Second}, {4, 0, 500 * time.Millisecond}, {1, 100 * time.Millisecond, 200 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			p := recorded(t)
			var out bytes.Buffer
			began := time.Now()
			if err := Run(t.Context(), p, Options{Out: &out, Speed: tc.speed, Idle: tc.idle}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began).Round(time.Millisecond); took != tc.want {
				t.Errorf("speed %v, idle %v: took %v, want %v", tc.speed, tc.idle, took, tc.want)
			}
			if got := shown(out.Bytes()); got != "one\ntwo" { // the alternate screen was left
				t.Errorf("the terminal shows\n%s", got)
			}
			for _, bad := range []string{"\x1b]52", "\x1b[6n"} {
				if strings.Contains(out.String(), bad) {
					t.Errorf("%q came through", bad)
				}
			}
		})
	}
}

// TestKeys: keys stop, move and end the replay.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := recorded(t)
		var out bytes.Buffer
		keys := make(chan []byte)
		done := make(chan error, 1)
		go func() { done <- Run(t.Context(), p, Options{Out: &out, Keys: keys}) }()
		press := func(key string) {
			keys <- []byte(key)
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond) // the output of the start is shown
		press(" ")
		time.Sleep(time.Hour)
		synctest.Wait()
		if p.Time() >= time.Second {
			t.Errorf("stopped, and at %v", p.Time())
		}
		press("n")
		if p.Markers != 3 || p.Time() != time.Second {
			t.Errorf("after a marker: at %v, marker %d", p.Time(), p.Markers)
		}
		press("p")
		if p.Markers != 2 {
			t.Errorf("after going back: marker %d", p.Markers)
		}
		press("\x1b[D")
		if p.Time() != 0 {
			t.Errorf("after an arrow: at %v", p.Time())
		}
		press("n")
		press("n")
		press("n") // the last event: the replay waits there, because it is stopped
		time.Sleep(time.Hour)
		press("p")
		press("q")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := recorded(t)
		if err := p.Seek(1500 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Still(&out, p); err != nil || out.String() != "0:01.5, 3 markers\none\ntwo\n\n\n\n\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	})
}
