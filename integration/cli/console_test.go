package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/internal/leaktest"
)

// A consoles is a device with one console, and several ptyctl processes that want it, for example those of several
// agents' hosts.
type consoles struct {
	t           testing.TB
	server      *lab.TelnetServer
	port        int          // in front of the server
	connections atomic.Int64 // that were ever made to it
}

func newConsoles(tb testing.TB) *consoles {
	tb.Helper()
	d := &consoles{t: tb, server: lab.StartBusybox(tb)}
	d.port = lab.StartListener(tb, func(conn net.Conn) {
		d.connections.Add(1)
		far, err := net.Dial("tcp", d.server.Address())
		if err != nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(conn, far) // both ends are closed when one is
			conn.Close()
		}()
		_, _ = io.Copy(far, conn)
		far.Close()
		<-done
	})
	return d
}

// try opens the device's console.
func (d *consoles) try(c *lab.Client, task string) lab.Result {
	r, err := c.Try(
		d.t.Context(),
		lab.ToolSession,
		`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%s,"session_type":"console","device_id":"rack 7/switch","acquire_lock":true,"task_id":%s}`,
		d.port,
		task,
	)
	if err != nil {
		d.t.Error(err)
	}
	return r
}

// race lets each process open the console many times at once. One process must get it, with one session for all its
// calls, and every other process must learn the owner. made says that one call must have opened the console; if false,
// it was open before.
func (d *consoles) race(processes []*lab.Client, each int, made bool) (owner *lab.Client, id string) {
	d.t.Helper()
	results := make([][]lab.Result, len(processes))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for p, c := range processes {
		results[p] = make([]lab.Result, each)
		for i := range each {
			wg.Go(func() {
				<-begin
				results[p][i] = d.try(c, fmt.Sprintf("task-%d-%d", p, i))
			})
		}
	}
	close(begin)
	wg.Wait()
	for p, c := range processes {
		for _, r := range results[p] {
			if r.ErrorCode == "" && owner == nil {
				owner, id = c, r.SessionID
			}
		}
	}
	if owner == nil {
		d.t.Fatalf("no process has the console, want one: %s", results[0][0].Text)
	}
	firsts := 0
	for p, c := range processes {
		for _, r := range results[p] {
			switch {
			case c != owner:
				o := r.Details.DeviceOwner
				if r.ErrorCode != "LOCKED" || !r.Retryable || o.PID != owner.PID || o.SessionID != id || o.Since == 0 ||
					!strings.HasSuffix(o.Socket, fmt.Sprintf("/%d.sock", owner.PID)) ||
					!strings.Contains(r.Message, fmt.Sprintf("process %d, session %s", owner.PID, id)) {
					d.t.Errorf("refusal of another process = %s, want owner %d with session %s", r.Text, owner.PID, id)
				}
			case r.SessionID != id || r.State != "open" || r.Locked == nil || *r.Locked != (r.Existing == "") ||
				r.Existing != "" && r.Existing != id:
				d.t.Errorf("the owner's process has %s, want session %s", r.Text, id)
			case r.Existing == "":
				firsts++
			}
		}
	}
	if want := map[bool]int{true: 1}[made]; firsts != want {
		d.t.Errorf("%d calls made a session, want %d", firsts, want)
	}
	return owner, id
}

// connected checks how many connections there were so far, and that one of them is at the server.
func (d *consoles) connected(times int64) {
	d.t.Helper()
	if n := d.connections.Load(); n != times {
		d.t.Errorf("%d connections were made, want %d", n, times)
	}
	lab.Eventually(
		d.t,
		"one login at the server",
		func() bool { return len(lab.Descendants(d.t, d.server.Process.PID)) == 1 },
	)
}

func without(processes []*lab.Client, c *lab.Client) []*lab.Client {
	var rest []*lab.Client
	for _, p := range processes {
		if p != c {
			rest = append(rest, p)
		}
	}
	return rest
}

