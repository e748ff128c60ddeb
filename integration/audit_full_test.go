package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/audit"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
)

// smallDisk makes h start ptyctl with its audit log on a disk of 32 KiB, which only ptyctl sees. Some lines fit it
// beside a filler, whose path, below the root of ptyctl's process, is returned.
func (h *home) smallDisk(tb testing.TB) (filler string) {
	tb.Helper()
	dir := filepath.Join(h.dir, "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	h.audit = filepath.Join(dir, "audit.jsonl")
	filler = filepath.Join(dir, "filler")
	h.inNamespace(
		tb,
		`mount -t tmpfs -o size=32k,mode=700 audit "$1" && head -c 20480 /dev/zero >"$1/filler" && shift && exec "$@"`,
		dir,
	)
	return filler
}

// inNamespace makes h start ptyctl with mounts of its own: by a shell script, whose first argument is dir, and which becomes
// what the others say.
func (h *home) inNamespace(tb testing.TB, script, dir string) {
	tb.Helper()
	namespace := []string{"unshare", "--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		namespace = append(namespace, "--user", "--map-root-user")
	}
	if out, err := exec.Command(namespace[0], append(namespace[1:], "/bin/true")...).CombinedOutput(); err != nil {
		tb.Fatalf(
			"a disk of our own needs a mount namespace, and %v gives none (%v: %s): run the test as root, or allow user namespaces",
			namespace,
			err,
			bytes.TrimSpace(out),
		)
	}
	h.wrap = append(namespace, "/bin/sh", "-c", script, "sh", dir)
}

// A full disk: with fail_closed what cannot be written down is refused, without it done and counted. In both cases it
// goes on by itself when there is room again, and the chain is whole.
func TestAuditDiskFull(t *testing.T) {
	for name, closed := range map[string]bool{"fail-open": false, "fail-closed": true} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sshserver.Config{NoAuth: true})
			h := newHome(t, fmt.Sprintf("[audit]\nfail_closed = %v", closed))
			h.trust(t, s.KnownHostsLine())
			filler := h.smallDisk(t)
			c := h.connect(t)
			root := fmt.Sprintf("/proc/%d/root", c.pid)
			id := c.call(
				t,
				toolSession,
				`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice"}`,
				s.Port(),
			).SessionID
			const resize = `{"action":"resize","session_id":%s,"cols":90,"rows":30}`

			refused := 0
			for range 200 {
				r, err := c.try(t.Context(), toolConfig, resize, id)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case r.ErrorCode == "":
				case closed && r.ErrorCode == "POLICY_DENIED" && strings.Contains(r.Message, "audit"):
					refused++
				default:
					t.Fatalf("on a full disk: %s", r.text)
				}
			}
			if closed && (refused == 0 || refused == 200) {
				t.Errorf("%d of 200 calls were refused", refused)
			}
			if log := c.log.String(); !strings.Contains(log, "audit log not writable") ||
				strings.Count(log, "cannot be written") > 20 {
				t.Errorf("the log does not say so, or too often:\n%s", tail(log, 2000))
			}
			if err := os.Remove(root + filler); err != nil {
				t.Fatal(err)
			}
			c.call(t, toolConfig, resize, id)
			c.call(t, toolConfig, resize, id)
			text, err := os.ReadFile(root + h.audit)
			if err != nil {
				t.Fatal(err)
			}
			leaktest.Output(t, "audit", text)
			r, err := audit.Verify("", root+h.audit)
			if err != nil || r.Lost == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if !strings.Contains(c.log.String(), "audit log writable again") {
				t.Error("the log does not say that it goes on")
			}
			c.close(t, id)
		})
	}
}
