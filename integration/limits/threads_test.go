package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestNoProcessesLeft lets a program in a session start others until the user may have no more processes and threads.
// With all calls of a busy agent meanwhile, ptyctl must go on, and may refuse only calls that need a process.
func TestNoProcessesLeft(t *testing.T) {
	s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	h.Program = lab.PlainBinary // the race detector's threads are not the program's
	alone(t, h)
	h.Wrap = []string{"prlimit", fmt.Sprintf("--nproc=%d", threadsOf(t, h.UID)+60)}
	c := h.Connect(t)
	ssh := c.Call(t, lab.ToolSession, openSSH, s.Port()).SessionID
	runaway := c.OpenLocal(t, []string{"/bin/sh"}, "")
	const limited = `{"argv":["/bin/echo","hi"],"limits":{"open_files":20}}`

	refused := func(r lab.Result) bool {
		if r.ErrorCode != "" && (r.ErrorCode != "LIMIT_EXCEEDED" || !r.Retryable || r.Details.Limit != "RLIMIT_NPROC") {
			t.Errorf("without room for a process: %s, want LIMIT_EXCEEDED of RLIMIT_NPROC, retryable", r.Text)
		}
		return r.ErrorCode != ""
	}
	for full := false; !full; { // other programs of a user who is not alone may end meanwhile
		c.Enter(t, runaway, "while :; do sleep 1000 & done\r", `fork|retry`)
		r, err := c.Try(t.Context(), lab.ToolSession, local)
		if err != nil {
			t.Fatal(err)
		}
		if full = refused(r); full {
			t.Log(r.Message)
		}
	}
	lab.ForEach(t, 400, 40, func(i int) error {
		var r lab.Result
		var err error
		switch i % 4 {
		case 0:
			r, err = c.Try(t.Context(), lab.ToolSession, local)
		case 1:
			r, err = c.Try(t.Context(), lab.ToolRun, limited)
		case 2:
			if r, err = c.Try(t.Context(), lab.ToolSession, openSSH, s.Port()); err == nil && r.ErrorCode == "" {
				r, err = c.Try(t.Context(), lab.ToolSession, `{"action":"close","session_id":%s}`, r.SessionID)
			}
		default:
			r, err = c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"true"}`, ssh)
		}
		if refused(r) && i%4 > 1 {
			t.Errorf("SSH needs no process: %s", r.Text)
		}
		return err
	})
	if r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, runaway); r.EOF {
		t.Errorf("the session has ended: %s", r.Text)
	}
	c.Close(t, runaway) // with all that it has started
	lab.Eventually(t, "room for a process", func() bool {
		r, err := c.Try(t.Context(), lab.ToolRun, limited)
		return err == nil && r.ErrorCode == "" && r.Stdout == "hi\n"
	})
	c.Close(t, ssh)
}

// TestFewProcessesAllowed: where hardly any thread is allowed, ptyctl starts and leaves some for programs.
func TestFewProcessesAllowed(t *testing.T) {
	h := lab.NewHome(t)
	h.Program = lab.PlainBinary
	alone(t, h)
	h.Wrap = []string{"prlimit", fmt.Sprintf("--nproc=%d", threadsOf(t, h.UID)+24)}
	c := h.Connect(t)
	if r := c.Call(t, lab.ToolRun, `{"argv":["/bin/echo","hi"]}`); r.Stdout != "hi\n" {
		t.Errorf("run: %s", r.Text)
	}
	t.Logf("%d threads", lab.StatusField(t, c.PID, "Threads"))
}

const openSSH = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice"}`

// alone makes h the home of a user who has no other processes, if the tester is root: for root there is no limit. Any
// other tester is the user.
func alone(tb testing.TB, h *lab.Home) {
	tb.Helper()
	if os.Getuid() != 0 {
		return
	}
	h.UID = 61138 + uint32(os.Getpid()%1000) //nolint:gosec // it is no great number
	program := filepath.Join(h.Dir, "ptyctl")
	if err := os.Link(h.Program, program); err != nil {
		tb.Fatal(err)
	}
	h.Program, h.Given[program] = program, true
	h.Env = append(h.Env, "USER=alone") // whom no password file names
	if err := os.Chmod(filepath.Dir(h.Dir), 0o755); err != nil {
		tb.Fatal(err)
	}
	for _, path := range []string{h.Dir, h.Config, h.SSHConfig, h.KnownHosts, h.RuntimeDir} {
		if err := os.Chown(path, int(h.UID), int(h.UID)); err != nil {
			tb.Fatal(err)
		}
	}
}

// threadsOf counts the threads of a user; 0 is the tester.
func threadsOf(tb testing.TB, uid uint32) (n int) {
	tb.Helper()
	if uid == 0 {
		uid = uint32(os.Getuid()) //nolint:gosec // it is none below 0
	}
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var owner, threads int
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
				owner, _ = strconv.Atoi(f[1])
			} else if len(f) > 1 && f[0] == "Threads:" {
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if owner == int(uid) {
			n += threads
		}
	}
	return n
}
