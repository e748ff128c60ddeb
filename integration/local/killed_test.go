package local

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestLocalKilled kills ptyctl itself: no process of its programs stays, though they ignore signals and have left the
// session of the terminal, nor the watcher that ends them.
func TestLocalKilled(t *testing.T) {
	h := lab.NewHome(t)
	p := h.Start(t)
	c := p.ShakeHands(t, nil)
	mark := fmt.Sprintf("killed-%d", os.Getpid())
	stubborn := "trap '' HUP TERM; setsid sh -c 'sleep 1000; :' " + mark + " & sh -c 'sleep 1000; :' " + mark + " & echo up; wait"
	id := c.OpenLocal(t, []string{"sh", "-c", stubborn, mark}, "")
	c.Expect(t, id, "up")
	id = c.OpenLocal(t, []string{"sh", "-c", stubborn, mark}, `,"pty":{"cols":80}`)
	c.Expect(t, id, "up")
	marked := func() []lab.Process {
		return slices.DeleteFunc(lab.Processes(t), func(p lab.Process) bool { return !strings.Contains(p.Command, mark) })
	}
	lab.Eventually(t, "six processes", func() bool { return len(marked()) >= 6 })
	watchers := lab.Watchers(t, p.PID)
	if len(watchers) != 1 {
		t.Fatalf("ptyctl has the watchers %v, want one", watchers)
	}
	if fromDaemon := p.Cmd.Process.Pid != p.PID; fromDaemon {
		p.Killed, h.Recordings = true, "" // the client fails, too, and no recording is complete
		lab.Kill(t, []lab.Process{{PID: p.PID}})
	} else {
		p.Kill()
	}
	lab.Eventually(t, "the end of all processes", func() bool {
		running := slices.ContainsFunc(lab.Processes(t), func(p lab.Process) bool {
			return p.PID == watchers[0].PID && p.Command == watchers[0].Command
		})
		return !running && len(marked()) == 0
	})
}
