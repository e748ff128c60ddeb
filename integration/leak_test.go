package integration

import (
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
)

// What was opened is given back, however it ended: file descriptors and threads here, sessions there.
func TestNothingLeaks(t *testing.T) {
	const cycles = 50
	s := startSSHD(t)
	strict := serve(t, sshserver.Config{Passwords: map[string]string{"alice": "leak-password-1138"}})
	h := homeFor(t, []*sshd{s})
	h.trust(t, strict.KnownHostsLine())
	unknown := serve(t, sshserver.Config{NoAuth: true})
	refused, mute, http := freePort(t), listen(t, silent), listen(t, speaksHTTP)
	c := h.connect(t)
	c.hide("leak-password-1138", "leak-wrong-1138")

	cycle := func() {
		t.Helper()
		id := c.open(t, s)
		if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" {
			t.Fatalf("exec: %s", r.text)
		}
		c.close(t, id)
	}
	failures := func() {
		t.Helper()
		const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"password":"leak-wrong-1138"},"timeouts":{"connect_timeout_ms":200}}`
		c.refused(t, "CONNECT_FAILED", toolSession, open, refused)
		c.refused(t, "CONNECT_TIMEOUT", toolSession, open, mute)
		c.refused(t, "AUTH_FAILED", toolSession, strings.Replace(open, "200", "15000", 1), strict.Port())
		c.refused(t, "HOSTKEY_UNKNOWN", toolSession, strings.Replace(open, "200", "15000", 1), unknown.Port())
		if r, err := c.try(t.Context(), toolSession, open, http); err != nil || !strings.HasPrefix(r.ErrorCode, "CONNECT_") {
			t.Fatalf("got %s (%v), want a failure to connect", r.text, err)
		}
		c.refused(t, "INVALID_ARGUMENT", toolSession, `{"action":"open"}`)
	}
	// The first round makes what stays: the runtime's poller and threads.
	cycle()
	failures()
	s.idle(t)
	files, threads := openFiles(t, c.pid), statusField(t, c.pid, "Threads")

	for range cycles {
		cycle()
	}
	for range cycles / 10 {
		failures()
	}
	// A session that its far side ends, and one whose connection is cut.
	gone := c.open(t, s)
	c.enter(t, gone, "echo rea''dy\r", `ready\s`)
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"exit\r"}`, gone)
	cut := c.open(t, s)
	kill(t, below(t, s.pid))
	if r := c.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"never","timeout_ms":20000}`, cut); !r.EOF {
		t.Errorf("the connection was cut, and the terminal goes on: %s", r.text)
	}
	s.idle(t)
	eventually(t, "the end of every connection", func() bool { return strict.Stats().Open+unknown.Stats().Open == 0 })
	eventually(
		t,
		"the number of file descriptors from before",
		func() bool { return len(openFiles(t, c.pid)) <= len(files) },
	)
	// The runtime never gives threads back; a leak would grow with the cycles.
	if now := statusField(t, c.pid, "Threads"); now > threads+10 {
		t.Errorf("%d threads, and %d before", now, threads)
	}
	t.Logf("file descriptors: %d before, %d after; threads: %d before, %d after; memory: %d KiB",
		len(files), len(openFiles(t, c.pid)), threads, statusField(t, c.pid, "Threads"), statusField(t, c.pid, "VmRSS"))
	if t.Failed() {
		t.Logf("before: %q\nafter: %q", files, openFiles(t, c.pid))
	}
	c.finish()
	if left := programs(t); len(left) > 0 {
		t.Errorf("ptyctl left %v", left)
	}
}

// programs returns the processes that run the program under test.
func programs(tb testing.TB) []process {
	tb.Helper()
	return slices.DeleteFunc(processes(tb), func(p process) bool {
		return !strings.HasPrefix(p.command, binary+" ") && !strings.HasPrefix(p.command, plainBinary+" ")
	})
}
