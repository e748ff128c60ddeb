package limits

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestLargeResultsInASmallGroup lets many callers at a time ask for results of 1 MiB, or send as much as one message
// holds, in a control group of 64 MiB. They get less than they ask for, or are refused and may call again; nothing is
// killed for want of memory.
func TestLargeResultsInASmallGroup(t *testing.T) {
	const limit = 64 << 20
	s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "large"), []byte(strings.Repeat("\x80\xff", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	sent := strings.Repeat("x", limit/32-4096) // the most that a message holds
	rounds, all := []int{16}, os.Getenv("PTYCTL_LONG") != ""
	if all {
		rounds = []int{8, 16, 32, 16}
	}
	for name, make := range map[string]func(t *testing.T, c *lab.Client) (tool, args string){
		"run": func(*testing.T, *lab.Client) (string, string) {
			return lab.ToolRun, `{"argv":["/usr/bin/head","-c","2000000","/dev/urandom"],"max_output_bytes":1048576}`
		},
		"exec": func(t *testing.T, c *lab.Client) (string, string) {
			return lab.ToolExec, fmt.Sprintf(`{"session_id":%q,"cmd":"head -c 2000000 /dev/urandom; head -c 2000000 /dev/urandom >&2",
				"lane":"channel","max_output_bytes":1048576}`, c.Call(t, lab.ToolSession, openSSH, s.Port()).SessionID)
		},
		"read": func(t *testing.T, c *lab.Client) (string, string) {
			id := c.OpenLocal(t, []string{"/bin/sh", "-c", "head -c 2000000 /dev/urandom | base64; echo end"}, "")
			if r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"mode":"tail","max_lines":2,
				"until_regex":"end","timeout_ms":20000}`, id); !r.Matched {
				t.Fatalf("the output has no end: %s", lab.Tail(r.Text, 500))
			}
			return lab.ToolIO, fmt.Sprintf(`{"action":"read","session_id":%q,"mode":"tail","format":"raw","max_bytes":1048576,
				"timeout_ms":0}`, id)
		},
		"file": func(*testing.T, *lab.Client) (string, string) {
			return "ptyctl_fs", fmt.Sprintf(`{"action":"read","path":%q,"max_bytes":1048576}`, filepath.Join(files, "large"))
		},
		"stdin": func(t *testing.T, c *lab.Client) (string, string) {
			return lab.ToolExec, fmt.Sprintf(`{"session_id":%q,"cmd":"sleep 0.2; wc -c","lane":"channel","stdin":%q}`,
				c.Call(t, lab.ToolSession, openSSH, s.Port()).SessionID, sent)
		},
		"file written": func(*testing.T, *lab.Client) (string, string) {
			return "ptyctl_fs", fmt.Sprintf(`{"action":"write","path":%q,"encoding":"base64","data":%q}`, filepath.Join(files, "written"),
				base64.StdEncoding.EncodeToString([]byte(sent[:len(sent)*3/4])))
		},
	} {
		if !all && name != "stdin" && name != "file written" { // sent data takes the most
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := lab.NewHome(t, "[fs]\nroots = ['"+files+"']")
			h.Trust(t, s.KnownHostsLine())
			h.Program = lab.PlainBinary
			g := newMemoryGroup(t, limit)
			h.Wrap = g.wrap()
			c := h.Connect(t)
			tool, args := make(t, c)
			for _, callers := range rounds {
				refused, began := 0, time.Now()
				lab.ForEach(t, callers, callers, func(int) error {
					r, err := c.Try(t.Context(), tool, args)
					if err != nil && strings.Contains(err.Error(), "in flight") {
						refused, err = refused+1, nil
					}
					if err == nil && r.ErrorCode != "" {
						if refused++; r.ErrorCode != "LIMIT_EXCEEDED" || !r.Retryable {
							t.Errorf("a call of %d at a time: %s, want success or LIMIT_EXCEEDED, retryable", callers, lab.Tail(r.Text, 500))
						}
					}
					if err != nil {
						return fmt.Errorf("the call: %s", lab.Tail(err.Error(), 500)) // not the arguments
					}
					return nil
				})
				t.Logf("%d of %d calls at a time were refused in %v; ptyctl had %d KiB at most", refused, callers,
					time.Since(began).Round(time.Millisecond), lab.StatusField(t, c.PID, "VmHWM"))
			}
			if n := g.killed(t); n != 0 {
				t.Errorf("the system has ended %d processes for want of memory", n)
			}
		})
	}
}
