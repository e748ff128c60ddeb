package redact_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

const (
	passphrase = "correct horse"
	mask       = "********"
)

// secretly types text as a secret, and takes it at the far side.
func secretly(tb testing.TB, s *session.Session, far io.Reader, text string) session.WriteResult {
	tb.Helper()
	res, err := s.Write(tb.Context(), []byte(text), session.WriteOptions{Sensitive: true})
	if err != nil || res.Written != len(text) {
		tb.Fatalf("%+v, %v", res, err)
	}
	if got := take(tb, far, len(text)); got != text {
		tb.Fatalf("typed %q", got)
	}
	return res
}

// shown returns all that is in the output.
func shown(s *session.Session) string {
	return string(s.Read(context.Background(), session.ReadRequest{Cursor: 0, NoWait: true}).Data)
}

// wantShown fails the test unless the output is want.
func wantShown(tb testing.TB, s *session.Session, want string) {
	tb.Helper()
	synctest.Wait()
	if got := shown(s); got != want {
		tb.Errorf("the output is %q, want %q", got, want)
	}
}

// A record keeps the events and the journal's entries.
type record struct {
	mu   sync.Mutex // guards the following
	text strings.Builder
	out  strings.Builder // the part of it that came from the far side
}

func (r *record) Observe(e term.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.WriteString(e.Detail + e.Command + string(e.Data))
	if e.Verb == term.VerbOutput {
		r.out.Write(e.Data)
	}
}

func (r *record) journal(e term.Event) error {
	r.Observe(e)
	return nil
}

// An echo is removed from everything that is made from the output, wherever it is cut.
func TestEchoIsScrubbed(t *testing.T) {
	const in = "Password: " + passphrase + "\r\nok\r\n# "
	for cut := range in {
		synctest.Test(t, func(t *testing.T) {
			var r record
			s, far := start(t, 0, session.Options{Observers: []term.Observer{&r}, Journal: r.journal})
			res := secretly(t, s, far, passphrase+"\r")
			put(t, far, in[:cut])
			put(t, far, in[cut:])
			const want = "Password: " + mask + "\r\nok\r\n# "
			wantShown(t, s, want)
			c := s.Read(t.Context(), session.ReadRequest{Cursor: res.Cursor, Until: re(`# $`), Timeout: time.Second})
			if c.Reason != session.ReasonMatched || c.Next != int64(len(want)) {
				t.Errorf("%s at %d", c.Reason, c.Next)
			}
			s.Close(t.Context(), session.CloseOptions{})
			drawn := strings.ReplaceAll(want, mask, strings.Repeat("*", len(passphrase)))
			if r.out.String() != drawn || strings.Contains(r.text.String(), passphrase[1:]) {
				t.Errorf("observed %q, and in all %q; want %q", r.out.String(), r.text.String(), drawn)
			}
			if i := s.Info(); i.BytesIn != int64(len(in)) {
				t.Errorf("%d bytes came in", i.BytesIn)
			}
		})
	}
}

// A possible beginning of an echo is held back for 200 ms, not longer; other output is not held back.
func TestScrubHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		secretly(t, s, far, passphrase+"\r")
		put(t, far, "sudo: c")
		wantShown(t, s, "sudo: ")
		time.Sleep(199 * time.Millisecond)
		wantShown(t, s, "sudo: ")
		time.Sleep(time.Millisecond)
		wantShown(t, s, "sudo: c")
		put(t, far, "o")
		time.Sleep(150 * time.Millisecond)
		put(t, far, "rr")
		wantShown(t, s, "sudo: c")
		time.Sleep(50 * time.Millisecond) // of the byte that has waited longest
		wantShown(t, s, "sudo: c"+mask)
		put(t, far, "e"+"ct horse\r\n$ ")
		wantShown(t, s, "sudo: c"+mask+"\r\n$ ")
	})
}

// A prompt that begins as the secret does is at most 200 ms late.
func TestScrubDelaysNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		secretly(t, s, far, "$ecret-word\r")
		put(t, far, "\r\n")
		go func() { _, _ = io.WriteString(far, "router$") }()
		took := since(func() {
			c := s.Read(t.Context(), session.ReadRequest{Until: re(`router\$$`), Timeout: time.Minute})
			if c.Reason != session.ReasonMatched {
				t.Errorf("%s: %q", c.Reason, c.Data)
			}
		})
		if took != 200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// An echo is looked for from the write on, and for five seconds after it is out.
func TestScrubWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, passphrase+"\r\n")
		secretly(t, s, far, passphrase+"\r")
		time.Sleep(4999 * time.Millisecond)
		put(t, far, passphrase+"\r\n") // late, as the echo of input typed ahead; the first one gives the others time
		time.Sleep(4999 * time.Millisecond)
		put(t, far, passphrase+"\r\n")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		put(t, far, passphrase)
		wantShown(t, s, passphrase+"\r\n"+mask+"\r\n"+mask+"\r\n"+passphrase)
	})
}

// A write that the far side does not take is looked for until it has.
func TestScrubStuckWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 4, session.Options{})
		res, err := s.Write(t.Context(), []byte(passphrase+"\r"), session.WriteOptions{Sensitive: true})
		if err != nil || !res.TimedOut || res.Pending == 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		queued, err := s.Write(t.Context(), []byte("another secret"), session.WriteOptions{Sensitive: true})
		if err != nil || !queued.TimedOut || queued.Written+queued.Pending > 0 {
			t.Fatalf("%+v, %v", queued, err)
		}
		time.Sleep(time.Hour)
		if got := take(t, far, len(passphrase)); got != passphrase {
			t.Fatalf("typed %q", got)
		}
		const in = passphrase + "\r\nanother secret\r\n"
		for i := range in { // there is little room
			put(t, far, in[i:i+1])
		}
		wantShown(t, s, mask+"\r\nanother secret\r\n")
	})
}

// The end of the session shows the bytes held back, unless they show a secret.
func TestScrubAtTheEnd(t *testing.T) {
	for held, want := range map[string]string{"cor": "cor", "correct h": mask} {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			secretly(t, s, far, passphrase+"\r")
			put(t, far, "# "+held)
			wantShown(t, s, "# ")
			_ = far.Close()
			wantShown(t, s, "# "+want)
			if took := since(func() { s.Close(t.Context(), session.CloseOptions{}) }); took != 0 {
				t.Errorf("closing took %v", took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a bubble does not end before its goroutines
		s, far := start(t, 0, session.Options{})
		secretly(t, s, far, passphrase+"\r")
		if took := since(func() { s.Close(t.Context(), session.CloseOptions{}) }); took != 0 {
			t.Errorf("closing took %v", took)
		}
		_ = far.Close()
	})
}

// The text to search for is bounded, and no secret is written without a search for it.
func TestScrubBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r record
		s, far := start(t, 0, session.Options{Observers: []term.Observer{&r}})
		secretly(t, s, far, strings.Repeat("x", 200<<10)+"\r")
		_, err := s.Write(t.Context(), []byte(strings.Repeat("y", 60<<10)), session.WriteOptions{Sensitive: true})
		wantKind(t, err, term.LimitExceeded)
		if i := s.Info(); i.BytesOut != 200<<10+1 {
			t.Errorf("%d bytes written", i.BytesOut)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		secretly(t, s, far, strings.Repeat("y", 60<<10))
		_, err = s.Write(t.Context(), []byte(strings.Repeat("y\r", 9000)), session.WriteOptions{Sensitive: true})
		wantKind(t, err, term.LimitExceeded)
	})
}

// Reading, writing and closing do not depend on each other while secrets are looked for.
func TestScrubConcurrently(t *testing.T) {
	s, far := start(t, 0, session.Options{})
	const n = 200
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(far, io.LimitReader(far, int64(n*len(passphrase+"\r")))) })
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				if _, err := s.Write(t.Context(), []byte(passphrase+"\r"), session.WriteOptions{Sensitive: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := io.WriteString(far, "end"); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat(mask+"\r", n) + "end"
	c := s.Read(t.Context(), session.ReadRequest{Until: re(`end$`), Timeout: time.Minute})
	if c.Reason != session.ReasonMatched || string(c.Data) != want {
		t.Errorf("%s: %q", c.Reason, c.Data)
	}
}

// A short secret that was typed ahead is not given up because the line before it comes back.
func TestScrubTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		typeIn(t, s, "su\r")
		take(t, far, 3)
		secretly(t, s, far, "admin\r")
		secretly(t, s, far, "hunter2\r")
		put(t, far, "su\r\nadmin\r\nhunter2\r\nPassword: ")
		time.Sleep(time.Second)
		c := s.Read(t.Context(), session.ReadRequest{Timeout: time.Second})
		if want := "su\r\n" + mask + "\r\n" + mask + "\r\nPassword: "; string(c.Data) != want {
			t.Errorf("%q, want %q", c.Data, want)
		}
	})
}
