package prompt_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
)

func TestReadForPrompt(t *testing.T) {
	type part struct {
		after time.Duration
		text  string
	}
	for _, c := range []struct {
		name   string
		there  string // before the call
		parts  []part
		r      session.ReadRequest
		reason session.Reason
		took   time.Duration
	}{
		{"one that comes", "", []part{{time.Second, "me@host:~$ "}}, session.ReadRequest{}, session.ReasonMatched, 1150 * time.Millisecond},
		{"one that is there", "me@host:~$ ", nil, session.ReadRequest{Cursor: session.Latest}, session.ReasonMatched, 150 * time.Millisecond},
		{"one before the cursor", "me@host:~$ ", nil, session.ReadRequest{Cursor: 11, Timeout: time.Second}, session.ReasonTimeout, time.Second},
		{"one that becomes a line", "", []part{{0, "me@host:~$ "}, {100 * time.Millisecond, "x\r\n"}}, session.ReadRequest{Timeout: time.Second}, session.ReasonTimeout, time.Second},
		{"a question", "", []part{{0, "Password: "}}, session.ReadRequest{}, session.ReasonInput, 150 * time.Millisecond},
		{"a report", "", []part{{0, "working "}}, session.ReadRequest{Timeout: time.Second}, session.ReasonTimeout, time.Second},
		{"the pattern before", "", []part{{0, "DONE\r\nme@host:~$ "}}, session.ReadRequest{Until: sessiontest.Re("DONE")}, session.ReasonMatched, 0},
		{"silence before", "", []part{{0, "working "}}, session.ReadRequest{Idle: 300 * time.Millisecond}, session.ReasonIdle, 300 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := sessiontest.Start(t, 0, session.Options{})
				if c.there != "" {
					sessiontest.Put(t, far, c.there)
				}
				wrote := make(chan struct{})
				go func() {
					defer close(wrote)
					for _, p := range c.parts {
						time.Sleep(p.after)
						far.Write([]byte(p.text))
					}
				}()
				c.r.Prompt = true
				var got session.Chunk
				took := sessiontest.Since(func() { got = s.Read(t.Context(), c.r) })
				if got.Reason != c.reason || took != c.took {
					t.Errorf("a read for the prompt ended by %s after %v, want %s after %v", got.Reason, took, c.reason, c.took)
				}
				<-wrote
			})
		})
	}
}

// The prompt at which a line was entered does not end the wait for the one after it.
func TestReadForPromptAfterWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := sessiontest.Start(t, 0, session.Options{})
		sessiontest.Put(t, far, "me@host:~$ ")
		time.Sleep(time.Second)
		w, err := s.Write(t.Context(), []byte("ls\r"), session.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			sessiontest.Take(t, far, 3)
			time.Sleep(time.Second)
			far.Write([]byte("ls\r\nfile\r\nme@host:~$ "))
		}()
		k := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Prompt: true})
		if want := "ls\r\nfile\r\nme@host:~$ "; k.Reason != session.ReasonMatched || string(k.Data) != want {
			t.Errorf("the read after a write ended by %s with %q, want %s with %q", k.Reason, k.Data, session.ReasonMatched, want)
		}
	})
}
