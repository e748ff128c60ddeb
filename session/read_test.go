package session_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"ptyctl/session"
	"ptyctl/term"
)

func TestReadStopsFor(t *testing.T) {
	type step struct {
		after time.Duration
		text  string // "EOF" ends the stream
	}
	for _, c := range []struct {
		name   string
		steps  []step
		r      session.ReadRequest
		reason session.Reason
		data   string
		took   time.Duration
	}{
		{"data that is there", []step{{0, "abc"}}, session.ReadRequest{Timeout: time.Minute}, session.ReasonData, "abc", 0},
		{"data that comes", []step{{time.Second, "abc"}}, session.ReadRequest{Timeout: time.Minute}, session.ReasonData, "abc", time.Second},
		{"nothing", nil, session.ReadRequest{Timeout: 2 * time.Second}, session.ReasonTimeout, "", 2 * time.Second},
		{"nothing, without waiting", nil, session.ReadRequest{NoWait: true}, session.ReasonTimeout, "", 0},
		{"a negative timeout", nil, session.ReadRequest{Timeout: -1}, session.ReasonTimeout, "", 0},
		{"the match", []step{{0, "a"}, {time.Second, "b$ "}, {time.Second, "c"}}, session.ReadRequest{Until: re(`\$ `), Timeout: time.Minute}, session.ReasonMatched, "ab$ ", time.Second},
		{"no match", []step{{0, "a"}, {time.Second, "b"}}, session.ReadRequest{Until: re(`x`), Timeout: 3 * time.Second}, session.ReasonTimeout, "ab", 3 * time.Second},
		{"idle after the last byte", []step{{100 * time.Millisecond, "a"}, {200 * time.Millisecond, "b"}}, session.ReadRequest{Idle: 250 * time.Millisecond, Timeout: time.Minute}, session.ReasonIdle, "ab", 550 * time.Millisecond},
		{"idle from the call", []step{{0, "a"}}, session.ReadRequest{Idle: 250 * time.Millisecond, Timeout: time.Minute}, session.ReasonIdle, "a", 250 * time.Millisecond},
		{"idle of silence", nil, session.ReadRequest{Idle: 250 * time.Millisecond, Timeout: time.Minute}, session.ReasonIdle, "", 250 * time.Millisecond},
		{"idle before no match", []step{{0, "a"}}, session.ReadRequest{Idle: time.Second, Until: re("x"), Timeout: time.Minute}, session.ReasonIdle, "a", time.Second},
		{"a wait for input", []step{{0, "x\r\n"}, {time.Second, "Password: "}}, session.ReadRequest{WaitFor: []*regexp.Regexp{re(`y/n`), re(`(?i)password:`)}, Timeout: time.Minute}, session.ReasonInput, "x\r\nPassword: ", time.Second},
		{"no wait in a finished line", []step{{0, "Password: \r\n"}}, session.ReadRequest{WaitFor: []*regexp.Regexp{re(`(?i)password:`)}, Timeout: time.Second}, session.ReasonTimeout, "Password: \r\n", time.Second},
		{"fullness", []step{{0, "abc"}, {time.Second, "def"}}, session.ReadRequest{MaxBytes: 5, Until: re("x"), Timeout: time.Minute}, session.ReasonFull, "abcde", time.Second},
		{"fullness without conditions", []step{{0, "abcdef"}}, session.ReadRequest{MaxBytes: 5, Timeout: time.Minute}, session.ReasonFull, "abcde", 0},
		{"a limit out of this world", []step{{0, "abc"}}, session.ReadRequest{MaxBytes: math.MaxInt, Cursor: 1, Timeout: time.Minute}, session.ReasonData, "bc", 0},
		{"eof", []step{{time.Second, "abc"}, {time.Second, "EOF"}}, session.ReadRequest{Until: re("x"), Timeout: time.Minute}, session.ReasonEOF, "abc", 2 * time.Second},
		{"the match before eof", []step{{time.Second, "abc"}, {time.Second, "EOF"}}, session.ReadRequest{Until: re("c"), Timeout: time.Minute}, session.ReasonMatched, "abc", time.Second},
		{"conditions, then the tail", []step{{0, "1\n2\n3\n"}, {time.Second, "$ "}}, session.ReadRequest{Tail: true, MaxLines: 2, MaxBytes: 4, Until: re(`\$ `), Timeout: time.Minute}, session.ReasonMatched, "3\n$ ", time.Second},
		{"the tail at once", []step{{0, "1\n2\n3"}}, session.ReadRequest{Tail: true, MaxLines: 2, Timeout: time.Minute}, session.ReasonTail, "2\n3", 0},
		{"the tail in bytes", []step{{0, "1\n2\n3"}}, session.ReadRequest{Tail: true, MaxBytes: 2, Timeout: time.Minute}, session.ReasonTail, "\n3", 0},
		{"the tail of nothing", nil, session.ReadRequest{Tail: true, MaxBytes: 2, MaxLines: 3, Timeout: time.Minute}, session.ReasonTail, "", 0},
		{"the tail between runes", []step{{0, "aé€"}}, session.ReadRequest{Tail: true, MaxBytes: 4, Timeout: time.Minute}, session.ReasonTail, "€", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := start(t, 0, session.Options{})
				steps := c.steps
				for len(steps) > 0 && steps[0].after == 0 {
					put(t, far, steps[0].text)
					steps = steps[1:]
				}
				go func() {
					for _, st := range steps {
						time.Sleep(st.after)
						if st.text == "EOF" {
							far.Close()
							return
						}
						far.Write([]byte(st.text))
					}
				}()
				var got session.Chunk
				took := since(func() { got = s.Read(t.Context(), c.r) })
				if got.Reason != c.reason || string(got.Data) != c.data || took != c.took {
					t.Errorf("%s, %q after %v; want %s, %q after %v", got.Reason, got.Data, took, c.reason, c.data, c.took)
				}
				if got.Start+int64(len(got.Data)) != got.Next || got.Dropped != 0 {
					t.Errorf("start %d + %d bytes, next %d, dropped %d", got.Start, len(got.Data), got.Next, got.Dropped)
				}
				if got.EOF != (c.reason == session.ReasonEOF) {
					t.Errorf("EOF %v with reason %s", got.EOF, got.Reason)
				}
				for range steps { // let the writer end
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

func TestReadCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "abc")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var c session.Chunk
		took := since(func() { c = s.Read(ctx, session.ReadRequest{Until: re("x"), Timeout: time.Hour}) })
		if c.Reason != session.ReasonCanceled || string(c.Data) != "abc" || took != time.Second {
			t.Errorf("%s, %q after %v", c.Reason, c.Data, took)
		}
	})
}

func TestReadCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{BufferBytes: 10})
		put(t, far, "0123456789abcdef") // 012345 are gone
		for _, c := range []struct {
			name        string
			r           session.ReadRequest
			data        string
			start, drop int64
			reason      session.Reason
		}{
			{"before the start", session.ReadRequest{NoWait: true}, "6789abcdef", 6, 6, session.ReasonData},
			{"before the start, bounded", session.ReadRequest{MaxBytes: 4, NoWait: true}, "6789", 6, 6, session.ReasonFull},
			{"before the start, bounded by more than is held", session.ReadRequest{MaxBytes: 12, NoWait: true}, "6789abcdef", 6, 6, session.ReasonData},
			{"before the start, waiting", session.ReadRequest{MaxBytes: 12, Until: re("zz"), NoWait: true}, "6789abcdef", 6, 6, session.ReasonTimeout},
			{"before the start, matching", session.ReadRequest{Cursor: 2, Until: re("8"), NoWait: true}, "678", 6, 4, session.ReasonMatched},
			{"in the middle", session.ReadRequest{Cursor: 12, NoWait: true}, "cdef", 12, 0, session.ReasonData},
			{"at the end", session.ReadRequest{Cursor: 16, NoWait: true}, "", 16, 0, session.ReasonTimeout},
			{"past the end", session.ReadRequest{Cursor: 1000, NoWait: true}, "", 16, 0, session.ReasonTimeout},
			{"latest", session.ReadRequest{Cursor: session.Latest, NoWait: true}, "", 16, 0, session.ReasonTimeout},
		} {
			got := s.Read(t.Context(), c.r)
			if string(got.Data) != c.data || got.Start != c.start || got.Dropped != c.drop || got.Reason != c.reason ||
				got.Next != c.start+int64(len(c.data)) {
				t.Errorf("%s: %q at %d, dropped %d, next %d, %s", c.name, got.Data, got.Start, got.Dropped, got.Next, got.Reason)
			}
		}
		if got := s.Info().Dropped; got != 6+6+6+6+4 {
			t.Errorf("Info.Dropped = %d", got)
		}

		// A reader past the end gets the next output, as with Latest.
		go func() { time.Sleep(time.Second); far.Write([]byte("new")) }()
		if c := s.Read(t.Context(), session.ReadRequest{Cursor: 1000, Timeout: time.Minute}); string(c.Data) != "new" ||
			c.Start != 16 {
			t.Errorf("past the end: %q at %d, %s", c.Data, c.Start, c.Reason)
		}
	})
}

