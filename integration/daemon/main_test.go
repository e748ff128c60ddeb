package daemon

import (
	"os"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// newHome makes a home. Its daemons end with the test.
func newHome(t *testing.T, lines ...string) *lab.Home {
	t.Helper()
	h := lab.NewHome(t, lines...)
	h.EndDaemons(t)
	return h
}

// theDaemon returns the one daemon of h.
func theDaemon(t *testing.T, h *lab.Home) lab.Daemon {
	t.Helper()
	all := h.Daemons(t)
	if len(all) != 1 {
		t.Fatalf("daemon status shows %v, want one daemon", all)
	}
	return all[0]
}

// gone waits until a process has ended.
func gone(t *testing.T, what string, pid int) {
	t.Helper()
	for begin := time.Now(); lab.Alive(t, pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > lab.Patience {
			t.Fatalf("%s (process %d) still runs after %v, want it ended", what, pid, lab.Patience)
		}
	}
}
