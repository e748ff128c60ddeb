package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ptyctl/internal/lab"
)

// TestScriptsBeside runs the scripts of testdata/script/beside, in which a person calls ptyctl beside an agent that has
// a session.
//
//	agent type TEXT PATTERN        the agent types, and waits for the pattern
//	agent refused CODE TEXT        it types, and is refused
//	agent call TOOL JSON           it makes a call that must not fail
//
// The environment has PTYCTL (the process's id), ID (the session's), HOST (USER@ADDRESS:PORT of an sshd) and the
// configuration at its default place.
func TestScriptsBeside(t *testing.T) {
	s := lab.StartSSHD(t)
	files, err := filepath.Glob(filepath.Join("testdata", "script", "beside", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel() // most of them wait, most of the time
			h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
			place := filepath.Join(h.Dir, ".config", "ptyctl")
			if err := os.MkdirAll(place, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(h.Config, filepath.Join(place, "ptyctl.toml")); err != nil {
				t.Fatal(err)
			}
			h.Config = filepath.Join(place, "ptyctl.toml")
			c := h.Connect(t)
			id := c.Open(t, s)
			c.PlainShell(t, id)
			testscript.Run(t, testscript.Params{
				Files: []string{file}, RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("XDG_RUNTIME_DIR", h.RuntimeDir)
					env.Setenv("HOME", h.Dir)
					env.Setenv("PATH", filepath.Dir(lab.Binary)+":"+os.Getenv("PATH"))
					env.Setenv("TERM", "xterm-256color")
					env.Setenv("GORACE", "atexit_sleep_ms=0")
					env.Setenv("PTYCTL", fmt.Sprint(c.PID))
					env.Setenv("ID", id)
					env.Setenv("HOST", fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port))
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"agent": func(ts *testscript.TestScript, _ bool, args []string) {
						ts.Check(agentActs(c, ts, id, args))
					},
				},
			})
		})
	}
}

// agentActs is the command agent of the scripts.
func agentActs(c *lab.Client, ts *testscript.TestScript, id string, args []string) error {
	const write = `{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":20000}`
	switch what := strings.Join(args[:min(1, len(args))], ""); {
	case what == "type" && len(args) == 3:
		r, err := c.Try(c.TB.Context(), lab.ToolIO, write, id, args[1]+"\r", args[2])
		if err == nil && !r.Matched {
			err = fmt.Errorf("the agent has not seen %q: %s", args[2], r.Text)
		}
		return err
	case what == "refused" && len(args) == 3:
		r, err := c.Try(c.TB.Context(), lab.ToolIO, write, id, args[2]+"\r", "$")
		if err == nil && r.ErrorCode != args[1] {
			err = fmt.Errorf("the agent got %s, want %s", r.Text, args[1])
		}
		ts.Logf("%s", r.Message)
		return err
	case what == "call" && len(args) == 3:
		r, err := c.Try(c.TB.Context(), args[1], strings.ReplaceAll(args[2], "%", "%%"))
		if err == nil && r.ErrorCode != "" {
			err = fmt.Errorf("the agent got %s", r.Text)
		}
		return err
	}
	return fmt.Errorf("the agent does not know %q", args)
}
