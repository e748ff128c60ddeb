//go:build long

package soak

import (
	"fmt"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestManyShortSessions opens and closes 10,000 sessions in one program, which keeps the last thousands. Where
// the machine is quick enough, all end within the five minutes of retention.
func TestManyShortSessions(t *testing.T) {
	const sessions, most = 10_000, 100 << 10 // KiB
	s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	h.Program = lab.PlainBinary // the race detector's memory is not the program's
	c := h.Connect(t, "--log-level", "error")
	began := time.Now()
	lab.ForEach(t, sessions, 8, func(int) error {
		r, err := c.Try(t.Context(), lab.ToolSession, lab.OpenSSH, s.Port(), "alice")
		if err == nil && r.State != "open" {
			err = fmt.Errorf("open: %s", r.Text)
		}
		if err != nil {
			return err
		}
		id := r.SessionID
		if r, err = c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"true"}`, id); err == nil && r.ErrorCode != "" {
			err = fmt.Errorf("exec: %s", r.Text)
		}
		if err != nil {
			return err
		}
		if r, err = c.Try(t.Context(), lab.ToolSession, `{"action":"close","session_id":%s}`, id); err == nil &&
			r.State != "closed" {
			err = fmt.Errorf("close: %s", r.Text)
		}
		return err
	})
	peak := lab.StatusField(t, c.PID, "VmHWM")
	t.Logf("%d sessions in %v: at most %d KiB", sessions, time.Since(began).Round(time.Second), peak)
	if peak > most {
		t.Errorf("%d short sessions took up to %d KiB, want at most %d", sessions, peak, most)
	}
}
