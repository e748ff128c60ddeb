package daemon

import (
	"os"
	"strings"
	"testing"
)

// A container ends with its first process, and all in it. doctor says so there. The test uses a process namespace in
// place of a container.
func TestContainer(t *testing.T) {
	h := newHome(t)
	h.Wrap = []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if os.Getuid() != 0 {
		h.Wrap = append(h.Wrap, "--user", "--map-root-user")
	}
	h.Wrap = append(h.Wrap, "/bin/sh", "-c", `"$@" </dev/null && "$1" daemon status && "$1" doctor --config "$CONFIG"; true`, "sh")
	h.Env = append(h.Env, "CONFIG="+h.Config)
	out, said, status := h.Run(t, "mcp", "--daemon", "--config", h.Config)
	h.Wrap, h.Env = nil, nil
	if status != 0 || !strings.Contains(out, "PROCESS") {
		t.Fatalf("a client in the container: status %d, %s, %s, want a daemon there", status, out, said)
	}
	for _, part := range []string{"the first process here is sh", "ends the daemon and its sessions", "docker exec"} {
		if !strings.Contains(out, part) {
			t.Errorf("doctor in the container prints %s, want %q in it", out, part)
		}
	}
	if all := h.Daemons(t); len(all) != 0 {
		t.Errorf("after the end of the container the daemons %v run, want none", all)
	}
}
