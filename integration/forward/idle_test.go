package forward

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// The bytes of a forward are use of its session: while some flow, its idle timeout does not end it, and without them it
// does, and the forward with it.
func TestIdle(t *testing.T) {
	t.Parallel()
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	lab.InTime(t, "a forward that goes on while bytes flow", 1200*time.Millisecond, func(idle time.Duration) bool {
		return idleAfter(t, sshd, db, idle)
	})
}

// idleAfter is the test with one idle timeout. It returns false if that ends the forward while bytes flow.
func idleAfter(t *testing.T, sshd *lab.SSHD, db *service, idle time.Duration) bool {
	t.Helper()
	h := lab.HomeFor(t, []*lab.SSHD{sshd},
		fmt.Sprintf("[session]\nidle_timeout_ms = %d\n[forward]\nallow = ['localhost:*']", idle.Milliseconds()))
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
	client := dial(t, f)
	for end := time.Now().Add(idle + idle/2); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, err := client.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(client, make([]byte, 1))
		}
		if err != nil {
			t.Logf("idle_timeout_ms %d: while bytes flow, the forward ends: %v", idle.Milliseconds(), err)
			return false
		}
	}
	if n, err := io.Copy(io.Discard, client); n != 0 { // until it ends
		t.Errorf("the connection has %d bytes more, %v; want its end", n, err)
	}
	c.Call(t, lab.ToolSession, `{"action":"wait","on":[{"session_id":%s,"until_exit":true}]}`, id)
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); !strings.Contains(r.Text, "its idle timeout") {
		t.Errorf("the status is %s, want that its idle timeout has ended it", r.Text)
	}
	if _, err := os.Stat(f.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket after the end of the session: %v, want none", err)
	}
	return true
}