// A device has one console. Calls of several processes must share it: at the start, while it is open, after its owner
// was killed, and after the device has hung up.
func TestConsole(t *testing.T) {
	d := newConsoles(t)
	locks := filepath.Join(t.TempDir(), "devices")
	leaktest.File(t, locks+"/")
	h := lab.NewHome(t, "[locks]", "device_dir = '"+locks+"'")
	var processes []*lab.Client
	for range 5 {
		processes = append(processes, h.Connect(t))
	}
	owner, _ := d.race(processes, 10, true)
	d.connected(1)
	if again, _ := d.race(processes, 10, false); again != owner {
		t.Errorf("process %d has the console of process %d", again.PID, owner.PID)
	}
	d.connected(1)

	owner.Kill()
	processes = without(processes, owner)
	owner, id := d.race(processes, 10, true)
	d.connected(2)

	// Its lock is held by the call that was first.
	status := owner.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	write := `{"action":"write","session_id":%s,"task_id":%s,"data":"demo\r","until_regex":"Password: $","timeout_ms":20000}`
	owner.Refused(t, "LOCKED", lab.ToolIO, write, id, "somebody else")
	owner.Call(t, lab.ToolSession, `{"action":"unlock","session_id":%s,"task_id":%s}`, id, status.Holder)
	owner.Refused(t, "LOCK_REQUIRED", lab.ToolIO, write, id, "somebody else")
	owner.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"somebody else"}`, id)
	if r := owner.Call(t, lab.ToolIO, write, id, "somebody else"); !r.Matched {
		t.Errorf("the login does not go on: %s", r.Text)
	}

	// The device hangs up: no call may get the dead session, and another process may be the next owner.
	lab.Kill(t, lab.Descendants(t, d.server.Process.PID))
	lab.Eventually(t, "the end of the session", func() bool {
		return owner.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).State != "open"
	})
	next, nextID := d.race(without(processes, owner), 5, true)
	d.connected(3)
	if r := d.try(owner, "task"); r.ErrorCode != "LOCKED" || r.Details.DeviceOwner.PID != next.PID ||
		r.Details.DeviceOwner.SessionID != nextID {
		t.Errorf("the former owner's call = %s", r.Text)
	}

	// Closed as it should be, it is free for the former owner, which does not get its dead session back.
	holder := next.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, nextID).Holder
	next.Call(t, lab.ToolSession, `{"action":"close","session_id":%s,"task_id":%s}`, nextID, holder)
	if r := d.try(owner, "task"); r.ErrorCode != "" || r.Existing != "" || r.SessionID == id || r.SessionID == nextID {
		t.Errorf("the former owner has %s", r.Text)
	}
	d.connected(4)

	for _, p := range processes {
		p.Finish()
	}
	entries, err := os.ReadDir(locks)
	if err != nil || len(entries) != 1 || entries[0].Name() != "gate" {
		t.Errorf("the processes leave %v, %v", entries, err)
	}
}

// A stopped process keeps its console, and other processes must learn that without a wait.
func TestConsoleOfStoppedProcess(t *testing.T) {
	d := newConsoles(t)
	h := lab.NewHome(t, "[locks]", "device_dir = '"+filepath.Join(t.TempDir(), "devices")+"'")
	owner, other := h.Connect(t), h.Connect(t)
	r := d.try(owner, "t")
	if r.ErrorCode != "" {
		t.Fatal(r.Text)
	}
	if err := owner.Cmd.Process.Signal(system.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	refused := d.try(other, "t")
	if err := owner.Cmd.Process.Signal(system.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if refused.ErrorCode != "LOCKED" || refused.Details.DeviceOwner.PID != owner.PID {
		t.Error(refused.Text)
	}
	d.connected(1)
}

// A lock folder that another user may have made must be refused before ptyctl dials.
func TestConsoleFolderRefused(t *testing.T) {
	d := newConsoles(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	c := lab.NewHome(t, "[locks]", "device_dir = '"+link+"'").Connect(t)
	r := d.try(c, "t")
	if r.ErrorCode != "IO_ERROR" || !strings.Contains(r.Message, link+" is a symbolic link") ||
		!strings.Contains(r.Message, "locks.device_dir") {
		t.Error(r.Text)
	}
	if n := d.connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the link was followed: %v, %v", entries, err)
	}
}
