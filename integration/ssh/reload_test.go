package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// On SIGHUP a server must take over the settings that can change while it runs, and log the others; a wrong
// configuration must not stop it. Sessions and calls go on meanwhile.
func TestReload(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, "host_key_floor = 'strict'")
	text, err := os.ReadFile(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	c := h.Connect(t)
	id := c.Open(t, s)
	lenient := `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s,"ssh_options":{"host_key_policy":"accept_new"}}`
	c.Refused(t, "POLICY_DENIED", lab.ToolSession, lenient, s.Port, s.User)

	reload := func(config, said string) {
		t.Helper()
		before := strings.Count(c.EngineLog(), said)
		h.Write(t, h.Config, config)
		if err := system.Kill(c.PID, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(t, "the log says "+said, func() bool { return strings.Count(c.EngineLog(), said) > before })
	}
	has := func(part string) {
		t.Helper()
		if !strings.Contains(c.EngineLog(), part) {
			t.Errorf("the log does not say %s:\n%s", part, c.Log)
		}
	}

	// Something is always under way while the configuration changes.
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if r, err := c.Try(t.Context(), lab.ToolSession, lab.OpenSSH, s.Port, s.User); err != nil || r.ErrorCode != "" {
					t.Errorf("during the reload: %v, %s", err, r.Text)
					return
				}
			}
		}
	})
	changed := strings.Replace(string(text), "'strict'", "'accept_new'", 1) + "[session]\nmax_sessions = 7\n"
	reload(changed, "the configuration was reloaded")
	has(`"key": "ssh.host_key_floor", "from": "\"strict\"", "to": "\"accept_new\""`)
	has(
		`a key was changed that counts only after a restart	{"key": "session.max_sessions", "in_force": "100", "then": "7"}`,
	)
	has(`{"changed": 1, "after_restart": 1}`)
	close(stop)
	wg.Wait()
	c.Close(t, c.Call(t, lab.ToolSession, lenient, s.Port, s.User).SessionID)

	// The rules count at once, also for sessions that are open.
	ruled := changed + "[policy]\ndeny = ['halt']\n"
	reload(ruled, "the configuration was reloaded")
	c.Refused(t, "POLICY_DENIED", lab.ToolExec, `{"session_id":%s,"cmd":"halt"}`, id)
	reload(ruled+"allow = ['  ']\n", "the configuration was not reloaded")
	c.Refused(t, "POLICY_DENIED", lab.ToolExec, `{"session_id":%s,"cmd":"halt"}`, id)
	reload(changed, "the configuration was reloaded")

	// Sessions opened before must be unchanged.
	c.Enter(t, id, "echo still $((40+2))\r", "still 42")

	reload(changed+"[logging]\nlevel = 'loud'\nfile = 5\n", "the configuration was not reloaded: it is wrong")
	has("logging.level is \\\"loud\\\"")
	if strings.Contains(c.EngineLog(), "reload.go") {
		t.Errorf("the log shows a stack for a mistake in the configuration:\n%s", c.Log)
	}
	has("logging.file is an integer")
	c.Call(t, lab.ToolSession, `{"action":"list"}`)

	// The log moves to a file. That its level is the flag's, which the file does not change, is seen there.
	file := filepath.Join(h.Dir, "log")
	h.Write(t, h.Config, changed+"[logging]\nfile = '"+file+"'\nformat = 'json'\n")
	if err := system.Kill(c.PID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "the log is a file", func() bool {
		log, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(log), `"msg":"the configuration was reloaded"`)
	})
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"true","task_id":"after-the-move"}`, id)
	log, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(log), `"msg":"call"`) ||
		!strings.Contains(string(log), `"task":"after-the-move"`) ||
		!strings.Contains(string(log), `"session":"`+id+`"`) {
		t.Errorf("%v; the log file has\n%s", err, log)
	}
}
