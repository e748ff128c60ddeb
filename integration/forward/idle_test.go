package forward

import (
	"errors"
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
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[session]\nidle_timeout_ms = 1200\n[forward]\nallow = ['localhost:*']")
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
	client := dial(t, f)
	for end := time.Now().Add(1700 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatalf("while bytes flow, the forward ends: %v", err)
		}
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			t.Fatalf("while bytes flow, the forward ends: %v", err)
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
}
