package telnet

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A talk is a conversation with a server over a connection: it types text and waits for patterns.
type talk struct {
	tb   testing.TB
	conn io.ReadWriteCloser

	mu      sync.Mutex // guards the following
	seen    []byte
	end     error         // why reading ended
	changed chan struct{} // closed and replaced when seen or end changes

	at int // in seen: wait has already passed the text before it
}

// newTalk reads the connection until it is closed, which it is when the test ends.
func newTalk(tb testing.TB, conn io.ReadWriteCloser) *talk {
	tb.Helper()
	k := &talk{tb: tb, conn: conn, changed: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(k.read)
	tb.Cleanup(func() {
		conn.Close()
		reading.Wait()
		if tb.Failed() {
			tb.Logf("the last that was seen: %q, then %v", k.seen[max(0, len(k.seen)-2000):], k.end)
		}
	})
	return k
}

func (k *talk) read() {
	p := make([]byte, 4<<10)
	for {
		n, err := k.conn.Read(p)
		k.mu.Lock()
		k.seen, k.end = append(k.seen, p[:n]...), err
		close(k.changed)
		k.changed = make(chan struct{})
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send types text unchanged.
func (k *talk) send(text string) {
	k.tb.Helper()
	if _, err := io.WriteString(k.conn, text); err != nil {
		k.tb.Fatalf("write %q: %v", text, err)
	}
}

// wait returns the output since the last wait, up to the end of the match. A pattern that ends in $ matches when
// nothing has come after it so far.
func (k *talk) wait(pattern string) string {
	k.tb.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(lab.Patience)
	for {
		k.mu.Lock()
		text, end, changed := string(k.seen[k.at:]), k.end, k.changed
		k.mu.Unlock()
		if m := re.FindStringIndex(text); m != nil {
			k.at += m[1]
			return text[:m[1]]
		}
		if end != nil {
			k.tb.Fatalf("the connection ended (%v) before %q was seen in %q", end, pattern, text[max(0, len(text)-2000):])
		}
		select {
		case <-changed:
		case <-limit:
			k.tb.Fatalf("%q was not seen after %v in %q", pattern, lab.Patience, text[max(0, len(text)-2000):])
		}
	}
}

// waitEnd waits for the end of the connection and returns the output since the last wait.
func (k *talk) waitEnd() string {
	k.tb.Helper()
	limit := time.After(lab.Patience)
	for {
		k.mu.Lock()
		text, end, changed := string(k.seen[k.at:]), k.end, k.changed
		k.mu.Unlock()
		if end != nil {
			k.at += len(text)
			return text
		}
		select {
		case <-changed:
		case <-limit:
			k.tb.Fatalf("the connection had not ended after %v; since the last wait it sent %q", lab.Patience, text)
		}
	}
}

// quiet returns the output within d.
func (k *talk) quiet(d time.Duration) string {
	time.Sleep(d)
	k.mu.Lock()
	defer k.mu.Unlock()
	text := string(k.seen[k.at:])
	k.at = len(k.seen)
	return text
}

// ask types text and Enter, and returns the output up to the pattern's match.
func (k *talk) ask(text, pattern string) string {
	k.tb.Helper()
	k.send(text + "\r")
	return k.wait(pattern)
}

// login answers the questions of a server until it shows its prompt.
func (k *talk) login(s *lab.TelnetServer) {
	k.tb.Helper()
	if s.User != "" {
		k.wait(s.Login)
		k.send(s.User + "\r")
	}
	if s.Password != "" {
		k.wait(`Password: $`)
		k.send(s.Password + "\r")
	}
	shown := k.wait(s.Prompt)
	if s.Password != "" && strings.Contains(shown, s.Password) {
		k.tb.Errorf("the password is echoed: %q", shown)
	}
}

// holdsProtocol reports whether text holds a byte that belongs to the protocol below it: IAC, DM, or the NUL after a
// CR.
func holdsProtocol(text string) bool {
	const iac, dm, nul = 0xff, 0xf2, 0
	return strings.IndexByte(text, iac) >= 0 || strings.IndexByte(text, dm) >= 0 || strings.IndexByte(text, nul) >= 0
}
