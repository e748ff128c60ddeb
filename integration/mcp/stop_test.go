package mcp

import (
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// When ptyctl stops, or its daemon, a call in flight on stdio learns the truth: its command ends, too.
func TestStopTellsTheTruth(t *testing.T) {
	t.Parallel()
	c := lab.NewHome(t).Connect(t)
	var r lab.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = c.Try(t.Context(), lab.ToolRun, `{"argv":["sleep","600"]}`)
	}()
	lab.Eventually(t, "the program", func() bool {
		return len(c.Call(t, lab.ToolSession, `{"action":"list"}`).Sessions) == 1
	})
	programs := lab.Descendants(t, c.PID)
	if err := system.Kill(c.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-done
	// The call is answered before its program and ptyctl have ended.
	for _, p := range append(programs, lab.Process{PID: c.PID, Command: "ptyctl"}) {
		lab.Eventually(t, "the end of "+p.Command, func() bool { return system.Kill(p.PID, 0) != nil })
	}
	c.Killed = lab.ThroughDaemon // the shim of a daemon that has ended fails
	if err != nil || r.ErrorCode != "CANCELED" || strings.Contains(r.Text, "goes on") ||
		strings.Contains(r.Message, "wait for it") ||
		!strings.Contains(r.Message, "stopping") || !strings.Contains(r.Message, "its command ends, too") {
		t.Errorf("run while ptyctl stops = %s, %v; want that the command ends, too", r.Text, err)
	}
}