// Readers are independent: each gets everything, however many there are.
func TestReadersAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		results := make(chan string, 50)
		for range 50 {
			go func() {
				results <- string(s.Read(t.Context(), session.ReadRequest{Until: re("end"), Timeout: time.Minute}).Data)
			}()
		}
		synctest.Wait()
		if got := s.Info().Readers; got != 50 {
			t.Errorf("%d readers wait", got)
		}
		put(t, far, "the ")
		put(t, far, "end")
		for range 50 {
			if got := <-results; got != "the end" {
				t.Fatalf("a reader got %q", got)
			}
		}
	})
}

// With any chunks, limits and pace, the bytes read and the bytes dropped make up the bytes sent.
func TestReadLosesNothingUnsaid(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			s, far := start(t, 0, session.Options{BufferBytes: 64 + rnd.IntN(4096)})
			alphabet := []string{"a", "\n", "é", "€", "😀", "\xff", "\xe2", "\xc3", "\x80"}
			var sent bytes.Buffer
			go func() {
				for range 200 {
					p := strings.Repeat(alphabet[rnd.IntN(len(alphabet))], 1+rnd.IntN(60))
					sent.WriteString(p)
					cut := rnd.IntN(len(p) + 1)
					far.Write([]byte(p[:cut]))
					time.Sleep(time.Duration(rnd.IntN(3)) * time.Millisecond)
					far.Write([]byte(p[cut:]))
				}
				far.Close()
			}()
			pace := rand.New(rand.NewPCG(seed, 2))
			var got []session.Chunk
			for cursor := int64(0); ; {
				r := session.ReadRequest{
					Cursor:   cursor,
					Timeout:  time.Duration(pace.IntN(5)) * time.Millisecond,
					MaxBytes: pace.IntN(300),
				}
				switch pace.IntN(4) {
				case 0:
					r.Until = re("é\n|a")
				case 1:
					r.Idle = time.Millisecond
				}
				c := s.Read(t.Context(), r)
				if c.Start != cursor+c.Dropped || c.Next != c.Start+int64(len(c.Data)) ||
					r.MaxBytes > 0 && len(c.Data) > r.MaxBytes {
					t.Fatalf(
						"seed %d: asked %d: start %d, %d bytes (at most %d), next %d, dropped %d",
						seed,
						cursor,
						c.Start,
						len(c.Data),
						r.MaxBytes,
						c.Next,
						c.Dropped,
					)
				}
				got, cursor = append(got, c), c.Next
				if c.EOF {
					break
				}
				time.Sleep(time.Duration(pace.IntN(4)) * time.Millisecond)
			}
			want := sent.Bytes()
			for _, c := range got {
				if !bytes.Equal(c.Data, want[c.Start:c.Next]) {
					t.Fatalf("seed %d: at %d: %q, want %q", seed, c.Start, c.Data, want[c.Start:c.Next])
				}
			}
			if end := got[len(got)-1].Next; end != int64(len(want)) {
				t.Fatalf("seed %d: read to %d of %d", seed, end, len(want))
			}
		})
	}
}

