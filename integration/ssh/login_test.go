package ssh

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A login that asks questions is answered in the terminal, one write for each, and nothing that was answered is seen
// again.
func TestInteractiveLogin(t *testing.T) {
	const password, code = "kbd-password-1138", "kbd-code-1138"
	s := lab.ServeSSH(
		t,
		sshserver.Config{KeyboardInteractive: func(user string, ask ssh.KeyboardInteractiveChallenge) error {
			answers, err := ask("Login", "Two questions.", []string{"Password: ", "Verification code: "}, []bool{false, true})
			if err != nil {
				return err
			}
			if user != "alice" || len(answers) != 2 || answers[0] != password || answers[1] != code {
				return errors.New("wrong answers")
			}
			return nil
		}},
	)
	h := lab.NewHome(t)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password, code)
	const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","auth":{"interactive":%s}}`

	r := c.Call(t, lab.ToolSession, open, s.Port(), true)
	id := r.SessionID
	checkPrompt(t, r, "Password: ", false, 1)
	c.Refused(t, "BUSY", lab.ToolExec, `{"session_id":%s,"cmd":"echo too early"}`, id)

	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"timeout_ms":10000}`, id, password+"\r")
	checkPrompt(t, r, "Verification code: ", true, 2)

	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"timeout_ms":10000}`, id, code+"\r")
	if r.State != "open" || r.Prompt != nil {
		t.Fatalf("after the last answer: %s", r.Text)
	}
	// The answers were no typing: auto is still a channel of its own.
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello; echo err >&2"}`, id)
	if r.Stdout != "hello\n" || r.Stderr != "err\n" || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("exec after the login: %s", r.Text)
	}
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	if !strings.Contains(r.Chunk, "Two questions.") || !strings.Contains(r.Chunk, "Verification code: ") {
		t.Errorf("the terminal does not show the questions: %q", r.Chunk)
	}
	c.Close(t, id)

	t.Run("wrong answer", func(t *testing.T) {
		c.Hide("wrong-answer-1138")
		r := c.Call(t, lab.ToolSession, open, s.Port(), true)
		id := r.SessionID
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"wrong-answer-1138\r","timeout_ms":10000}`, id)
		r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"wrong-answer-1138\r","timeout_ms":10000}`, id)
		checkPrompt(t, r, "Password: ", false, 1)
		c.Close(t, id)
	})
	t.Run("ctrl_c", func(t *testing.T) {
		id := c.Call(t, lab.ToolSession, open, s.Port(), true).SessionID
		r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c","timeout_ms":10000}`, id)
		if r.State != "error" && r.State != "closed" {
			t.Errorf("after ctrl_c: %s", r.Text)
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		r := c.Refused(t, "AUTH_FAILED", lab.ToolSession, open, s.Port(), false)
		if !strings.Contains(r.Message, "keyboard-interactive") || !strings.Contains(r.Message, "auth.interactive") {
			t.Errorf("the message %q lacks the server's question, or how to answer it", r.Message)
		}
	})
	lab.Eventually(t, "the end of every connection", func() bool { return s.Stats().Open == 0 })
}

// checkPrompt checks that r waits for the answer to one question of two.
func checkPrompt(tb testing.TB, r lab.Result, text string, echo bool, index int) {
	tb.Helper()
	p := r.Prompt
	if r.State != "authenticating" || p == nil {
		tb.Fatalf("got %s, want the question %q", r.Text, text)
	}
	if !strings.HasSuffix(p.Text, text) || p.Echo != echo || p.Index != index || p.Of != 2 {
		tb.Errorf("got the question %+v, want %q, number %d of 2, echo %v", *p, text, index, echo)
	}
}
