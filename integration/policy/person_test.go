package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// asks is the policy that puts `touch` to a person. A call waits for one for two seconds.
const asks = "[policy]\nask = ['touch *']\nconsent = 'person'\n[limits]\nmax_wait_ms = 2000\n" + lab.ReadWrite

// A pending is a question that waits.
type pending struct {
	ID             string `json:"question_id"`
	Kind           string
	Text           string
	Since, Expires int64
}

// waiting returns the questions that ptyctl answer lists.
func waiting(t *testing.T, h *lab.Home) (open []pending) {
	t.Helper()
	stdout, stderr, status := h.Run(t, "answer", "--config", h.Config, "--list", "--json")
	if err := json.Unmarshal([]byte(stdout), &open); err != nil || status != 0 {
		t.Fatalf("answer --list --json: status %d, %v, %s%s", status, err, stdout, stderr)
	}
	return open
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A command that a rule puts to a person must not run before the person agrees with ptyctl answer, and then once: the
// same call uses the answer, and no other one does.
func TestConsentAtTheSocket(t *testing.T) {
	s := lab.StartSSHD(t)
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	h := lab.HomeFor(t, []*lab.SSHD{s}, asks,
		"[notify]\nevents = ['question']\ncommand = ['sh', '-c', 'cat >"+told+"']")
	c := h.Connect(t)
	id := c.Open(t, s)
	file := filepath.Join(dir, "made")
	const run = `{"session_id":%s,"cmd":%s,"lane":"channel"}`
	busy := func(command string) lab.Result {
		t.Helper()
		r := c.Refused(t, "BUSY", lab.ToolExec, run, id, command)
		if !strings.Contains(r.Text, `"waiting_for":{"kind":"person"`) || !r.Retryable {
			t.Errorf("exec of %q: %s, want waiting_for of the kind person", command, r.Text)
		}
		return r
	}
	busy("touch " + file)
	if exists(file) {
		t.Fatal("the command has run, and no person has agreed")
	}
	open := waiting(t, h)
	if len(open) != 1 || open[0].Kind != "consent" || open[0].Text != "'touch' '"+file+"'" {
		t.Fatalf("answer --list = %+v, want the one command", open)
	}
	for _, command := range []string{"sessions", "answer"} {
		args := []string{command, "--config", h.Config}
		if command == "answer" {
			args = append(args, "--list")
		}
		if stdout, stderr, _ := h.Run(t, args...); !strings.Contains(stdout, open[0].ID) || !strings.Contains(stdout, "touch") {
			t.Errorf("%s: %q, %q; want the question", command, stdout, stderr)
		}
	}
	answer := func(how, id string) (string, int) {
		t.Helper()
		stdout, stderr, status := h.Run(t, "answer", "--config", h.Config, how, id)
		return stdout + stderr, status
	}
	if text, status := answer("--yes", open[0].ID); status != 0 || !strings.Contains(text, "is agreed to") {
		t.Fatalf("answer --yes: status %d, %s", status, text)
	}
	if text, status := answer("--no", open[0].ID); status == 0 || !strings.Contains(text, "waits for no answer") {
		t.Errorf("a second answer: status %d, %s; want a refusal", status, text)
	}
	busy("touch " + file + "2")
	if r := c.Call(t, lab.ToolExec, run, id, "touch "+file); r.ErrorCode != "" || !exists(file) {
		t.Errorf("the same call after the person has agreed: %s, want that it runs", r.Text)
	}
	busy("touch " + file) // the answer is used up
	for _, q := range waiting(t, h) {
		if text, status := answer("--no", q.ID); status != 0 {
			t.Errorf("answer --no: status %d, %s", status, text)
		}
	}
	r := c.Refused(t, "POLICY_DENIED", lab.ToolExec, run, id, "touch "+file+"2")
	if !strings.Contains(r.Message, "a person was asked, and has denied it") || exists(file+"2") {
		t.Errorf("a call that a person has denied: %s", r.Text)
	}

	// A session that ends takes its questions with it.
	busy("touch " + file + "3")
	c.Close(t, id)
	if open := waiting(t, h); len(open) != 0 {
		t.Errorf("answer --list after the session has ended = %+v, want nothing", open)
	}

	var notice struct{ Event, Kind, Rule, Text, Command string }
	lab.Eventually(t, "a notice", func() bool { // the program may still run
		text, err := os.ReadFile(told)
		return err == nil && json.Unmarshal(text, &notice) == nil
	})
	if notice.Event != "question" || notice.Kind != "consent" || notice.Rule == "" || notice.Text+notice.Command != "" {
		t.Errorf("the notice is %+v, want one of a consent, without the command", notice)
	}
	c.Finish()
	var said []string
	for _, n := range lab.AuditLines(t, h.Audit, "consent") {
		byPerson := n.State != "asked" && n.State != "withdrawn"
		if said = append(said, n.State); n.Consent == "" || n.Command == "" || (n.Actor == nil) != (n.State == "withdrawn") ||
			byPerson && (n.Actor.Transport != "socket" || n.Actor.PID == 0 || n.Actor.Client != "ptyctl answer") {
			t.Errorf("audit line %+v, want rule, command and who has said it", n)
		}
	}
	if got := strings.Join(said, " "); got != "asked agreed asked asked denied denied asked withdrawn" {
		t.Errorf("audit lines: %s", got)
	}
}

// A person at a terminal sees the call to which they agree, and the call goes on. Control characters of the caller are
// not shown at all: such a call is denied.
func TestConsentAtATerminal(t *testing.T) {
	s := lab.StartSSHD(t)
	file := filepath.Join(t.TempDir(), "made")
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]\nask = ['touch *']\nconsent = 'person'", lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	const run = `{"session_id":%s,"cmd":%s,"lane":"channel"}`
	r := c.Refused(t, "POLICY_DENIED", lab.ToolExec, run, id, "touch 'a\tb'")
	if !strings.Contains(r.Message, "cannot be shown to one exactly") {
		t.Errorf("a command with a tab: %s, want that it cannot be shown", r.Text)
	}
	watcher := h.AtTerminal(t, "sessions", "--config", h.Config, "--watch")
	watcher.Sees(id)
	done := make(chan lab.Result, 1)
	go func() {
		r, _ := c.Try(t.Context(), lab.ToolExec, run, id, "touch "+file)
		done <- r
	}()
	for len(waiting(t, h)) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	watcher.Sees(`q-[A-Z0-9]+: .*touch.*\r\n\x07`)
	watcher.Types("\x03")
	watcher.Leaves(0)
	p := h.AtTerminal(t, "answer", "--config", h.Config)
	p.Sees(`wants to run this on .*127\.0\.0\.1.*session ` + id + `.*policy\.ask`)
	p.Sees(`(?s)to run:\r\n\| 'touch' '` + file + `'\r\nagree to this one call, yes or no\? $`)
	p.Types("y\r")
	p.Sees(`(?s)yes or no\? .*yes or no\? $`)
	if exists(file) {
		t.Error("the command has run on an answer that is neither yes nor no")
	}
	p.Types("yes\r")
	p.Sees("is agreed to, and the call that waits is made")
	p.Leaves(0)
	p.WantSane()
	if r := <-done; r.ErrorCode != "" || !exists(file) {
		t.Errorf("the call that waited: %s, want that it has run", r.Text)
	}
}