// A rune that arrives in two halves, half a second apart, is never seen in halves.
func TestReadKeepsRunesWhole(t *testing.T) {
	for name, r := range map[string]session.ReadRequest{
		"no condition":      {Timeout: 100 * time.Millisecond},
		"no condition, 0":   {NoWait: true},
		"idle":              {Idle: 50 * time.Millisecond, Timeout: time.Second},
		"until":             {Until: re(`(?s).`), Timeout: 100 * time.Millisecond},
		"until at the end":  {Until: re(`$`), Timeout: 100 * time.Millisecond},
		"full":              {MaxBytes: 4, Timeout: 100 * time.Millisecond},
		"full between them": {MaxBytes: 5, Timeout: 100 * time.Millisecond},
		"tail":              {Tail: true},
		"tail, cut":         {Tail: true, MaxBytes: 4},
	} {
		for cut := 1; cut < 4; cut++ {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, far := start(t, 0, session.Options{})
					put(t, far, "aé"+"😀"[:cut])
					go func() {
						time.Sleep(500 * time.Millisecond)
						far.Write([]byte("😀"[cut:] + "é€"))
						far.Close()
					}()
					var all string
					for r := r; ; {
						c := s.Read(t.Context(), r)
						if !utf8.Valid(c.Data) {
							t.Fatalf("chunk %q (%s)", c.Data, c.Reason)
						}
						all += string(c.Data)
						r.Cursor = c.Next
						if c.EOF {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
					if !r.Tail && all != "aé😀é€" {
						t.Errorf("read %q", all)
					}
				})
			})
		}
	}
}

// Bytes that only look like the start of a rune come through after a second, whatever the reader does.
func TestReadIsNeverStuckWithBinaryData(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"short": 100 * time.Millisecond, "none": 0, "long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := start(t, 0, session.Options{})
				put(t, far, "ok\xe2\x82")
				var all string
				took := since(func() {
					for cursor := int64(0); len(all) < 4; time.Sleep(time.Millisecond) {
						c := s.Read(t.Context(), session.ReadRequest{Cursor: cursor, Timeout: timeout})
						all += string(c.Data)
						cursor = c.Next
						if c.Next == 4 && c.Reason == session.ReasonEOF {
							t.Fatal("only at the end")
						}
					}
				})
				if all != "ok\xe2\x82" || took > 1200*time.Millisecond {
					t.Errorf("%q after %v", all, took)
				}
			})
		})
	}
	t.Run("smaller limits than a rune", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			put(t, far, "€")
			for cursor := range int64(3) {
				if c := s.Read(t.Context(), session.ReadRequest{Cursor: cursor, MaxBytes: 1, NoWait: true}); len(c.Data) != 1 ||
					c.Next != cursor+1 {
					t.Fatalf("at %d: %q, next %d", cursor, c.Data, c.Next)
				}
			}
		})
	})
	t.Run("at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, session.Options{})
			put(t, far, "x\xe2")
			far.Close()
			synctest.Wait()
			if c := s.Read(t.Context(), session.ReadRequest{NoWait: true}); string(c.Data) != "x\xe2" || !c.EOF {
				t.Errorf("%q, EOF %v", c.Data, c.EOF)
			}
		})
	})
}

func TestMaxReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 2)
		m := manage(t, dialed(far), session.Config{MaxReads: 2})
		a, b := opened(t, m, "a"), opened(t, m, "b")
		put(t, <-far, "prompt> ")
		wait := session.ReadRequest{Until: re("never"), Timeout: time.Minute}
		reasons := make(chan session.Reason, 2)
		for _, s := range []*session.Session{a, b} {
			go func() { reasons <- s.Read(t.Context(), wait).Reason }()
		}
		synctest.Wait()
		if c := a.Read(t.Context(), wait); c.Reason != session.ReasonLimit || string(c.Data) != "prompt> " || c.Next != 8 {
			t.Errorf("Read over the limit = %+v, want ReasonLimit with the output held", c)
		}
		e := wantKind(t, a.TooManyReads(), term.LimitExceeded)
		if term.FactOf[term.LimitReached](e).Limit != term.LimitWaitingReads || term.FactOf[term.LimitReached](e).Value != 2 {
			t.Errorf("details = %+v, want a limit of 2 waiting reads", e.Facts)
		}
		// Reads that have no need to wait are not concerned.
		for name, r := range map[string]session.ReadRequest{
			"there is something": {Timeout: time.Minute},
			"it matches":         {Until: re(">"), Timeout: time.Minute},
			"no time":            {Until: re("never"), NoWait: true},
			"tail":               {Tail: true, Timeout: time.Minute},
		} {
			if c := a.Read(t.Context(), r); c.Reason == session.ReasonLimit {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for range 2 {
			if r := <-reasons; r != session.ReasonTimeout {
				t.Errorf("a waiting read ended for %s, want its timeout", r)
			}
		}
		if c := b.Read(t.Context(), wait); c.Reason != session.ReasonTimeout {
			t.Errorf("after the others: %s", c.Reason)
		}
	})
}

// TestReadWaits: as with every other time, zero means the default, which is to wait as long as ctx allows.
func TestReadWaits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		r      session.ReadRequest
		cancel time.Duration // of the call's context; 0: never
		want   session.Reason
		after  time.Duration
	}{
		{"zero", session.ReadRequest{Cursor: session.Latest}, 0, session.ReasonData, time.Hour},
		{"zero, a pattern", session.ReadRequest{Cursor: session.Latest, Until: re("z")}, 0, session.ReasonMatched, time.Hour},
		{"zero, canceled", session.ReadRequest{Cursor: session.Latest}, time.Minute, session.ReasonCanceled, time.Minute},
		{"a time", session.ReadRequest{Cursor: session.Latest, Timeout: time.Minute}, 0, session.ReasonTimeout, time.Minute},
		{"NoWait", session.ReadRequest{Cursor: session.Latest, NoWait: true}, 0, session.ReasonTimeout, 0},
		{"NoWait and a time", session.ReadRequest{Cursor: session.Latest, NoWait: true, Timeout: time.Minute}, 0, session.ReasonTimeout, 0},
		{"NoWait, there is something", session.ReadRequest{NoWait: true}, 0, session.ReasonData, 0},
		{"negative", session.ReadRequest{Cursor: session.Latest, Timeout: -1}, 0, session.ReasonTimeout, 0},
		{"within nothing", session.ReadRequest{Cursor: session.Latest}.Within(0), 0, session.ReasonTimeout, 0},
		{"within less", session.ReadRequest{Cursor: session.Latest}.Within(-time.Second), 0, session.ReasonTimeout, 0},
		{"within a time", session.ReadRequest{Cursor: session.Latest}.Within(time.Second), 0, session.ReasonTimeout, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := start(t, 0, session.Options{})
				put(t, far, "before")
				ctx := t.Context()
				if tc.cancel > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, tc.cancel)
					defer stop()
				}
				began, later := time.Now(), make(chan struct{})
				go func() {
					defer close(later)
					time.Sleep(time.Hour)
					_, _ = far.Write([]byte("z"))
				}()
				c := s.Read(ctx, tc.r)
				if after := time.Since(began); c.Reason != tc.want || after != tc.after {
					t.Errorf("Read(%+v) = %s after %s, want %s after %s", tc.r, c.Reason, after, tc.want, tc.after)
				}
				<-later
			})
		})
	}
}
