package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/audit"
	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
)

// smallDisk makes h start ptyctl with its audit log on a disk of 32 KiB, which only ptyctl sees. The disk has room for
// some lines beside a filler; smallDisk returns the filler's path below the root of ptyctl's process.
func smallDisk(tb testing.TB, h *lab.Home) (filler string) {
	tb.Helper()
	dir := filepath.Join(h.Dir, "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	h.Audit = filepath.Join(dir, "audit.jsonl")
	filler = filepath.Join(dir, "filler")
	h.InNamespace(
		tb,
		`mount -t tmpfs -o size=32k,mode=700 audit "$1" && head -c 20480 /dev/zero >"$1/filler" && shift && exec "$@"`,
		dir,
	)
	return filler
}

// A full disk: with fail_closed an action that cannot be logged is refused; otherwise it is done and counted. In both
// cases the log goes on by itself when there is room again, and the chain is whole.
func TestAuditDiskFull(t *testing.T) {
	for name, closed := range map[string]bool{"fail-open": false, "fail-closed": true} {
		t.Run(name, func(t *testing.T) {
			s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
			h := lab.NewHome(t, fmt.Sprintf("[audit]\nfail_closed = %v", closed))
			h.Trust(t, s.KnownHostsLine())
			filler := smallDisk(t, h)
			c := h.Connect(t)
			root := fmt.Sprintf("/proc/%d/root", c.PID)
			id := c.Call(
				t,
				lab.ToolSession,
				`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice"}`,
				s.Port(),
			).SessionID
			spare := c.Call(t, lab.ToolSession,
				`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice"}`, s.Port()).SessionID
			const resize = `{"action":"resize","session_id":%s,"cols":90,"rows":30}`

			refused := 0
			for range 200 {
				r, err := c.Try(t.Context(), lab.ToolConfig, resize, id)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case r.ErrorCode == "":
				case closed && r.ErrorCode == "IO_ERROR" && r.Retryable && strings.Contains(r.Message, "audit"):
					refused++
				default:
					t.Fatalf("on a full disk: %s", r.Text)
				}
			}
			if closed && (refused == 0 || refused == 200) {
				t.Errorf("%d of 200 calls were refused", refused)
			}
			lab.Eventually(t, "the log says that it cannot be written", func() bool { // it comes through a pipe
				return strings.Contains(c.EngineLog(), "audit log not writable")
			})
			if log := c.EngineLog(); strings.Count(log, "cannot be written") > 20 {
				t.Errorf("the log says so too often:\n%s", lab.Tail(log, 2000))
			}
			// A session can be closed although the log cannot be written, and the line comes when it can be written.
			early := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, spare)
			if early.State != "closed" {
				t.Errorf("close on a full disk: %s", early.Text)
			}
			if err := os.Remove(root + filler); err != nil {
				t.Fatal(err)
			}
			c.Call(t, lab.ToolConfig, resize, id)
			c.Call(t, lab.ToolConfig, resize, id)
			text, err := os.ReadFile(root + h.Audit)
			if err != nil {
				t.Fatal(err)
			}
			leaktest.Output(t, "audit", text)
			if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
				return strings.Contains(line, spare) && strings.Contains(line, `"close"`)
			}) {
				t.Errorf("the audit log has no line of the close on a full disk:\n%s", lab.Tail(string(text), 2000))
			}
			r, err := audit.Verify("", root+h.Audit)
			if err != nil || r.Lost == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			lab.Eventually(t, "the log says that it goes on", func() bool {
				return strings.Contains(c.EngineLog(), "audit log writable again")
			})
			c.Close(t, id)
		})
	}
}
