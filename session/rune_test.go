package session_test

import (
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"ptyctl/session"
)

// A rune that arrives in two halves, half a second apart, is never seen in halves.
func TestReadKeepsRunesWhole(t *testing.T) {
	for name, r := range map[string]session.ReadRequest{
		"no condition":      {Timeout: 100 * time.Millisecond},
		"no condition, 0":   {},
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
				if c := s.Read(t.Context(), session.ReadRequest{Cursor: cursor, MaxBytes: 1}); len(c.Data) != 1 ||
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
			if c := s.Read(t.Context(), session.ReadRequest{}); string(c.Data) != "x\xe2" || !c.EOF {
				t.Errorf("%q, EOF %v", c.Data, c.EOF)
			}
		})
	})
}
