package soak

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// Sessions must give everything back, however they end: file descriptors and threads here, processes at the server.
func TestNothingLeaks(t *testing.T) {
	const cycles = 50
	s := lab.StartSSHD(t)
	strict := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": "leak-password-1138"}})
	h := lab.HomeFor(t, []*lab.SSHD{s})
	h.Trust(t, strict.KnownHostsLine())
	unknown := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	refused, mute, http := lab.FreePort(t), lab.Listen(t, lab.Silent), lab.Listen(t, lab.SpeaksHTTP)
	c := h.Connect(t)
	c.Hide("leak-password-1138", "leak-wrong-1138")

	cycle := func() {
		t.Helper()
		id := c.Open(t, s)
		if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" {
			t.Fatalf("exec: %s", r.Text)
		}
		c.Close(t, id)
	}
	failures := func() {
		t.Helper()
		const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"password":"leak-wrong-1138"},"timeouts":{"connect_timeout_ms":200}}`
		c.Refused(t, "CONNECT_FAILED", lab.ToolSession, open, refused)
		c.Refused(t, "CONNECT_TIMEOUT", lab.ToolSession, open, mute)
		c.Refused(t, "AUTH_FAILED", lab.ToolSession, strings.Replace(open, "200", "15000", 1), strict.Port())
		c.Refused(t, "HOSTKEY_UNKNOWN", lab.ToolSession, strings.Replace(open, "200", "15000", 1), unknown.Port())
		if r, err := c.Try(t.Context(), lab.ToolSession, open, http); err != nil ||
			!strings.HasPrefix(r.ErrorCode, "CONNECT_") {
			t.Fatalf("got %s (%v), want a failure to connect", r.Text, err)
		}
		c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"open"}`)
	}
	// The first round makes the permanent parts: the runtime's poller and threads.
	cycle()
	failures()
	s.WaitIdle(t)
	files, threads := lab.OpenFiles(t, c.PID), lab.StatusField(t, c.PID, "Threads")

	for range cycles {
		cycle()
	}
	for range cycles / 10 {
		failures()
	}
	// One session ends at the far side, and one loses its connection.
	gone := c.Open(t, s)
	c.Enter(t, gone, "echo rea''dy\r", `ready\s`)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"exit\r"}`, gone)
	cut := c.Open(t, s)
	lab.Kill(t, lab.Descendants(t, s.PID))
	if r := c.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"never","timeout_ms":20000}`, cut,
	); !r.EOF {
		t.Errorf("the connection was cut, and the terminal goes on: %s", r.Text)
	}
	s.WaitIdle(t)
	lab.Eventually(t, "the end of every connection", func() bool { return strict.Stats().Open+unknown.Stats().Open == 0 })
	lab.Eventually(
		t,
		"the number of file descriptors from before",
		func() bool { return len(lab.OpenFiles(t, c.PID)) <= len(files) },
	)
	// The runtime never gives threads back, and starts some when the machine is busy; a leak would grow with the cycles.
	if now := lab.StatusField(t, c.PID, "Threads"); now > threads+cycles/2 {
		t.Errorf("%d threads, and %d before", now, threads)
	}
	t.Logf(
		"file descriptors: %d before, %d after; threads: %d before, %d after; memory: %d KiB",
		len(
			files,
		),
		len(lab.OpenFiles(t, c.PID)),
		threads,
		lab.StatusField(t, c.PID, "Threads"),
		lab.StatusField(t, c.PID, "VmRSS"),
	)
	if t.Failed() {
		t.Logf("before: %q\nafter: %q", files, lab.OpenFiles(t, c.PID))
	}
	c.Finish()
	if left := lab.ProgramsRunning(t); len(left) > 0 {
		t.Errorf("ptyctl left %v", left)
	}
}