// A program that ptyctl has started must not answer for the person, and neither one without the socket's token.
func TestOwnProgramMayNotAnswer(t *testing.T) {
	h := lab.NewHome(t, asks+"\ncontrol_auth_token = 'consent-token-1138'")
	c := h.Connect(t)
	file := filepath.Join(h.Dir, "made")
	c.Refused(t, "BUSY", lab.ToolRun, `{"argv":["touch",%s]}`, file)
	open := waiting(t, h)
	if len(open) != 1 {
		t.Fatalf("answer --list = %+v, want one question", open)
	}
	argv := []string{
		"env", "XDG_RUNTIME_DIR=" + h.RuntimeDir, "HOME=" + h.Dir, h.Program, "answer", "--config", h.Config, "--yes", open[0].ID,
	}
	script := filepath.Join(h.Dir, "script")
	h.Write(t, script, "#!/bin/sh\n(setsid "+strings.Join(argv, " ")+" >"+script+".out 2>&1 &)\n"+
		"until grep -q ptyctl "+script+".out; do sleep 0.1; done\ncat "+script+".out\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string][]string{
		"child":                   argv,
		"in a session of its own": append([]string{"setsid", "-w"}, argv...),
		"left by its parent":      {script},
	} {
		id := c.OpenLocal(t, line, "")
		out := c.AwaitEnd(t, id)
		if !strings.Contains(out.Text, "was started by this ptyctl") {
			t.Errorf("%s: %s, want a refusal", name, out.Text)
		}
	}
	if after := waiting(t, h); len(after) != 1 || after[0].ID != open[0].ID {
		t.Errorf("answer --list = %+v, want the question still", after)
	}
	// Without the token.
	other := filepath.Join(h.Dir, "other.toml")
	h.Write(t, other, "")
	stdout, stderr, status := h.Run(t, "answer", "--config", other, "--yes", open[0].ID)
	if status == 0 || !strings.Contains(stderr, "control_auth_token") {
		t.Errorf("answer without the token: status %d, %q, %q; want a refusal", status, stdout, stderr)
	}
	if exists(file) {
		t.Error("the program has run, and no person has agreed")
	}
	c.Finish()
	refused := 0
	for _, n := range lab.AuditLines(t, h.Audit, "answer") {
		if n.Refused && n.Actor != nil && n.Actor.PID != 0 && n.Outcome == "POLICY_DENIED" {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d audit lines about the programs that were refused, want 3", refused)
	}
}

// Where people may only watch, no person could answer, so the configuration is refused.
func TestConsentNeedsAWritableSocket(t *testing.T) {
	for _, mode := range []string{"readonly", "disabled"} {
		h := lab.NewHome(t, "[policy]\nconsent = 'person'\n[server.control]\ncontrol_mode = '"+mode+"'")
		_, stderr, status := h.Run(t, "mcp", "--config", h.Config)
		if status == 0 || !strings.Contains(stderr, "control_mode") || !strings.Contains(stderr, "readwrite") {
			t.Errorf("mcp with control_mode %s: status %d, %s; want an error that names the key", mode, status, stderr)
		}
	}
}
